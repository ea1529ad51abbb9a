// When results would be there if engines worked through the instructions in program order: which engine is done with one first. An engine
// sees its own results as soon as it is through with them, those of others when they have arrived.
#pragma once
#include "glia/Dialect/Instruction.h"
#include "glia/Target/Target.h"

#include "llvm/ADT/DenseMap.h"

#include <array>

namespace glia {

class SoonestEngine {
public:
  explicit SoonestEngine(const Target &target) : target(target) {}
  // The first of them to be done; of equal ones the first in the list.
  Engine choose(nisa::Instr i, llvm::ArrayRef<Engine> engines) const;
  void issued(nisa::Instr i, Engine e);

private:
  const Target &target;
  struct Result { // of a tensor: the last that was written to it
    Engine engine = Engine::Sync;
    double own = 0, there = 0; // ns: when its engine can go on with it, and others
  };
  llvm::DenseMap<mlir::Value, Result> results;
  std::array<double, kNumEngines> free{};
  struct Times {
    double begin, through, own, there;
  };
  Times timesOf(nisa::Instr i, Engine e) const;
};

} // namespace glia
