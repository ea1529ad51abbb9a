// The memory of the sequential executor: where each tensor of a kernel lies, and operands bound to it.
#pragma once
#include "Lifetimes.h"
#include "Sim/Memory.h"
#include "Transforms/PsumState.h"
#include "glia/CodeGen/ProgramWriter.h"
#include "glia/ISA/Exec.h"

#include <deque>

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
  // `rest`: tiles that are not in use at the same time share memory, which is not used again for so many places in program order; not
  // given: they do not share any. What somebody looks at beside its uses is in `looks`.
  Memory(nisa::KernelOp kernel, const std::shared_ptr<const Target> &target, std::optional<uint32_t> rest,
         const codegen::Looks &looks = codegen::Looks());
  // Before a run. Throws Error RUN-INPUT.
  void begin(const TensorViews &inputs, std::byte unwritten);
  // Tiles that come into use with an operation: before it they are to be cleared.
  llvm::ArrayRef<const Place *> entering(mlir::Operation *op) const {
    const auto it = first.find(op);
    return it == first.end() ? llvm::ArrayRef<const Place *>() : it->second;
  }
  void clear(const Place &p) const;
  const Place &place(mlir::Value tensor, int core) const { return *places.find({tensor, core})->second; }
  TensorData outputs() const;

private:
  nisa::KernelOp kernel;
  ProgramWriter writer;
  std::byte unwritten{};
  std::vector<sim::Pages> pages;
  std::deque<Place> made;
  std::vector<std::pair<std::byte *, int64_t>> whole; // memory that holds nothing when a run begins
  llvm::DenseMap<std::pair<mlir::Value, int>, const Place *> places;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<const Place *, 1>> first;
  std::byte *fresh(int64_t bytes);
  void placeTensor(nisa::TensorOp op);
  void placeAllocations(nisa::CoreOp core, const Target &t);
  void shareAllocations(nisa::CoreOp core, uint32_t rest, const codegen::Looks &looks);
  Place &placeOf(nisa::AllocOp op, int core);
};

using Registers = llvm::DenseMap<mlir::Value, int32_t>;

// An instruction with its operands in memory. What depends on registers is bound each time.
struct Bound {
  nisa::Instr instr;
  Engine engine = Engine::Sync;
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
