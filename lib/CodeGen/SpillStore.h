// The transfers of a spilled tensor: where it is kept in HBM, and what goes there and back.
#pragma once
#include "SpillPieces.h"
#include "SpillPlan.h"

namespace glia::codegen {

using Views = std::vector<nisa::TensorOperand>;

bool sameBytes(const Views &a, const Views &b);
// Adds what an operand of an instruction writes.
void addWrites(Written &written, mlir::OpOperand &operand, nisa::AllocOp alloc);

class SpillStore {
public:
  SpillStore(nisa::CoreOp core, nisa::AllocOp alloc, std::string label)
      : core(core), alloc(alloc), label(std::move(label)), b(core) {}

  // The same tensor once more, before an operation.
  nisa::AllocOp another(mlir::Operation *before);
  // Makes all of it defined.
  void zero(nisa::AllocOp holder, mlir::Operation *before);
  // After an operation: views of the tensor, from where it is now.
  void store(nisa::AllocOp holder, const Views &pieces, mlir::Operation *after);
  // Before an operation: what was stored last.
  void load(nisa::AllocOp holder, mlir::Operation *before);
  // Before an operation: an instruction that wrote to it, once more.
  void repeat(nisa::AllocOp holder, mlir::Operation *op, mlir::Operation *before);

private:
  nisa::CoreOp core;
  nisa::AllocOp alloc;
  const std::string label;
  mlir::OpBuilder b;
  Views outside, kept; // in HBM, and of the tensor
  int stores = 0;

  void copy(mlir::Location loc, nisa::TensorOperand dst, nisa::TensorOperand src);
};

// The kernel's attribute `spills`: which tensors are kept in HBM for a while.
class SpillNotes {
public:
  explicit SpillNotes(nisa::KernelOp kernel);
  std::string label(const Lifetime &l) const; // of the tensor in HBM
  void add(const Lifetime &l, const std::string &more);
  void write();

private:
  nisa::KernelOp kernel;
  llvm::SmallVector<mlir::Attribute> notes;
};

} // namespace glia::codegen
