// Types, attributes and structural ops of the `nisa` dialect.
#include "glia/Dialect/Nisa.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/DialectImplementation.h"

#include <set>

using namespace mlir;

#include "glia/Dialect/NisaDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "glia/Dialect/NisaTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "glia/Dialect/NisaAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "glia/Dialect/NisaOps.cpp.inc"

namespace glia::nisa {

void NisaDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "glia/Dialect/NisaTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "glia/Dialect/NisaAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "glia/Dialect/NisaOps.cpp.inc"
      >();
  registerInstructions();
}

// ---- types ------------------------------------------------------------------------------------------------------------------

static StringRef text(std::string_view s) { return {s.data(), s.size()}; }

static ParseResult parseDTypeName(AsmParser &p, DType &out) {
  StringRef word;
  const SMLoc at = p.getCurrentLocation();
  if (p.parseKeyword(&word))
    return failure();
  const std::optional<DType> t = parseDType({word.data(), word.size()});
  if (!t)
    return p.emitError(at) << "unknown element type `" << word << "`";
  out = *t;
  return success();
}

static StringRef spaceName(Space s) { return s == Space::Sbuf ? "sbuf" : s == Space::Psum ? "psum" : "hbm"; }

Type TensorType::parse(AsmParser &p) {
  StringRef space;
  const SMLoc at = p.getCurrentLocation();
  DType dtype;
  SmallVector<int64_t> shape;
  if (p.parseLess() || p.parseKeyword(&space) || p.parseComma() || parseDTypeName(p, dtype) ||
      p.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return p.parseInteger(shape.emplace_back()); }) ||
      p.parseGreater())
    return {};
  for (Space s : {Space::Sbuf, Space::Psum, Space::Hbm})
    if (space == spaceName(s))
      return TensorType::get(p.getContext(), s, dtype, shape);
  p.emitError(at) << "unknown memory `" << space << "`: sbuf, psum or hbm";
  return {};
}

void TensorType::print(AsmPrinter &p) const {
  p << "<" << spaceName(getSpace()) << ", " << text(glia::name(getDtype())) << "[";
  llvm::interleaveComma(getShape(), p);
  p << "]>";
}

// ---- attributes -------------------------------------------------------------------------------------------------------------

int64_t AccessAttr::elementsPerPartition() const {
  int64_t n = 1;
  for (size_t i = 1; i < getDims().size(); i += 2)
    n *= getDims()[i];
  return n;
}

Pattern AccessAttr::pattern() const {
  Pattern p;
  p.dtype = getDtype();
  p.partitions = static_cast<uint16_t>(getPartitions());
  p.rank = static_cast<uint8_t>(getDims().size() / 2);
  for (int i = 0; i < p.rank; ++i)
    p.dims[i] = {static_cast<int32_t>(getDims()[2 * i]), static_cast<uint32_t>(getDims()[2 * i + 1])};
  p.numDynamic = static_cast<uint8_t>(getTerms().size() / 3);
  for (int i = 0; i < p.numDynamic; ++i)
    p.dynamic[i] = {static_cast<uint8_t>(getTerms()[3 * i]), getTerms()[3 * i + 2] != 0, getTerms()[3 * i + 1]};
  return p;
}

// Only the generic form of an op shows this attribute: #nisa.at<operand, type, partition + partitions, byte, [dims], [terms]>.
Attribute AccessAttr::parse(AsmParser &p, Type) {
  uint32_t base;
  DType dtype;
  int32_t partition, partitions;
  int64_t byte;
  SmallVector<int64_t> dims, terms;
  auto list = [&](SmallVector<int64_t> &out) {
    return p.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return p.parseInteger(out.emplace_back()); });
  };
  const SMLoc at = p.getCurrentLocation();
  if (p.parseLess() || p.parseInteger(base) || p.parseComma() || parseDTypeName(p, dtype) || p.parseComma() ||
      p.parseInteger(partition) || p.parseComma() || p.parseInteger(partitions) || p.parseComma() || p.parseInteger(byte) ||
      p.parseComma() || list(dims) || p.parseComma() || list(terms) || p.parseGreater())
    return {};
  if (dims.size() % 2 || dims.size() > 2 * kMaxDims || terms.size() % 3 || terms.size() > 3 * kMaxDynamicTerms) {
    p.emitError(at) << "dims are pairs (stride, count), at most " << kMaxDims << "; terms are triples, at most "
                    << kMaxDynamicTerms;
    return {};
  }
  return AccessAttr::get(p.getContext(), base, dtype, partition, partitions, byte, dims, terms);
}

