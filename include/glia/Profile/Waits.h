// What engines waited for in a predicted run, and what the run would gain without that.
#pragma once
#include "glia/Profile/TimeUse.h"

namespace glia {

enum class WaitKind : uint8_t {
  Data,      // for what another instruction makes
  Reuse,     // for others to be done with memory that it writes
  Order,     // for an instruction with which it shares nothing
  Queue,     // for room in a DMA queue, or for transfers before the one it needs
  Bandwidth, // for a transfer that others slow down
  Port,      // for a memory port that another engine uses
  Latency,   // for news of something that is over already
  Meeting,   // for the other core
  Fetch,     // for its instructions
};
std::string_view name(WaitKind k); // "data", "buffer reuse" ...

// All waits of one line on one engine for another line, of one kind.
struct WaitUse {
  WaitKind kind = WaitKind::Data;
  std::string tile;                     // Data, Reuse: what both use
  InstrPlace at, by;                    // the longest: who waited, and for whom
  bool known = false;                   // `by` is
  double length = 0;                    // ns, all times together
  double critical = 0;                  // of them on the critical path
  uint64_t count = 0;                   // how often
  double gain = 0;                      // ns that the run would take less if these waits were no waits
  int copies = 0;                       // Reuse: places for the tile with which it would not wait, about; 0: not known
  std::vector<InstrPlace> instructions; // that waited
};

// The waits that cost most first: those on the critical path are timed again without each (the `most` longest of them).
std::vector<WaitUse> waitUse(const Program &p, const TimingResult &r, const std::vector<PathStep> &path,
                             const TimingOptions &options, size_t most = 20);

// "vector, attention.py:24 waits for data: `s` of attention.py:20 (tensor)"
std::string describe(const Program &p, const WaitUse &w);

} // namespace glia
