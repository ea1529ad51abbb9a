// Writes nisa instructions into a machine program: tensors and allocations become the program's objects, slots become operands.
#pragma once
#include "glia/Dialect/Instruction.h"
#include "glia/Program/Builder.h"

#include <memory>

namespace glia {

class ProgramWriter {
public:
  // Declares every tensor and allocation of the kernel. Allocations without an address are put at partition 0, byte 0.
  ProgramWriter(nisa::KernelOp kernel, std::shared_ptr<const Target> target);

  ObjectRef object(mlir::Value tensor) const { return objects.lookup(tensor); }
  // The physical register of a virtual one, on the engine an instruction is emitted for.
  using RegisterOf = llvm::function_ref<int(mlir::Value)>;
  // Appends the instruction to the engine's stream. `queue`: the program's, of a transfer.
  void emit(nisa::Instr i, int core, Engine e, RegisterOf registerOf, llvm::ArrayRef<SyncOp> waits = {},
            llvm::ArrayRef<SyncOp> updates = {}, int queue = 0);
  // Sets where following instructions come from (emit does so itself).
  void origin(mlir::Location loc);
  Builder &builder() { return b; }
  std::string_view kernelName() const { return name; }

private:
  Builder b;
  std::string name;
  llvm::DenseMap<mlir::Value, ObjectRef> objects;
  void declare(nisa::TensorOp op);
  void declare(nisa::AllocOp op, int core);
};

} // namespace glia
