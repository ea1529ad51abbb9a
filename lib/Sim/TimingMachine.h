// The machine that replays a lowered program: engines, queues, semaphores and ports as lanes of an event queue.
#pragma once
#include "TimingEvents.h"
#include "TimingModel.h"

#include "glia/ISA/Exec.h"
#include "glia/Sim/Timing.h"

#include <array>
#include <map>
#include <memory>
#include <span>

// In the loop over all instructions: calls would cost a fifth of the time.
#define GLIA_HOT [[gnu::always_inline]]

namespace glia::timing {

struct Update { // semaphore operations that take effect at `time`
  Ps time = 0;
  const SyncOp *ops = nullptr;
  uint32_t count = 0;
  uint32_t by = 0; // lane of the result: engine, or engines + queue
  Path path;
};

struct InFlight { // a compute instruction whose result is not there yet
  Ps start = 0, done = 0;
  const CostEntry *cost = nullptr;
  uint8_t numWritten = 0;
  Box written[2];
  Path path; // to its start
};

struct TileRun { // a product on a tile of the Tensor engine's array that may go on while others run
  uint16_t parts = 0;
  Ps end = 0;
  uint8_t numWritten = 0;
  Box written[2];
  Path path; // to its end
};

struct StallSum {
  Ps total, first;
  uint32_t count;
  Wait cause;
  uint8_t pad;
  uint16_t what; // semaphore, queue, port
  uint32_t by;   // lane that ended it
};

struct EngineRun {
  const Op *code = nullptr;
  const SyncOp *syncs = nullptr;
  uint32_t pc = 0, size = 0;
  int core = 0;
  Engine engine = Engine::Sync;
  Ps clock = 0; // when the next instruction may start
  Ps previousStart = 0;
  Ps lastDone = 0; // completion is in order
  Path lastDonePath;
  Path path;                           // to `clock`
  uint32_t waitAt = 0;                 // waits of the current instruction already passed
  bool waitsDone = false, met = false; // all of them; the barrier it stands at
  Ps waitsPassed = 0;                  // when the last of them became true
  Wait blocked = Wait::None;
  Wait waited = Wait::None; // what the current instruction waited for last
  bool scheduled = false;   // its lane has a time
  Ps blockedSince = 0;
  Fifo<Update> updates;
  std::array<InFlight, 4> inFlight;
  uint32_t nextInFlight = 0;
  Ps inFlightUntil = 0; // nothing is in flight after this
  // Fetch: instructions [windowLo, windowHi) are held.
  uint32_t windowLo = 0, windowHi = 0;
  Ps fetched = 0;
  // Registers and loops.
  EngineState state;
  uint64_t knownRegisters = 0;
  struct LoopFrame {
    uint32_t begin;
    int32_t count, i; // a while does not count
  };
  std::vector<LoopFrame> loops;
  // Totals.
  Ps busy = 0;
  uint64_t executed = 0;
  StallSum *stalls = nullptr;
  std::vector<bool> unheld; // TimingOptions::unheld; empty: none
  // Tensor: power ramp.
  Ps coldLeft = 0, utilisationFrom = 0, utilisationBusy = 0;
  // Tensor: products on tiles; all of them are over after `tilesUntil`.
  std::vector<TileRun> tiles;
  Ps tilesUntil = 0;
  // Hardware descriptor generation driven by this engine.
  Ps dgeFree = 0;
  Path dgePath;
};

struct Pending { // a transfer handed to a queue
  Ps ready = 0;  // earliest start of its data
  const Transfer *transfer = nullptr;
  const SyncOp *ops = nullptr;
  uint32_t count = 0;
  uint32_t index = 0; // issuing instruction
  Engine engine = Engine::Sync;
  Path path; // to `ready`
};

struct QueueRun {
  int core = 0;
  Fifo<Pending> transfers; // the first is active, or the next
  bool active = false;
  Ps started = 0;
  uint32_t event = kNoEvent; // of the active transfer
  Ps notBefore = 0;          // spacing after the previous start
  Path notBeforePath;
  uint8_t blockedEngines = 0; // engines that wait for room
  Ps busy = 0;
  uint64_t finished = 0;
  int64_t bytes = 0;
  int32_t user = -1;   // the engine that hands transfers to it
  bool shared = false; // several do
  // If one engine alone uses the queue and there is room, there will be room when the engine comes to it: no need to wait for that.
  bool takesAlready(size_t depth) const { return !shared && transfers.size() < depth; }
};

// The transfers of a core share its DMA engines and HBM: all slow down by one factor, so one virtual clock orders their ends.
struct DmaRun {
  double virtualNow = 0, slow = 1, speed = 1; // slow >= 1, speed its inverse
  Ps at = 0;
  int64_t engines = 0; // demand of the active transfers
  double hbmBytesPerPs = 0;
  struct Active {
    double time = 0;
    uint32_t queue = 0;
    static constexpr double kFirst = -1, kLast = 1e300;
  };
  Sorted<Active> active; // by their ends on the virtual clock
  Fifo<Update> done;
  void advance(Ps now) {
    virtualNow += static_cast<double>(now - at) * speed;
    at = now;
  }
};

// Collectives that go on at the same time share the engines that drive them, HBM and links: they slow down alike by what is asked for most.
struct LinkRun {
  DmaRun clock;              // without demands
  std::vector<double> asked; // of the active ones, added up
};

struct Coming {      // an addition to a semaphore that is known to happen
  uint64_t time = 0; // key of the event queue
  int32_t value = 0;
  uint32_t by = 0;
  Path path;
};

// Where one engine alone waits and all updates add, nobody else can tell when an update takes effect: it is written down as soon as
// it is known, and the engine is woken at the moment at which the sum suffices. Other semaphores change by events.
// If moreover all updates come from one engine, or all from transfers, then they become known in the order in which they take effect:
// a sum that suffices will not suffice any earlier, so the engine that waits goes on at once, ahead of time.
struct SemaphoreRun {
  int64_t value = 0;
  Ps changed = 0;
  uint8_t waiters = 0; // engines of its core
  bool lone = false;   // as above
  bool inOrder = false;
  int32_t waiter = -1; // the engine that waits for it somewhere
  int64_t awaited = 0; // by the engine that waits now, if lone
  Fifo<Coming> coming; // if lone
};

struct Meeting {
  Fifo<Pending> arrived[2];
}; // sendrecv or barrier: the n-th of one core meets the n-th of the other

class Machine {
public:
  Machine(const Program &p, const TimingOptions &options);
  TimingResult run();

private:
  const Program &p;
  const Target &t;
  const TimingOptions &options;
  Lowered low;
  std::vector<EngineRun> engines; // core * 5 + engine
  std::vector<QueueRun> queues;
  std::vector<SemaphoreRun> semaphores;
  std::vector<DmaRun> dmas; // per core
  LinkRun links;
  std::vector<std::array<Ps, 16>> portFree; // per core
  std::vector<std::array<uint8_t, 16>> portOwner;
  std::map<uint32_t, Meeting> pipes, barriers; // per pair of cores, by pipe or name
  EventQueue events;
  std::vector<uint32_t> ahead; // engines that can go on at once, whatever happens until their clocks
  Ps now = 0, end = 0;
  Path endPath;
  uint64_t stepsLeft = 0;
  int64_t hbmRead = 0, hbmWritten = 0;
  std::vector<std::unique_ptr<StallSum[], void (*)(void *)>> stallMemory;
  std::vector<TimelineEvent> timeline;
  Exec exec;                                // for register arithmetic
  std::vector<std::vector<int32_t>> loaded; // values of register loads, from a run with data; per engine
  std::vector<size_t> loadedAt;
  bool haveLoaded = false;