void AccessAttr::print(AsmPrinter &p) const {
  p << "<" << getBase() << ", " << text(glia::name(getDtype())) << ", " << getPartition() << ", " << getPartitions() << ", "
    << getByteOffset() << ", [";
  llvm::interleaveComma(getDims(), p);
  p << "], [";
  llvm::interleaveComma(getTerms(), p);
  p << "]>";
}

// ---- structural ops ---------------------------------------------------------------------------------------------------------

void KernelOp::build(OpBuilder &b, OperationState &s, StringRef name, StringRef target) {
  s.addAttribute("sym_name", b.getStringAttr(name));
  s.addAttribute("target", b.getStringAttr(target));
  s.addRegion()->emplaceBlock();
}

unsigned KernelOp::cores() {
  auto ops = getBody().getOps<CoreOp>();
  return static_cast<unsigned>(std::distance(ops.begin(), ops.end()));
}

CoreOp KernelOp::core(unsigned number) {
  for (CoreOp c : getBody().getOps<CoreOp>())
    if (c.getNumber() == number)
      return c;
  return {};
}

LogicalResult KernelOp::verify() {
  int32_t next = 0;
  std::set<StringRef> names;
  for (Operation &op : getBody().front()) {
    if (auto core = dyn_cast<CoreOp>(op)) {
      if (static_cast<int32_t>(core.getNumber()) != next)
        return core.emitOpError() << "cores are numbered 0, 1 ...; expected " << next;
      ++next;
    } else if (auto tensor = dyn_cast<TensorOp>(op)) {
      if (!names.insert(tensor.getLabel()).second)
        return tensor.emitOpError() << "a tensor named \"" << tensor.getLabel() << "\" exists already";
    } else {
      return op.emitOpError() << "stands in a kernel, which holds nisa.tensor and nisa.core only";
    }
  }
  if (next == 0)
    return emitOpError() << "has no nisa.core";
  return success();
}

void TensorOp::build(OpBuilder &b, OperationState &s, StringRef label, StringRef kind, TensorType type, bool isPrivate,
                     ArrayRef<int8_t> data) {
  s.addTypes(type);
  s.getOrAddProperties<Properties>().label = b.getStringAttr(label);
  s.getOrAddProperties<Properties>().kind = b.getStringAttr(kind);
  if (isPrivate)
    s.getOrAddProperties<Properties>().isPrivate = b.getUnitAttr();
  if (kind == "constant")
    s.getOrAddProperties<Properties>().data = b.getDenseI8ArrayAttr(data);
}

static LogicalResult verifyShape(Operation *op, TensorType t) {
  int64_t elements = 1;
  for (int64_t d : t.getShape()) {
    if (d <= 0)
      return op->emitOpError() << "has a dimension of size " << d;
    if (__builtin_mul_overflow(elements, d, &elements) || elements > (int64_t{1} << 40))
      return op->emitOpError() << "has too many elements";
  }
  return success();
}

LogicalResult TensorOp::verify() {
  const TensorType t = getTensor().getType();
  if (t.getSpace() != Space::Hbm)
    return emitOpError() << "is in HBM, not in " << spaceName(t.getSpace()) << "; use nisa.alloc on chip";
  if (!llvm::is_contained({"input", "output", "constant", "scratch"}, getKind()))
    return emitOpError() << "has the unknown kind \"" << getKind() << "\": input, output, constant or scratch";
  if (getIsPrivate() && getKind() != "scratch")
    return emitOpError() << "only scratch tensors are private";
  if (failed(verifyShape(*this, t)))
    return failure();
  int64_t bytes = sizeOf(t.getDtype());
  for (int64_t d : t.getShape())
    bytes *= d;
  if ((getKind() == "constant") != getData().has_value())
    return emitOpError() << "constants, and only constants, have data";
  if (getData() && static_cast<int64_t>(getData()->size()) != bytes)
    return emitOpError() << "has " << getData()->size() << " bytes of data and needs " << bytes;
  return success();
}

LogicalResult AllocOp::verify() {
  const TensorType t = getTensor().getType();
  if (t.getSpace() == Space::Hbm)
    return emitOpError() << "is on chip; use nisa.tensor in HBM";
  if (t.getShape().empty())
    return emitOpError() << "needs a partition dimension";
  if (getAt() && getAt()->size() != 2)
    return emitOpError() << "`at` is [partition, byte]";
  return verifyShape(*this, t);
}

LogicalResult LoopOp::verify() {
  if (static_cast<bool>(getCountRegister()) == getCount().has_value())
    return emitOpError() << "has either a count or a register with the count";
  if (getBody().getNumArguments() != 1 || !isa<RegType>(getBody().getArgument(0).getType()))
    return emitOpError() << "has one block argument, the register that counts";
  return success();
}

} // namespace glia::nisa
