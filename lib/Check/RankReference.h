// The reference of a graph for several ranks, on whole tensors: every rank is interpreted, and what they hold in the end is put together.
#pragma once
#include "glia/Graph/Partition.h"
#include "glia/Interpret/Interpret.h"

#include "mlir/IR/OwningOpRef.h"

namespace glia::emit {

class RankReference {
public:
  // An argument that is each rank's own is given once; a rank has it turned by its number.
  RankReference(mlir::ModuleOp module, const std::vector<HostTensor> &inputs, const PartitionOptions &options);
  const std::vector<HostTensor> &wholeInputs() const { return whole; }
  std::vector<HostTensor> evaluate(const InterpretOptions &options) const;

private:
  mlir::OwningOpRef<mlir::ModuleOp> work;
  PartitionedGraph parts;
  std::vector<HostTensor> whole;
  std::vector<std::vector<HostTensor>> byRank;
};

} // namespace glia::emit
