// The sequential meaning of a kernel: its instructions one after the other, each finished before the next one starts. No
// scheduling, no engines side by side, no placement. What the compiler makes must give the same bytes.
#pragma once
#include "glia/Dialect/Kernel.h"
#include "glia/Sim/Simulator.h"

namespace glia {

struct ExecuteOptions {
  uint64_t maxSteps = UINT64_MAX; // stop with fault SIM-STEPS after so many instructions
  std::byte unwritten{0xFF};      // what memory holds that nothing wrote
  StopQuestion stop;
};

// Runs a kernel whose engines are chosen (unset ones are chosen as chooseEngines does; `k` itself is not changed).
//   - Tensors with an address given by their author share memory where they overlap; others have memory of their own.
//   - nc_matmul with accumulate auto overwrites an element at its first matmul of that allocation and adds afterwards.
//   - Two cores take turns; they meet at core_barrier (by name and count) and sendrecv (by pipe and count).
// Throws Error with all findings of checkKernel, or RUN-INPUT for inputs that do not fit.
// RunResult::fault: what cannot go on (divergent cores, an address out of bounds); RunResult::trap: as the machine's.
// A kernel that depends on memory that nothing wrote is wrong, and the verifier says so.
RunResult executeKernel(nisa::Kernel &k, const TensorData &inputs, const ExecuteOptions &options = {});

} // namespace glia
