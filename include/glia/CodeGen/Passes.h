// The steps from a kernel with engines to one that can be written out as a program. Each is one function in one file of its name;
// glia-opt runs each alone (--merge-aliases, --allocate-memory ...).
#pragma once
#include "glia/Dialect/Nisa.h"
#include "glia/Target/Target.h"

namespace glia {

void unrollLoops(nisa::KernelOp k, const Target &t);    // several iterations of a run-time loop become one
void mergeAliases(nisa::KernelOp k);                    // pinned tensors that share live memory become one
void allocateMemory(nisa::KernelOp k, const Target &t); // addresses in SBUF and PSUM
void replicateRegisters(nisa::KernelOp k);              // each engine gets its own copy of the register operations it needs
void scheduleKernel(nisa::KernelOp k, const Target &t); // the order of instructions, and DMA queues
void placeActivationTables(nisa::KernelOp k, const Target &t); // table loads
void insertSemaphores(nisa::KernelOp k, const Target &t);      // waits and updates, loops in step
void registerPasses();

} // namespace glia
