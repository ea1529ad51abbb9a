#include "Contents.h"
#include "glia/Numerics/Alu.h"

#include <algorithm>
#include <cmath>

namespace glia::flow {

namespace {

// Of a slot that every instruction of the name has.
const Value &valueOf(const Decoded &d, std::string_view name) { return d.values[d.def->slot(name)]; }

const Pattern &patternOf(const Program &p, const Value &v) { return p.patterns[v.access.pattern]; }

// Integers up to 2^24 pass through fp32 unchanged; beyond that nothing is claimed.
constexpr int64_t kExact = 1 << 24;
bool exact(const Content &c) { return c.lo >= -kExact && c.hi <= kExact; }

// Values that the destination's type holds as they are.
bool fits(DType t, const Content &c) {
  if (isFloat(t))
    return t == DType::F32 && exact(c);
  const int bits = sizeOf(t) * 8;
  const int64_t lo = info(t).isSigned ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t hi = info(t).isSigned ? (int64_t{1} << (bits - 1)) - 1 : (bits == 64 ? INT64_MAX : (int64_t{1} << bits) - 1);
  return c.lo >= lo && c.hi <= hi;
}

// Shows elements several times: a dimension of stride 0, or strides that reach over each other.
bool repeats(const Pattern &p) {
  std::vector<std::pair<int64_t, int64_t>> dims; // |stride|, count
  for (int i = 0; i < p.rank; ++i)
    if (p.dims[i].count > 1)
      dims.emplace_back(std::abs(int64_t{p.dims[i].stride}), p.dims[i].count);
  std::sort(dims.begin(), dims.end());
  __int128 reach = 0;
  for (const auto &[stride, count] : dims) {
    if (stride <= reach)
      return true;
    reach += static_cast<__int128>(stride) * (count - 1);
  }
  return false;
}

std::optional<Content> iota(const Program &p, const Decoded &d) {
  const std::span<const uint32_t> pattern = valueOf(d, "pattern").list;
  const int64_t offset = valueOf(d, "offset").integer, multiplier = valueOf(d, "channel_multiplier").integer;
  Content c{offset, offset, false};
  int64_t freeCount = 1;
  for (size_t i = 0; i + 1 < pattern.size(); i += 2) {
    const int64_t span = static_cast<int64_t>(static_cast<int32_t>(pattern[i])) * (static_cast<int32_t>(pattern[i + 1]) - 1);
    (span < 0 ? c.lo : c.hi) += span;
    freeCount *= static_cast<int32_t>(pattern[i + 1]);
  }
  const int64_t span = multiplier * (patternOf(p, valueOf(d, "dst")).partitions - 1);
  (span < 0 ? c.lo : c.hi) += span;
  c.distinct = freeCount == 1 && multiplier != 0;
  if (c.lo < INT32_MIN || c.hi > INT32_MAX)
    return std::nullopt;
  return c;
}

// (data op number), for the operations that keep a range.
std::optional<Content> scalarStep(AluOp op, const Value &operand, bool reverse, Content c) {
  if (operand.kind != Value::Float || operand.number != std::floor(operand.number) || std::fabs(operand.number) > kExact)
    return std::nullopt;
  const int64_t v = static_cast<int64_t>(operand.number);
  switch (op) {
  case AluOp::Add: return Content{c.lo + v, c.hi + v, c.distinct};
  case AluOp::Subtract: return reverse ? Content{v - c.hi, v - c.lo, c.distinct} : Content{c.lo - v, c.hi - v, c.distinct};
  case AluOp::Multiply: {
    const int64_t a = c.lo * v, b = c.hi * v;
    return Content{std::min(a, b), std::max(a, b), c.distinct && v != 0};
  }
  case AluOp::Max: return Content{std::max(c.lo, v), std::max(c.hi, v), c.distinct && c.lo >= v};
  case AluOp::Min: return Content{std::min(c.lo, v), std::min(c.hi, v), c.distinct && c.hi <= v};
  default: return std::nullopt;
  }
}

// A clamp needs only one side of the input to be known: the other comes from the type.
Content typeRange(DType t) {
  if (t == DType::I32)
    return {INT32_MIN, INT32_MAX, false};
  const int bits = std::min(sizeOf(t) * 8, 32);
  return info(t).isSigned ? Content{-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1, false}
                          : Content{0, (int64_t{1} << bits) - 1, false};
}

// Bits of an integer: with a mask that is not negative nothing else is left.
std::optional<Content> masked(const Value &operand, const Content &c) {
  const int64_t mask =
      operand.kind == Value::Float ? static_cast<int64_t>(operand.number) : -1; // rule ALU-OPERAND: a whole number
  if (mask < 0)
    return std::nullopt;
  const bool whole = c.lo >= 0 && (mask & (mask + 1)) == 0 && c.hi <= mask;
  return whole ? c : Content{0, c.lo >= 0 ? std::min(c.hi, mask) : mask, false};
}

// (a op b), element by element, for the operations that keep a range.
std::optional<Content> tensorTensor(const Decoded &d, std::span<const std::optional<Content>> sources) {
  if (!sources[0] || !sources[1] || !exact(*sources[0]) || !exact(*sources[1]))
    return std::nullopt;
  const Content &x = *sources[0], &y = *sources[1];
  std::optional<Content> c;
  switch (static_cast<AluOp>(valueOf(d, "op").integer)) {
  case AluOp::Add: c = Content{x.lo + y.lo, x.hi + y.hi, false}; break;
  case AluOp::Subtract: c = Content{x.lo - y.hi, x.hi - y.lo, false}; break;
  case AluOp::Max: c = Content{std::max(x.lo, y.lo), std::max(x.hi, y.hi), false}; break;
  case AluOp::Min: c = Content{std::min(x.lo, y.lo), std::min(x.hi, y.hi), false}; break;
  default: return std::nullopt;
  }
  return exact(*c) ? c : std::nullopt;
}

std::optional<Content> tensorScalar(const Program &p, const Decoded &d, std::optional<Content> c) {
  const DType from = patternOf(p, valueOf(d, "data")).dtype;
  if (!c && isInteger(from))
    c = typeRange(from);
  if (!c)
    return std::nullopt;
  // Integers go through fp32, which is monotone: a bound that is exact in fp32 stays a bound.
  auto step = [&](std::string_view opName, std::string_view operandName, std::string_view reverseName) {
    const auto which = static_cast<AluOp>(valueOf(d, opName).integer);
    const Value &operand = valueOf(d, operandName);
    if (which == AluOp::Bypass)
      return;
    if (which == AluOp::BitAnd && isInteger(from)) {
      c = masked(operand, *c);
      return;
    }
    if (isBitOp(which)) {
      c.reset();
      return;
    }
    const bool clamp = which == AluOp::Max || which == AluOp::Min;
    if (!exact(*c) && !clamp)
      c.reset();
    else
      c = scalarStep(which, operand, valueOf(d, reverseName).integer, *c);
  };
  step("op0", "operand0", "reverse0");
  if (c)
    step("op1", "operand1", "reverse1");
  if (c && !exact(*c))
    c.reset();
  if (c && repeats(patternOf(p, valueOf(d, "data"))))
    c->distinct = false;
  return c;
}

} // namespace

std::optional<Content> contentOf(const Program &p, const Decoded &d, std::span<const std::optional<Content>> sources) {
  const std::optional<Content> source = sources.empty() ? std::nullopt : sources[0];
  const DType to = patternOf(p, valueOf(d, "dst")).dtype;
  std::optional<Content> c;
  if (d.def->name == "iota") {
    c = iota(p, d);
  } else if (d.def->name == "memset") {
    const float v = valueOf(d, "value").number;
    if (const int64_t bits = valueOf(d, "bits").integer)
      c = Content{bits, bits, false}; // narrow types keep the low bits: then it does not fit, below
    else if (v == std::floor(v) && std::fabs(v) <= kExact)
      c = Content{static_cast<int64_t>(v), static_cast<int64_t>(v), false};
  } else if (d.def->name == "tensor_scalar") {
    c = tensorScalar(p, d, source);
  } else if (d.def->name == "tensor_tensor") {
    c = tensorTensor(d, sources);
  } else if (d.def->name == "tensor_copy" || d.def->name == "dma_copy") {
    const Pattern &src = patternOf(p, valueOf(d, "src"));
    const int index = d.def->slot("src_index");
    if (source && (src.dtype == to || exact(*source)))
      c = source;
    if (c && (repeats(src) || (index >= 0 && d.values[index].kind == Value::Tensor)))
      c->distinct = false;
  }
  if (c && !fits(to, *c))
    c.reset();
  if (c)
    c->type = to;
  return c;
}

} // namespace glia::flow
