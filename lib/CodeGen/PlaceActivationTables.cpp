// Loads activation tables: before the first function of a set that is not resident. A loop that needs one set gets it before the
// loop; a loop that needs several switches inside.
#include "glia/CodeGen/Passes.h"
#include "glia/Dialect/Instruction.h"
#include "glia/Support/Diagnostic.h"

#include <set>

namespace glia {

namespace {

constexpr int kUnknown = -2, kNone = -1;

class Tables {
public:
  Tables(nisa::CoreOp core, const Target &t) : core(core), target(t), load(*findInstruction("act_table_load")) {}

  void run() {
    int resident = kNone;
    place(core.getBody().front(), resident);
    if (static_cast<int>(used.size()) > target.maxActivationSets) {
      std::string names;
      for (int s : used)
        names += (names.empty() ? "" : ", ") + target.activationSets[s].name;
      throw Error("ACT-TABLE-COUNT",
                  format("the kernel needs %zu activation tables, and a program may use %d: %s", used.size(),
                         target.maxActivationSets, names.c_str()),
                  "Use functions that share a table, or split the kernel into programs.");
    }
  }

private:
  nisa::CoreOp core;
  const Target &target;
  const InstrDef &load;
  std::set<int> used;

  int setOf(nisa::Instr i) const {
    if (!i.is("activation"))
      return kNone;
    const int slot = i.def().slot("fn");
    return target.activationSet(i.def().slots[slot].names->names[i.integer(slot)]);
  }

  void loadBefore(mlir::Operation *op, int set) {
    mlir::OpBuilder b(op);
    nisa::createInstruction(b, op->getLoc(), load, {nisa::SlotValue::of(target.activationSets[set].name)}, Engine::Scalar);
    used.insert(set);
  }

  void place(mlir::Block &block, int &resident) {
    mlir::Operation *first =
        nullptr; // on Scalar, while no table is resident: the load does not have to wait for what it waits for
    for (mlir::Operation &op : block) {
      if (nisa::Instr i{&op}) {
        const int set = setOf(i);
        if (!first && i.engine() == Engine::Scalar)
          first = &op;
        if (set >= 0 && set != resident) {
          loadBefore(resident == kNone && first ? first : &op, set);
          resident = set;
        }
      } else if (llvm::isa<nisa::LoopOp, nisa::WhileOp>(op)) {
        std::set<int> inside;
        op.walk([&](mlir::Operation *o) {
          if (nisa::Instr i{o}; i && setOf(i) >= 0)
            inside.insert(setOf(i));
        });
        if (inside.empty())
          continue;
        if (inside.size() == 1) {
          if (*inside.begin() != resident)
            loadBefore(resident == kNone && first ? first : &op, *inside.begin());
          resident = *inside.begin();
          continue;
        }
        int within = kUnknown; // each iteration finds what the one before has left
        place(op.getRegion(0).front(), within);
        resident = kUnknown; // the loop may not run
      }
    }
  }
};

} // namespace

void placeActivationTables(nisa::KernelOp k, const Target &target) {
  for (auto core : k.getBody().getOps<nisa::CoreOp>())
    Tables(core, target).run();
}

} // namespace glia
