#include "Refused.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

MLIR_DEFINE_EXPLICIT_TYPE_ID(glia::graph::QuantDialect)
MLIR_DEFINE_EXPLICIT_TYPE_ID(glia::graph::SparseDialect)

namespace glia::graph {

QuantDialect::QuantDialect(MLIRContext *context) : Dialect(getDialectNamespace(), context, TypeID::get<QuantDialect>()) {}
SparseDialect::SparseDialect(MLIRContext *context) : Dialect(getDialectNamespace(), context, TypeID::get<SparseDialect>()) {}

Type QuantDialect::parseType(DialectAsmParser &p) const {
  p.emitError(p.getNameLoc()) << kQuantised;
  return {};
}

Attribute SparseDialect::parseAttribute(DialectAsmParser &p, Type) const {
  p.emitError(p.getNameLoc()) << kSparse;
  return {};
}

} // namespace glia::graph
