#include "AccessText.h"
#include "Literal.h"
#include "ParseScope.h"
#include "glia/Program/View.h"
#include "glia/Support/Diagnostic.h"

#include <climits>

using namespace mlir;

namespace glia::nisa {

static std::vector<int64_t> shapeOf(TensorType t) { return {t.getShape().begin(), t.getShape().end()}; }

static void take(const View &v, TensorOperand &out) {
  out.partition = v.partition;
  out.partitions = v.pattern.partitions;
  out.byteOffset = v.byteOffset;
  out.dims.clear();
  for (int i = 0; i < v.pattern.rank; ++i)
    out.dims.append({int64_t{v.pattern.dims[i].stride}, int64_t{v.pattern.dims[i].count}});
}

// ---- parsing ----------------------------------------------------------------------------------------------------------------

// {32+64 | 128 | 2x256, 1x128}; in HBM nothing stands before the first bar. The brace is behind us.
static ParseResult parseBraces(OpAsmParser &p, bool onChip, TensorOperand &out) {
  int64_t v = 0;
  if (onChip) {
    if (parseIntegerIn(p, "the first partition", INT_MIN, INT_MAX, v) || p.parsePlus())
      return failure();
    out.partition = static_cast<int32_t>(v);
    if (parseIntegerIn(p, "the number of partitions", 1, 128, v))
      return failure();
    out.partitions = static_cast<int32_t>(v);
  }
  if (p.parseVerticalBar() ||
      parseIntegerIn(p, "the byte offset", onChip ? INT_MIN : 0, onChip ? INT_MAX : INT64_MAX, out.byteOffset) ||
      p.parseVerticalBar())
    return failure();
  const unsigned most = onChip ? 4 : kMaxDims;
  int64_t total = 1;
  do {
    const SMLoc at = p.getCurrentLocation();
    const bool negative = succeeded(p.parseOptionalMinus());
    int64_t stride = 0, count = 0; // decimal: 0x8 is a stride of 0 and a count of 8 here
    OptionalParseResult r = p.parseOptionalDecimalInteger(stride);
    if (!r.has_value())
      return p.emitError(at) << "expected a dimension: stride x count";
    if (*r || p.parseXInDimensionList())
      return failure();
    r = p.parseOptionalDecimalInteger(count);
    if (!r.has_value())
      return p.emitError(at) << "expected a count after the stride";
    if (*r)
      return failure();
    if (out.dims.size() == 2 * most)
      return p.emitError(at) << "at most " << most << " dimensions fit this operand";
    if (stride < 0 || stride > INT_MAX || count < 1 || count > UINT32_MAX || __builtin_mul_overflow(total, count, &total) ||
        total > (int64_t{1} << 40))
      return p.emitError(at)
             << "this dimension does not fit: a stride has 32 bits, a count is at least 1, and an operand has "
                "at most 2^40 elements";
    out.dims.append({negative ? -stride : stride, count});
  } while (succeeded(p.parseOptionalComma()));
  return p.parseRBrace();
}

static ParseResult parseSlice(OpAsmParser &p, int64_t size, Slice &s) {
  s = {0, size, 1};
  int64_t v = 0;
  if (!nextIs(p, ':')) {
    if (parseIntegerIn(p, "the start of a slice", 0, INT64_MAX - 1, s.start))
      return failure();
    if (!nextIs(p, ':')) {
      s.stop = s.start + 1;
      return success();
    }
  }
  if (p.parseColon())
    return failure();
  if (!nextIs(p, ':') && !nextIs(p, ',') && !nextIs(p, ']') &&
      parseIntegerIn(p, "the end of a slice", 0, INT64_MAX - 1, s.stop))
    return failure();
  if (succeeded(p.parseOptionalColon())) {
    if (parseIntegerIn(p, "the step of a slice", 1, INT_MAX, v))
      return failure();
    s.step = v;
  }
  return success();
}

static ParseResult parseSlices(OpAsmParser &p, TensorType type, std::vector<Slice> &out) {
  return p.parseCommaSeparatedList([&]() -> ParseResult {
    const SMLoc at = p.getCurrentLocation();
    if (out.size() == type.getShape().size())
      return p.emitError(at) << "there are more slices than the " << type.getShape().size() << " dimensions of the tensor";
    const int64_t size = type.getShape()[out.size()];
    Slice s;
    if (parseSlice(p, size, s))
      return failure();
    if (s.start >= s.stop)
      return p.emitError(at) << "the slice " << s.start << ":" << s.stop << " is empty";
    if (s.stop > size)
      return p.emitError(at) << "the slice ends at " << s.stop << ", and dimension " << out.size() << " of " << type
                             << " has " << size;
    out.push_back(s);
    return success();
  });
}

static ParseResult parseTerm(OpAsmParser &p, bool onChip, TensorOperand &out) {
  const SMLoc at = p.getCurrentLocation();
  TensorOperand::Term term;
  if (out.terms.size() == kMaxDynamicTerms)
    return p.emitError(at) << "an operand takes at most " << kMaxDynamicTerms << " registers";
  if (!nextIs(p, '%'))
    return p.emitError(at) << "expected a register after `+`, such as %i*2048";
  if (parseDefined(p, term.reg))
    return failure();
  if (!isa<RegType>(term.reg.getType()))
    return p.emitError(at) << "only registers are added to an operand, and this is a tensor";
  if (p.parseStar() || parseIntegerIn(p, "the scale of a register", INT64_MIN, INT64_MAX, term.scale))
    return failure();
  term.partition = succeeded(p.parseOptionalKeyword("p"));
  if (term.partition && !onChip)
    return p.emitError(at) << "a tensor in HBM has no partitions; scale the register in bytes, without `p`";
  out.terms.push_back(term);
  return success();
}

ParseResult parseAccess(OpAsmParser &p, StringRef what, TensorOperand &out) {
  const SMLoc at = p.getCurrentLocation();
  if (parseDefined(p, out.tensor))
    return failure();
  const auto type = dyn_cast<TensorType>(out.tensor.getType());
  if (!type)
    return p.emitError(at) << what << " takes a tensor, and this is a register";
  const bool onChip = type.getSpace() != Space::Hbm;
  out.dtype = type.getDtype();
  if (succeeded(p.parseOptionalColon()) && parseElementType(p, out.dtype))
    return failure();
  if (succeeded(p.parseOptionalLBrace())) {
    if (parseBraces(p, onChip, out))
      return failure();
  } else {
    if (sizeOf(out.dtype) != sizeOf(type.getDtype()))
      return p.emitError(at) << "elements of " << type << " have " << sizeOf(type.getDtype()) << " bytes, not "
                             << sizeOf(out.dtype) << "; write the pattern explicitly: {0+128 | 0 | 1x512}";
    std::vector<Slice> slices;
    if (succeeded(p.parseOptionalLSquare()) && (parseSlices(p, type, slices) || p.parseRSquare()))
      return failure();
    try {
      take(makeView("the tensor", shapeOf(type), type.getDtype(), onChip, slices), out);
    } catch (const Error &e) {
      return p.emitError(at) << e.diagnostics()[0].message;
    }
  }
  while (succeeded(p.parseOptionalPlus()))
    if (parseTerm(p, onChip, out))
      return failure();
  return success();
}

// ---- printing ---------------------------------------------------------------------------------------------------------------

// The slices that would give this operand, if there are any: the start of each dimension follows from the offset, and the
// dimensions of the pattern, which merged where they were adjacent, are taken apart again.
static std::optional<std::vector<Slice>> findSlices(TensorType type, const TensorOperand &t) {
  const std::vector<int64_t> shape = shapeOf(type);
  const bool onChip = type.getSpace() != Space::Hbm;
  const int64_t size = sizeOf(type.getDtype());
  if (sizeOf(t.dtype) != size || t.byteOffset < 0 || t.byteOffset % size || t.dims.empty() ||
      !shapeProblem(shape, type.getDtype(), onChip).empty())
    return std::nullopt;
  std::vector<Slice> out(shape.size());
  int64_t offset = t.byteOffset / size, stride = 1;
  size_t next = t.dims.size(); // the next dimension of the pattern lies below this, fastest last
  int64_t left = t.dims[next - 1], step = t.dims[next - 2];
  for (size_t i = shape.size(); i-- > (onChip ? 1u : 0u);) {
    const int64_t start = offset % shape[i];
    offset /= shape[i];
    int64_t count = 1, by = 1;
    if (left > 1 && step > 0 && step % stride == 0 && step / stride < shape[i]) {
      by = step / stride;
      count = (shape[i] - start - 1) / by + 1; // what fits
      if (left <= count) {
        count = left;
        left = 1;
      } else {
        if (count * by != shape[i] || left % count)
          return std::nullopt;
        left /= count;
        step = stride * shape[i];
      }
      if (left == 1 && next > 2) {
        next -= 2;
        left = t.dims[next - 1], step = t.dims[next - 2];
      }
    }
    out[i] = {start, std::min(start + count * by, shape[i]), by};
    if (count == 1)
      out[i] = {start, start + 1, 1};
    stride *= shape[i];
  }
  if (onChip)
    out[0] = {t.partition, int64_t{t.partition} + t.partitions, 1};
  try {
    TensorOperand again;
    take(makeView("", shape, type.getDtype(), onChip, out), again);
    if (again.partition == t.partition && again.partitions == t.partitions && again.byteOffset == t.byteOffset &&
        again.dims == t.dims)
      return out;
  } catch (const Error &) {
    return std::nullopt; // outside the tensor, or no view that one operand can have
  }
  return std::nullopt;
}

static void printSlices(OpAsmPrinter &p, ArrayRef<int64_t> shape, std::vector<Slice> slices) {
  auto whole = [&](size_t i) { return slices[i].start == 0 && slices[i].stop == shape[i] && slices[i].step == 1; };
  size_t rank = slices.size();
  while (rank > 0 && whole(rank - 1))
    --rank;
  if (rank == 0)
    return;
  p << "[";
  for (size_t i = 0; i < rank; ++i) {
    const Slice &s = slices[i];
    p << (i ? ", " : "");
    if (whole(i))
      p << ":";
    else if (s.stop == s.start + 1)
      p << s.start;
    else
      p << s.start << ":" << s.stop;
    if (s.step != 1)
      p << ":" << s.step;
  }
  p << "]";
}

void printAccess(OpAsmPrinter &p, const TensorOperand &t) {
  const auto type = cast<TensorType>(t.tensor.getType());
  p << t.tensor;
  if (t.dtype != type.getDtype())
    p << ":" << StringRef(name(t.dtype).data(), name(t.dtype).size());
  if (auto slices = findSlices(type, t)) {
    printSlices(p, type.getShape(), std::move(*slices));
  } else {
    p << "{";
    if (type.getSpace() != Space::Hbm)
      p << t.partition << "+" << t.partitions;
    p << " | " << t.byteOffset << " | ";
    for (size_t i = 0; i < t.dims.size(); i += 2)
      p << (i ? ", " : "") << t.dims[i] << "x" << t.dims[i + 1];
    p << "}";
  }
  for (const TensorOperand::Term &term : t.terms)
    p << " + " << term.reg << "*" << term.scale << (term.partition ? "p" : "");
}

} // namespace glia::nisa
