// Types, attributes and structural ops of the `nisa` dialect.
#include "glia/Dialect/Nisa.h"
#include "Literal.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/DialectImplementation.h"

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

Type TensorType::parse(AsmParser &p) {
  StringRef space;
  TensorType t;
  if (p.parseLess())
    return {};
  const SMLoc at = p.getCurrentLocation();
  if (p.parseKeyword(&space) || p.parseComma())
    return {};
  for (Space s : {Space::Sbuf, Space::Psum, Space::Hbm})
    if (space == spaceName(s))
      return failed(parseTensor(p, s, t)) || p.parseGreater() ? Type() : t;
  p.emitError(at) << "unknown memory `" << space << "`: sbuf, psum or hbm";
  return {};
}

void TensorType::print(AsmPrinter &p) const {
  p << "<" << spaceName(getSpace()) << ", ";
  printTensor(p, *this);
  p << ">";
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
  p.rank = static_cast<uint8_t>(std::min<size_t>(getDims().size() / 2, kMaxDims)); // more are refused by the verifier
  for (int i = 0; i < p.rank; ++i)
    p.dims[i] = {static_cast<int32_t>(getDims()[2 * i]), static_cast<uint32_t>(getDims()[2 * i + 1])};
  p.numDynamic = static_cast<uint8_t>(std::min<size_t>(getTerms().size() / 3, kMaxDynamicTerms));
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
  if (p.parseLess() || p.parseInteger(base) || p.parseComma() || parseElementType(p, dtype) || p.parseComma() ||
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

} // namespace glia::nisa
