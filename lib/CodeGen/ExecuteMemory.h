// The memory of the sequential executor: where each tensor of a kernel lies, and operands bound to it.
#pragma once
#include "Sim/Memory.h"
#include "Transforms/PsumState.h"
#include "glia/CodeGen/ProgramWriter.h"
#include "glia/ISA/Exec.h"

namespace glia::execute {

// A run that cannot go on.
struct Stop {
  Diagnostic diagnostic;
};
Diagnostic diagnosticAt(mlir::Location loc, std::string_view code, std::string message);
[[noreturn]] void stopAt(mlir::Operation *op, std::string_view code, std::string message);

struct Place { // of a tensor, in one core's view
  std::byte *base = nullptr;
  int64_t pitch = 0, bytes = 0; // per partition; in HBM one row
  int32_t partitions = 1, firstPartition = 0;
  int64_t start = 0; // absolute byte of the tensor in its memory
  Space space = Space::Hbm;
  ObjectRef object;
};

class Memory {
public:
  // Throws Error RUN-INPUT.
  Memory(nisa::KernelOp kernel, std::shared_ptr<const Target> target, const TensorData &inputs, std::byte unwritten);
  const Place &place(mlir::Value tensor, int core) const { return places.find({tensor, core})->second; }
  TensorData outputs() const;

private:
  nisa::KernelOp kernel;
  std::byte unwritten;
  std::vector<sim::Pages> pages;
  llvm::DenseMap<std::pair<mlir::Value, int>, Place> places;
  std::byte *fresh(int64_t bytes);
  void placeTensor(nisa::TensorOp op, ObjectRef object, const TensorData &inputs);
  void placeAllocations(nisa::CoreOp core, const Target &t, const ProgramWriter &writer);
};

using Registers = llvm::DenseMap<mlir::Value, int32_t>;

// An instruction with its operands in memory. What depends on registers is bound each time.
struct Bound {
  nisa::Instr instr;
  std::vector<Exec::Operand> operands;
  std::vector<Pattern> patterns;
  std::vector<int> dynamic; // slots that registers take part in
  int indexed = -1;         // the slot whose rows an index chooses; its bounds are guarded row by row
  bool skip = false;        // a transfer whose register address is out of range, and is to be skipped
};
Bound bindInstruction(nisa::Instr i, int core, const Memory &m);
// Throws Stop OPERAND-BOUNDS, or Trap DGE-OOB for a transfer.
void bindRegisters(Bound &x, int core, const Memory &m, const Registers &registers);

} // namespace glia::execute
