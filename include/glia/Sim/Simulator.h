// Runs programs. Fast and strict mode share the semantics of lib/ISA and give the same bytes.
#pragma once
#include "glia/ISA/Exec.h"
#include "glia/Program/Decode.h"
#include "glia/Program/Program.h"
#include "glia/Sim/Schedule.h"
#include "glia/Support/Diagnostic.h"

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace glia {

using TensorData = std::map<std::string, std::vector<std::byte>, std::less<>>;      // by tensor name
using TensorViews = std::map<std::string, std::span<const std::byte>, std::less<>>; // the same, in the caller's memory
inline TensorViews viewsOf(const TensorData &data) { return {data.begin(), data.end()}; }
using TensorBuffers = std::map<std::string, std::span<std::byte>, std::less<>>;

// Thrown out of a run that was told to stop.
struct Interrupted : std::exception {
  const char *what() const noexcept override { return "interrupted"; }
};
// Asked every so many steps, by the thread that called; true: the run ends with Interrupted.
using StopQuestion = std::function<bool()>;
constexpr uint64_t kStepsPerQuestion = 64;

class RankLink; // Sim/Ranks.h

struct RunOptions {
  bool strict = false;
  uint64_t seed = 0; // strict: which legal interleaving
  // Strict: hold this instruction back as long as anything else can run ("core0.vector#12"), to replay a race.
  std::string hold;
  // Strict: hold whole engines, queues or parts of them back for long stretches, chosen by the seed, instead of drawing each
  // step anew. Finds what goes wrong only when somebody is far ahead.
  bool steered = false;
  // Strict: take these steps first, then as the seed says. One that cannot be taken is an Error DEBUG-SCHEDULE.
  const std::vector<ScheduleStep> *schedule = nullptr;
  bool passRaces = false;         // strict: a race is not the end of the run, but RunResult::race
  bool faultOnRange = false;      // strict: an argument outside a function's documented range is a fault, not a warning
  int threads = 0;                // fast: 0 leaves it to GLIA_THREADS or the host; the bytes are the same with any number
  uint64_t maxSteps = UINT64_MAX; // stop with fault SIM-STEPS after so many instructions
  StopQuestion stop;
  RankLink *link = nullptr; // to the other ranks; null: the only one
  std::optional<int>
      rankTimeout; // seconds that a rank waits for ranks of other processes; 0: for ever; none: as GLIA_TIMEOUT says
  // Where outputs are made, instead of RunResult::outputs: all of them, with their sizes, zeroed. For callers with much data. A null one
  // is an output that nobody wants.
  const TensorBuffers *outputs = nullptr;
  // Fast: what each engine (core * 5 + engine) loaded into registers, in its order; for timing.
  std::vector<std::vector<int32_t>> *registerLoads = nullptr;
  // Strict: called for every run of bytes that an instruction really touches, in absolute coordinates (partition and byte of
  // the memory; HBM: partition 0, byte of the tensor), so that the footprint others derive from operands can be compared.
  std::function<void(const Decoded &, int slot, int partition, int64_t byte, int64_t bytes, bool write)> onTouch;
};

struct RunResult {
  TensorData outputs;
  std::optional<Diagnostic> fault; // strict: the first fault; fast: deadlock, or a machine state that cannot go on
  std::optional<Diagnostic> trap;  // a guarded trap: a defined result
  std::string printed;             // device_print
  std::optional<Diagnostic> race;  // strict, passRaces: the first
  std::optional<Diagnostic> range; // strict: a warning SIM-RANGE: arguments outside a function's documented range
  uint64_t outOfRange = 0;         // strict: how many
  uint64_t instructions = 0;
  uint64_t bytesTouched = 0, shadowBytes = 0; // strict: for the memory bound in bench/
  bool ok() const { return !fault && !trap; }
};

// Throws Error RUN-INPUT for missing, extra or wrongly sized inputs and for inputs that break their declared range.
RunResult run(const Program &p, const TensorData &inputs, const RunOptions &options = {});
// The same on memory that the caller keeps as it is during the run.
RunResult runInPlace(const Program &p, const TensorViews &inputs, const RunOptions &options = {});

} // namespace glia
