// The sequential meaning of a kernel: its instructions one after the other, each finished before the next one starts. No
// scheduling, no engines side by side, no placement. What the compiler makes must give the same bytes.
#pragma once
#include "glia/Dialect/Kernel.h"
#include "glia/Sim/Simulator.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace glia {

// An instruction in one iteration of the run-time loops around it, outermost first. Instructions and tensors are named by their
// numbers in the order they were traced (nisa::Trace::emit; tensor and alloc).
struct Moment {
  uint32_t instruction = 0;
  int core = 0;
  std::vector<int64_t> iterations;
};

struct Capture { // what a tensor holds before or after an instruction, each time
  uint32_t instruction = 0, tensor = 0;
  bool before = false;
};
struct Captured {
  uint32_t capture = 0; // its number in the list
  Moment at;
  std::span<const std::byte> bytes;   // of the whole tensor, row by row
  std::shared_ptr<const void> memory; // that they are in, with others
};
struct NanOrigin { // an instruction that made a NaN out of numbers, which reached an output
  Moment at;
  uint32_t tensor = 0; // what it wrote, and where in it
  int32_t partition = 0;
  int64_t byte = 0;
  std::string output;
};
struct UndefinedOrigin {        // bytes that nothing wrote
  uint32_t tensor = 0;          // where they lie
  int32_t partitions[2]{};      // first and last
  int64_t bytes[2]{};           // first and last in the partition, or in a tensor in HBM
  std::optional<Moment> reader; // the first; none: nothing reads them, and they are part of an output
  std::string output;           // that they reach; empty: none
  std::optional<Moment> stored; // by this
};

// What to look for during a run, and what was found.
struct Observations {
  std::vector<Capture> captures;
  bool findNaN = false, findUndefined = false;
  std::vector<Captured> captured; // in the order of the run
  std::vector<NanOrigin> nans;    // one per output that holds a NaN
  std::vector<UndefinedOrigin> undefined;
};

struct ExecuteOptions {
  uint64_t maxSteps = UINT64_MAX; // stop with fault SIM-STEPS after so many instructions
  std::byte unwritten{0xFF};      // what memory holds that nothing wrote
  int threads = 1;                // 0 leaves it to GLIA_THREADS or the host; the bytes are the same with any number
  StopQuestion stop;
  Observations *observe = nullptr;
};

// Runs a kernel whose engines are chosen (unset ones are chosen as chooseEngines does; `k` itself is not changed).
//   - Tensors with an address given by their author share memory where they overlap; others have memory of their own.
//   - nc_matmul with accumulate auto overwrites an element at its first matmul of that allocation and adds afterwards.
//   - Two cores take turns; they meet at core_barrier (by name and count) and sendrecv (by pipe and count).
// Throws Error with all findings of checkKernel, RUN-INPUT for inputs that do not fit, or RANK-COUNT for a kernel of several ranks.
// RunResult::fault: what cannot go on (divergent cores, an address out of bounds); RunResult::trap: as the machine's.
// A kernel that depends on memory that nothing wrote is wrong, and the verifier says so.
RunResult executeKernel(nisa::Kernel &k, const TensorData &inputs, const ExecuteOptions &options = {});

// The same for many runs: what they need is made once. Not for several threads at once: they wait for each other.
class Sequential {
public:
  // `wanted`: what the runs will look for; ExecuteOptions::observe says the same.
  explicit Sequential(nisa::Kernel &k, const Observations &wanted = {});
  ~Sequential();
  RunResult run(const TensorViews &inputs, const ExecuteOptions &options = {});

private:
  struct State;
  std::unique_ptr<State> state;
};

// The same run, one instruction at a time. A core goes on until it waits for the other one.
class Execution {
public:
  Execution(nisa::Kernel &k, const TensorData &inputs, const ExecuteOptions &options = {}); // `observe` is not used
  ~Execution();
  // The instruction that was run; none: the run has ended, and `result` says how.
  std::optional<Moment> step();
  const RunResult &result() const;
  // What a tensor holds now, row by row, and a register of a core (0 if nothing wrote it): by their numbers in the trace.
  std::vector<std::byte> read(uint32_t tensor, int core) const;
  int32_t registerValue(uint32_t reg, int core) const;

private:
  struct State;
  std::unique_ptr<State> state;
  bool ended = false;
};

} // namespace glia
