// The dialect `sdy` (Shardy) as JAX prints it: meshes, shardings, constraints and computations that are written for the part of each device.
//
// On one device they mean nothing for what is computed: they are dropped. In a module of several partitions they are kept for the partitioner
// (glia/Graph/Partition.h), as operations of the names that they have in the text and with attributes of these forms:
//   mesh      #stablehlo.mesh<axes=[...], device_ids=...>, in {sym_name, mesh} of `sdy.mesh`
//   sharding  {mesh = @name or a mesh, dims = [[axes of dimension 0], ...], replicated = [axes], unreduced = [axes]}; an axis is
//             #stablehlo.axis_ref, behind the last one is `unit` where the text has `?`; empty lists behind `dims` are left out
#pragma once
#include "glia/Graph/Graph.h"
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

// Whether `mhlo.num_partitions` says that there are several.
bool hasPartitions(mlir::Operation *module);
// An operation that a module of several partitions may have.
bool isShardingOperation(mlir::Operation *op);

MeshAttr meshAttribute(mlir::MLIRContext *context, llvm::ArrayRef<MeshAxisAttr> axes, llvm::ArrayRef<int64_t> devices);
mlir::DictionaryAttr shardingAttribute(mlir::Attribute mesh, mlir::ArrayAttr dims, mlir::ArrayAttr replicated,
                                       mlir::ArrayAttr unreduced);

// Whether an attribute has the form of a sharding.
bool isSharding(mlir::Attribute attribute);
// Of `sdy.mesh` in the module around `from`; null if there is none.
MeshAttr findMesh(mlir::Operation *from, llvm::StringRef name);

// In a module of one partition, or one that is divided already.
void dropShardings(mlir::ModuleOp module);

} // namespace glia::graph