  Param semaphoreLatency, dmaStart, dmaCompletion, queueSpacing, hwdgeInterval, swdgeBusy, barrierLatency, exchangeLatency,
      fetchMiss, fetchEach;
  uint32_t window = 1;
  Ps windowTime = 0; // to fetch all of it
  size_t queueDepth = 1;
  Ps rampTime = 0;
  double rampRate = 1;
  Share rampShare;
  double hbmPerPs = 1;     // of a pair of cores
  double perDmaEngine = 1; // 1 / number of DMA engines
  struct Slowness {
    double slow, speed; // its inverse
  };
  std::vector<Slowness> slowness; // by engines asked for: no division in the common case
  Slowness slownessOf(int64_t asked) const {
    if (static_cast<size_t>(asked) < slowness.size())
      return slowness[static_cast<size_t>(asked)];
    const double slow = std::max(1.0, static_cast<double>(asked) * perDmaEngine);
    return {slow, 1 / slow};
  }

  // Lanes of the event queue.
  uint32_t numEngines = 0, firstDmaLane = 0;
  uint32_t issueLane(uint32_t engine) const { return engine; }
  uint32_t updateLane(uint32_t engine) const { return numEngines + engine; }
  uint32_t queueLane(uint32_t q) const { return 2 * numEngines + q; }
  uint32_t dmaLane(int core) const { return firstDmaLane + 2 * static_cast<uint32_t>(core); }
  uint32_t doneLane(int core) const { return dmaLane(core) + 1; }
  uint32_t linkLane() const { return dmaLane(static_cast<int>(p.cores)); }
  GLIA_HOT void dispatch(uint32_t lane);

