// The steps of code generation under their command-line names.
#include "glia/CodeGen/Passes.h"
#include "glia/Transforms/Passes.h"

namespace glia {

void registerPasses() {
  struct Entry {
    llvm::StringRef argument, description;
    void (*function)(nisa::KernelOp, const Target &);
  };
  static const Entry kPasses[] = {
      {"rename-tiles", "A tile that is written as a whole again becomes a new one",
       [](nisa::KernelOp k, const Target &) { renameTiles(k); }},
      {"rename-in-loops", "The same in a loop, of tiles that were made before it",
       [](nisa::KernelOp k, const Target &) { renameInLoops(k); }},
      {"hoist-loads", "Loads of the same bytes in every iteration go in front of their loop",
       [](nisa::KernelOp k, const Target &t) { hoistLoads(k, t); }},
      {"reuse-loads", "Loads of bytes that are still in SBUF go away",
       [](nisa::KernelOp k, const Target &t) { reuseLoads(k, t); }},
      {"keep-values", "What the kernel stores and loads again stays in SBUF",
       [](nisa::KernelOp k, const Target &t) { keepValues(k, t); }},
      {"unroll-loops", "Several iterations of a run-time loop become one", unrollLoops},
      {"order-before-memory", "The order in which engines would work if no tile had a place",
       [](nisa::KernelOp k, const Target &t) {
         if (hasFreeOrder(k))
           orderBeforeMemory(k, t);
       }},
      {"merge-aliases", "Pinned tensors that share live memory become one",
       [](nisa::KernelOp k, const Target &) { mergeAliases(k); }},
      {"allocate-memory", "Give every tensor on chip an address", allocateMemory},
      {"replicate-registers", "Give each engine the register operations it needs",
       [](nisa::KernelOp k, const Target &) { replicateRegisters(k); }},
      {"schedule", "Order the instructions and give transfers a queue", scheduleKernel},
      {"place-activation-tables", "Load activation tables where they are needed", placeActivationTables},
      {"insert-semaphores", "Waits and updates where an order is needed", insertSemaphores},
  };
  for (const Entry &e : kPasses)
    registerKernelPass(e.argument, e.description, [e](nisa::KernelOp k) {
      const std::string target = k.getTarget().str();
      e.function(k, *loadTarget(target));
    });
}

} // namespace glia
