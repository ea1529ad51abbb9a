// Predicts how long a program takes: discrete events over engines, queues, ports, semaphores and instruction fetch.
#pragma once
#include "glia/Program/Program.h"
#include "glia/Sim/Simulator.h"

#include <functional>
#include <string>
#include <vector>

namespace glia {

struct InstrPlace { // an instruction of a program
  int core = 0;
  Engine engine = Engine::Sync;
  uint32_t index = 0;
  friend auto operator<=>(const InstrPlace &, const InstrPlace &) = default;
};

struct TimingOptions {
  const TensorData *inputs = nullptr; // needed only where control flow depends on data
  bool timeline = false;              // keep every interval and what it came after; otherwise totals only
  bool stalls = true;                 // attribute waiting time
  uint64_t maxSteps = UINT64_MAX;     // stop with Error SIM-STEPS after so many instructions
  StopQuestion stop;
  // Instructions that nothing holds up: they start when their engine comes to them, whatever they should wait for.
  std::vector<InstrPlace> unheld;
};

// What an instruction or a transfer waited for, if it waited.
enum class Wait : uint8_t { None, Semaphore, Queue, Port, Fetch, Barrier, Result };

inline constexpr uint32_t kNoEvent = UINT32_MAX;

// One bar of the timeline. Lanes: engines first (core * 5 + engine), then queues.
struct TimelineEvent {
  uint32_t lane = 0;
  uint32_t index = 0;        // instruction index in its stream (queues: of the issuing instruction)
  uint32_t after = kNoEvent; // the event whose end, or whose place before it, decided when this one started
  Engine engine = Engine::Sync;
  uint8_t core = 0;
  Wait wait = Wait::None;
  double start = 0, end = 0; // ns
  double alone = 0;          // transfers: ns that it takes if nothing else moves
  int64_t bytes = 0;         // transfers
};

struct LaneUse {
  std::string name; // "core 0 vector", "core 0 queue q0"
  double busy = 0;  // ns
  uint64_t instructions = 0;
  uint64_t bytes = 0; // queues
};

struct Stall {
  int core = 0;
  Engine engine = Engine::Sync;
  uint32_t index = 0; // the instruction that waited
  double start = 0;   // of the first time
  double length = 0;  // all times together
  uint64_t count = 1; // how often (loops)
  std::string reason; // "semaphore loaded", "queue q0 full", "port: SBUF shared with gpsimd", "fetch"
};

struct TimingResult {
  double total = 0;  // ns, from the first instruction to the last completion
  double launch = 0; // ns the runtime needs before and after, not part of the total
  uint64_t instructions = 0;
  std::vector<LaneUse> lanes;
  std::vector<Stall> longestStalls; // at most 20, longest first
  uint64_t hbmBytesRead = 0, hbmBytesWritten = 0;
  // Share of the total that changes with parameters of each origin: documented, derived, assumed (0..1 each, sum 1).
  double documented = 0, derived = 0, assumed = 0;
  std::vector<std::string> assumedParameters; // those that took part
  std::vector<TimelineEvent> timeline;
  uint32_t last = kNoEvent; // the event at whose completion the program is over
};

// Throws Error TIME-DATA if a trip count or branch depends on data and no inputs are given, SYNC-DEADLOCK,
// BARRIER-PAIR or SENDRECV-PAIR if engines wait for ever.
TimingResult simulateTime(const Program &p, const TimingOptions &options = {});

} // namespace glia
