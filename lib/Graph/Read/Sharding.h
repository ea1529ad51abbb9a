// The dialect `sdy` (Shardy), as far as it stands in the text that JAX prints for one device: meshes, constraints and attributes say where a partitioner
// would put values. They mean nothing for what is computed: they are read, and dropped.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"

namespace glia::graph {

class ShardingDialect : public mlir::Dialect {
public:
  explicit ShardingDialect(mlir::MLIRContext *context);
  static llvm::StringRef getDialectNamespace() { return "sdy"; }
  std::optional<ParseOpHook> getParseOperationHook(llvm::StringRef name) const override;
  mlir::Attribute parseAttribute(mlir::DialectAsmParser &parser, mlir::Type type) const override;
};

void dropShardings(mlir::ModuleOp module);

} // namespace glia::graph
