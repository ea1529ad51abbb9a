// Where the time of a predicted run went: along the critical path, by line of the source, by operation and by kernel.
// All of it needs a result with its timeline (TimingOptions::timeline).
#pragma once
#include "glia/Program/Program.h"
#include "glia/Sim/Timing.h"

#include <array>
#include <string>
#include <vector>

namespace glia {

// One event of the critical path: from its start on, until the next one starts, the program waits for it.
struct PathStep {
  uint32_t event = 0; // in TimingResult::timeline
  double work = 0;    // ns that it was at work
  double latency = 0; // ns behind it, until the next one starts: completion, semaphores, starting a transfer
};
// In the order of time. Its steps add up to the total, but for what passes before the first of them starts.
std::vector<PathStep> criticalPath(const TimingResult &r);

enum class Grouping : uint8_t { Line, Operation, Kernel };

struct PlaceUse {
  std::string name; // "attention.py:24", "dot.3", "attention"
  std::string file; // Line only, with the number
  uint32_t line = 0;
  std::string text; // Line only: what stood there, where the program knows it; its file may have changed since
  std::array<double, kNumEngines> busy = {}; // ns by engine, all cores together
  double transfers = 0;                      // ns that queues were at work
  int64_t bytes = 0;                         // moved by them
  uint64_t instructions = 0;                 // executed
  double critical = 0;                       // ns of the critical path
};
// The most critical first; what has no such origin is called "".
std::vector<PlaceUse> timeUse(const Program &p, const TimingResult &r, const std::vector<PathStep> &path, Grouping by);

// "attention.py:24", or what else is known of where an instruction came from.
std::string placeOf(const Program &p, const InstrPlace &x);
// The text of that line, with single spaces and none around it; empty if there is no such file.
std::string sourceLine(const std::string &file, uint32_t line);

// The instruction behind an event.
inline InstrPlace instructionOf(const TimelineEvent &e) { return {e.core, e.engine, e.index}; }
inline const Instr &instr(const Program &p, const InstrPlace &x) { return p.stream(x.core, x.engine).instrs[x.index]; }

} // namespace glia
