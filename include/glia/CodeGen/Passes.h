// The steps from a kernel with engines to one that can be written out as a program. Each is one function in one file of its name;
// glia-opt runs each alone (--merge-aliases, --allocate-memory ...).
#pragma once
#include "glia/Dialect/Nisa.h"
#include "glia/Target/Target.h"

#include <string_view>

namespace glia {

// An attribute of kernels in which many tiles are read in strides: whoever takes the place of one waits for all of its readers there, and not
// for those of single bytes, which the verifier would have to tell apart.
inline constexpr std::string_view kWholeTiles = "whole_tiles";

// What an author writes as one load after the other into the same tile becomes tiles of their own, which stay as long as they are of
// use: the three below. Whether anything changed; nothing does in a kernel that is as written. Every `accumulate` has been resolved.
bool keepTiles(nisa::KernelOp k, const Target &t);
size_t renameTiles(nisa::KernelOp k);   // a tile that is written as a whole again is a new one; how many
size_t renameInLoops(nisa::KernelOp k); // the same in a loop, of tiles that were made before it
size_t hoistLoads(nisa::KernelOp k,
                  const Target &t); // loads of the same bytes in every iteration leave their loop; how many
size_t reuseLoads(nisa::KernelOp k, const Target &t); // loads of bytes that are still in SBUF go away; how many
// Puts instructions in an order in which engines overlap, as far as there is memory, before memory is given out. False, and a kernel
// of no use, if not even the best order fits. Only for kernels without loops and registers that are not as written.
bool hasFreeOrder(nisa::KernelOp k);
bool orderBeforeMemory(nisa::KernelOp k, const Target &t);
// What the kernel stores and loads again stays in SBUF, where there is room; how many loads became something else. For kernels that are
// written as several stages, before engines are chosen.
size_t keepValues(nisa::KernelOp k, const Target &t);
void unrollLoops(nisa::KernelOp k, const Target &t);    // several iterations of a run-time loop become one
void mergeAliases(nisa::KernelOp k);                    // pinned tensors that share live memory become one
void allocateMemory(nisa::KernelOp k, const Target &t); // addresses in SBUF and PSUM
void replicateRegisters(nisa::KernelOp k);              // each engine gets its own copy of the register operations it needs
void scheduleKernel(nisa::KernelOp k, const Target &t); // the order of instructions, and DMA queues
void placeActivationTables(nisa::KernelOp k, const Target &t); // table loads
void insertSemaphores(nisa::KernelOp k, const Target &t);      // waits and updates, loops in step
void registerPasses();

} // namespace glia
