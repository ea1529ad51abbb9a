// Dialects that are known by name only, so that what they stand for can be refused by name.
#pragma once
#include "mlir/IR/Dialect.h"

namespace glia::graph {

// The words by which parseGraph finds the code of an error.
inline constexpr llvm::StringLiteral kQuantised = "quantised types are not supported";
inline constexpr llvm::StringLiteral kSparse = "sparse encodings are not supported";

class QuantDialect : public mlir::Dialect {
public:
  explicit QuantDialect(mlir::MLIRContext *context);
  static llvm::StringLiteral getDialectNamespace() { return "quant"; }
  mlir::Type parseType(mlir::DialectAsmParser &p) const override;
};

class SparseDialect : public mlir::Dialect {
public:
  explicit SparseDialect(mlir::MLIRContext *context);
  static llvm::StringLiteral getDialectNamespace() { return "sparse_tensor"; }
  mlir::Attribute parseAttribute(mlir::DialectAsmParser &p, mlir::Type type) const override;
};

} // namespace glia::graph

MLIR_DECLARE_EXPLICIT_TYPE_ID(glia::graph::QuantDialect)
MLIR_DECLARE_EXPLICIT_TYPE_ID(glia::graph::SparseDialect)