  // Timing.cpp: engines
  void issue(uint32_t s);
  bool reach(uint32_t s, Ps at);
  void schedule(uint32_t s, Ps at);
  void note(EngineRun &e, Wait c, uint32_t what, uint32_t by, Ps from, Ps length);
  GLIA_HOT Ps startOf(EngineRun &e, const Op &op, const CostEntry &c, Path &path);
  Ps afterOthers(EngineRun &e, const Footprint &f, const CostEntry &c, Ps start, Path &path);
  bool ignoreWaits(EngineRun &e, const Op &op);
  Ps afterTiles(EngineRun &e, const Op &op, const CostEntry &c, Ps start, Path &path);
  void takeTile(EngineRun &e, const Op &op, const CostEntry &c, Ps start, Ps busy, const Path &path);
  void ramp(EngineRun &e, Ps start, Ps &busy, Ps &latency);
  Box resolve(const EngineRun &e, Box b) const;
  void fly(EngineRun &e, const Footprint &f, const CostEntry &c, Ps start, Ps done, const Path &path);
  GLIA_HOT void complete(EngineRun &e, uint32_t s, const Op &op, const CostEntry &c, Ps start, Ps latency, const Path &path);
  void finishAt(Ps time, const Path &path) {
    if (time > end)
      end = time, endPath = path;
  }

  uint32_t written() const { return static_cast<uint32_t>(timeline.size()); } // the number of the next event

  // TimingSemaphores.h and .cpp
  void prepareSemaphores();
  GLIA_HOT bool waits(EngineRun &e, uint32_t s, const Op &op, const CostEntry &c);
  GLIA_HOT bool passesInOrder(EngineRun &e, uint32_t s, SemaphoreRun &sem, const SyncOp &w, bool needsChange);
  bool passes(EngineRun &e, uint32_t s, SemaphoreRun &sem, const SyncOp &w);
  bool crosses(EngineRun &e, SemaphoreRun &sem, const SyncOp &w);
  GLIA_HOT void block(EngineRun &e, uint32_t s, SemaphoreRun &sem, const SyncOp &w);
  void unblock(EngineRun &e, uint32_t s, Ps at, const Path &path, uint32_t what, uint32_t by);
  void absorb(SemaphoreRun &sem) const;
  Ps whenEnough(SemaphoreRun &sem, int64_t value) const;
  GLIA_HOT bool announce(const Update &u, uint32_t lane);
  GLIA_HOT void add(const SyncOp &op, const Update &u, uint32_t lane);
  void addOutOfOrder(SemaphoreRun &sem, const Coming &x);
  void apply(const Update &u, int core, uint32_t lane);

  // TimingQueues.h and .cpp: transfers and meetings
  void prepareQueues();
  GLIA_HOT bool handOver(EngineRun &e, uint32_t s, const Op &op, const CostEntry &c, Ps start, const Path &path);
  void exchange(EngineRun &e, uint32_t s, const Op &op, const CostEntry &c, Ps start, const Path &path);
  void barrier(EngineRun &e, uint32_t s, const Op &op, Ps start, const Path &path);
  GLIA_HOT void arm(uint32_t q);
  void startTransfer(uint32_t q);
  GLIA_HOT void begin(uint32_t q);
  void endTransfer(int core);
  void endCollective();
  GLIA_HOT void finish(uint32_t q);
  void askLinks(const Transfer &x, int sign);
  void shareLinks();
  GLIA_HOT void share(int core);
  GLIA_HOT void slowDown(DmaRun &d, int core, Slowness engines, double hbm);
  void pushDone(int core, const Update &u);

  // TimingControl.cpp: registers, loops, branches; returns the next instruction
  uint32_t control(EngineRun &e, const Op &op);
  void registerOp(EngineRun &e, const RegisterOp &r);
  void load(EngineRun &e, const RegisterOp &r);
  bool readStatic(const RegisterOp &r, int32_t &value) const;
  int32_t valueOf(const EngineRun &e, const RegisterOp &r, int slot, const char *use) const;
  void prepareData();

  // TimingResult.cpp
  [[noreturn]] void deadlock() const;
  TimingResult result() const;
  std::string laneName(uint32_t lane) const;
  std::string reason(const StallSum &x) const;
};

inline void Machine::note(EngineRun &e, Wait c, uint32_t what, uint32_t by, Ps from, Ps length) {
  e.waited = c;
  if (!e.stalls)
    return;
  StallSum &x = e.stalls[e.pc];
  if (!x.count++)
    x.first = from;
  x.total += length;
  x.cause = c;
  x.what = static_cast<uint16_t>(what);
  x.by = by;
}

} // namespace glia::timing
