// Registers belong to one engine. An engine that uses a register gets its own copy of the operations that set it.
#include "glia/CodeGen/Passes.h"
#include "glia/Dialect/Instruction.h"

#include <map>

namespace glia {

namespace {

int bit(Engine e) { return 1 << static_cast<int>(e); }

// The registers an instruction reads; a written one is read too unless it is overwritten.
void forEachRegister(nisa::Instr i, llvm::function_ref<void(mlir::Value, bool written)> f) {
  for (mlir::Value v : i->getOperands()) {
    if (!llvm::isa<nisa::RegType>(v.getType()))
      continue;
    bool written = false;
    for (size_t k = 0; k < i.def().slots.size(); ++k)
      written |= i.def().slots[k].kind == SlotKind::RegOut && i.reg(static_cast<int>(k)) == v;
    f(v, written);
  }
}

bool setsRegister(nisa::Instr i) {
  bool sets = false;
  forEachRegister(i, [&](mlir::Value, bool written) { sets |= written; });
  return sets;
}

} // namespace

void replicateRegisters(nisa::KernelOp k) {
  for (auto core : k.getBody().getOps<nisa::CoreOp>()) {
    llvm::DenseMap<mlir::Value, int> need; // engines that need each register
    bool changed = true;
    auto add = [&](mlir::Value v, int engines) {
      int &n = need[v];
      changed |= (n | engines) != n;
      n |= engines;
    };
    // Engines an operation runs on: a loop on all that have something in it.
    auto enginesOf = [&](nisa::Instr i) {
      if (!setsRegister(i))
        return bit(i.engine().value_or(Engine::Sync));
      int engines = 0;
      forEachRegister(i, [&](mlir::Value v, bool written) { engines |= written ? need.lookup(v) : 0; });
      return engines;
    };
    while (changed) {
      changed = false;
      core.walk([&](mlir::Operation *op) {
        if (nisa::Instr i{op}) {
          const int engines = enginesOf(i);
          forEachRegister(i, [&](mlir::Value v, bool) { add(v, engines); });
        } else if (llvm::isa<nisa::LoopOp, nisa::WhileOp>(op)) {
          int engines = 0;
          op->walk([&](mlir::Operation *inner) {
            if (nisa::Instr i{inner})
              engines |= enginesOf(i);
          });
          for (mlir::Value v : op->getOperands())
            add(v, engines);
        }
      });
    }
    core.walk([&](mlir::Operation *op) {
      nisa::Instr i{op};
      if (!i || !setsRegister(i))
        return;
      const int engines = enginesOf(i);
      mlir::OpBuilder b(op);
      for (int e = 0; e < kNumEngines; ++e)
        if (engines >> e & 1)
          nisa::Instr(b.clone(*op)).setEngine(static_cast<Engine>(e));
      op->erase();
    });
  }
}

} // namespace glia
