// Inside the timing simulator: a program lowered to durations. Every instruction gets an index into a table of costs, one entry
// per opcode and operand shape, so that replaying an instruction costs no decoding. docs/timing.md describes the model.
#pragma once
#include "glia/ISA/Cost.h"
#include "glia/Program/Decode.h"
#include "glia/Program/Program.h"

#include <string>
#include <vector>

namespace glia::timing {

using Ps = int64_t;                             // picoseconds: integer time, so that order never depends on rounding
inline constexpr Ps kNever = (Ps{1} << 51) - 1; // 2251 s; a key of the event queue keeps 12 bits for the lane

Ps toPs(double ns); // throws Error TIME-LONG for what no program can mean

// Documented and derived. Written and read as one, since a read of both would wait for two narrower writes.
using ByOrigin = double __attribute__((vector_size(16), aligned(8)));

// How a duration divides among parameters by origin; the rest up to 1 is assumed. `assumed` has a bit per assumed parameter.
struct Share {
  ByOrigin parts = {1, 0};
  uint64_t assumed = 0;
};

// The chain of causes that ends at some moment, as picoseconds by origin. What is left up to the moment's time is assumed.
// `event` is the last event of the timeline in that chain.
struct Path {
  ByOrigin parts = {0, 0};
  uint64_t assumed = 0;
  uint32_t event = UINT32_MAX;
  Path() = default;
  Path(ByOrigin parts, uint64_t assumed) : parts(parts), assumed(assumed) {}
  // Member by member, for the reason above: left to itself the compiler copies in pieces that do not fit what was written.
  Path(const Path &o) : parts(o.parts), assumed(o.assumed), event(o.event) {}
  Path &operator=(const Path &o) {
    parts = o.parts;
    assumed = o.assumed;
    event = o.event;
    return *this;
  }
  void add(const Path &step) {
    parts += step.parts;
    assumed |= step.assumed;
  }
  void add(Ps t, const Share &s) { add(stepOf(t, s)); }
  static Path stepOf(Ps t, const Share &s) { return {static_cast<double>(t) * s.parts, s.assumed}; }
};

struct Param { // one fixed duration of the target
  Ps time = 0;
  Share share;
  Path step; // of `time`
  void set(Ps t) {
    time = t;
    step = Path::stepOf(t, share);
  }
};

// What a transfer asks of the DMA engines when it is alone.
struct Transfer {
  Ps work = 0; // per engine that takes part
  int engines = 1;
  int64_t bytes = 0, hbmRead = 0, hbmWritten = 0;
  double hbmPerPs = 0;      // bytes asked of HBM
  uint8_t dge = 0;          // index into dgeNames(): none, swdge, hwdge
  std::vector<double> asks; // of a collective: what it shares with others (asksOf); empty: a transfer of the DMA engines
  Share share;
};
// `target` may be a changed copy of the program's target (that is how shares are found).
Transfer transferOf(const Program &p, const Decoded &d, const Target &target);

struct CostEntry {
  Ps busy = 0, latency = 0, setup = 0, reload = 0;
  Path busyStep, latencyStep; // of `busy` and `latency`
  Ps issue = 0;               // with a tile: until the next one may start on other parts of the array
  uint16_t tile = 0;          // parts of the Tensor engine's array; 0: all
  Ps lead = 0;
  Ps work = 0; // latency - lead: from the first to the last element
  Share busyShare, latencyShare;
  bool streamsOut = false, streamsIn = false; // elements leave (are taken) in order, one after the other
  Transfer transfer;                          // DMA and sendrecv
};

// A rectangle of SBUF or PSUM. With registers in its address (`pattern` set) it is relative to them.
struct Box {
  int32_t lo = 0, hi = 0; // bytes in the partition
  uint8_t firstPartition = 0, lastPartition = 0;
  Space space = Space::Sbuf;
  uint32_t pattern = UINT32_MAX; // the pattern whose dynamic terms are to be added
};
inline constexpr int kMaxSources = 4;
struct Footprint {
  Box written[2], read[kMaxSources];
  uint8_t numWritten = 0, numRead = 0;
  uint16_t ports = 0; // memory ports shared with another engine, see Lowering::portsOf
};

enum class Kind : uint8_t { Compute, Register, Load, Loop, While, EndLoop, Branch, Dma, Exchange, Barrier };

struct Op { // one instruction, ready to replay
  uint32_t cost = 0;
  uint32_t extra = 0; // Compute: footprint + 1; Register...Branch: RegisterOp; Dma: queue;
                      // Exchange: pipe; Barrier: name
  uint32_t sync = 0;
  uint8_t numWaits = 0, numUpdates = 0;
  Kind kind = Kind::Compute;
  bool shares = false; // something that others use too: must be looked at in the order of time
};
static_assert(sizeof(Op) == 16);

struct RegisterOp {
  const InstrDef *def = nullptr;
  uint32_t index = 0; // in the stream
  std::vector<Value> values;
};

// Who waits for a semaphore and who updates it: engines (core * 5 + engine), or one of the others.
struct SemaphoreUse {
  enum : int32_t { kNobody = -1, kSeveral = -2, kTransfers = -3, kExchange = -4 };
  int32_t waiter = kNobody, updater = kNobody;
  bool onlyAdds = true;
  static int32_t join(int32_t a, int32_t b) { return a == b || a == kNobody ? b : kSeveral; }
};

struct Lowered {
  std::vector<std::vector<Op>> streams; // [core * 5 + engine]
  std::vector<SemaphoreUse> semaphores;
  std::vector<std::vector<uint8_t>> queues; // by stream and queue: whether it hands transfers to it
  std::vector<CostEntry> costs;
  std::vector<Footprint> footprints;
  std::vector<RegisterOp> registerOps;
  std::vector<std::string> assumedNames; // bit i of a mask is the i-th of these
};

Lowered lower(const Program &p);
Param param(const Target &t, const Lowered &l, std::string_view key); // a duration in ns

} // namespace glia::timing
