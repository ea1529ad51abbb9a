// The event loop of the timing simulator, and the engines: waits, starts, dependencies, completion.
#include "TimingQueues.h"
#include "TimingSemaphores.h"

#include "glia/ISA/Collective.h"
#include "glia/Sim/Steps.h"
#include "glia/Support/Diagnostic.h"

#include <cstdlib>

namespace glia {

TimingResult simulateTime(const Program &p, const TimingOptions &options) { return timing::Machine(p, options).run(); }

namespace timing {

static void checkLanes(const Program &p) {
  if (p.cores * (2 * kNumEngines + 2) + p.queues.size() + 1 > size_t{1} << EventQueue::kLaneBits)
    throw Error("TIME-SIZE",
                format("%u cores and %zu queues are more than the timing simulator takes", p.cores, p.queues.size()));
}

// Whether it has collectives, whose ends are a lane more.
static bool exchanges(const Program &p) {
  return std::any_of(p.opcodes.begin(), p.opcodes.end(), [](const InstrDef *d) { return isCollective(*d); });
}

Machine::Machine(const Program &p, const TimingOptions &options)
    : p(p), t(*p.target), options(options), low(lower(p)), events(p.cores + exchanges(p)), exec(t) {
  checkLanes(p);
  semaphoreLatency = param(t, low, "cost.semaphore_latency");
  dmaCompletion = param(t, low, "dma.completion_latency");
  dmaStart = param(t, low, "dma.fixed_latency");
  dmaStart.set(std::max<Ps>(dmaStart.time - dmaCompletion.time, 0));
  queueSpacing = param(t, low, "dma.queue_spacing");
  hwdgeInterval = param(t, low, "dma.hwdge_interval");
  swdgeBusy = param(t, low, "dma.swdge_busy");
  barrierLatency = param(t, low, "cost.barrier_latency");
  exchangeLatency = param(t, low, "cost.exchange_latency");
  fetchMiss = param(t, low, "fetch.miss_latency");
  fetchEach = param(t, low, "fetch.bytes_per_ns");
  fetchEach.set(toPs(t.number("fetch.instruction_bytes") / std::max(t.number("fetch.bytes_per_ns"), 1e-6)));
  window = static_cast<uint32_t>(std::clamp(t.number("fetch.window"), 1.0, 1e6));
  windowTime = fetchEach.time * window;
  stepsLeft = options.maxSteps;
  queueDepth = static_cast<size_t>(std::clamp(t.number("dma.queue_depth"), 1.0, 1e6));
  const Param rampParam = param(t, low, "cost.tensor_ramp_time");
  rampTime = rampParam.time;
  rampShare = rampParam.share;
  rampRate = std::clamp(t.number("cost.tensor_ramp_rate"), 0.01, 1.0);
  hbmPerPs = std::max(t.number("hbm.bytes_per_ns"), 1e-3) / 1000;

  perDmaEngine = 1.0 / std::max(t.dmaEngines, 1);
  for (int i = 0; i <= 512; ++i) {
    const double slow = std::max(1.0, i * perDmaEngine);
    slowness.push_back({slow, 1 / slow});
  }

  numEngines = p.cores * kNumEngines;
  firstDmaLane = 2 * numEngines + static_cast<uint32_t>(p.queues.size());
  engines.resize(numEngines);
  loaded.resize(engines.size());
  loadedAt.resize(engines.size());
  for (uint32_t s = 0; s < engines.size(); ++s) {
    EngineRun &e = engines[s];
    e.core = static_cast<int>(s / kNumEngines);
    e.engine = static_cast<Engine>(s % kNumEngines);
    e.code = low.streams[s].data();
    e.size = static_cast<uint32_t>(low.streams[s].size());
    e.syncs = p.stream(e.core, e.engine).syncs.data();
    e.coldLeft = e.engine == Engine::Tensor ? rampTime : 0;
    e.knownRegisters = ~uint64_t{0};
    e.fetched = -fetchEach.time; // the first instruction is there when the program starts
    if (options.stalls && e.size) {
      auto *memory = static_cast<StallSum *>(std::calloc(e.size, sizeof(StallSum))); // zero pages: only stalls cost memory
      if (!memory)
        throw std::bad_alloc();
      stallMemory.emplace_back(memory, std::free);
      e.stalls = memory;
    }
    if (e.size)
      schedule(s, 0);
  }
  for (const InstrPlace &x : options.unheld) {
    EngineRun &e = engines.at(static_cast<size_t>(x.core * kNumEngines + static_cast<int>(x.engine)));
    e.unheld.resize(e.size);
    e.unheld.at(x.index) = true;
  }
  prepareSemaphores();
  prepareQueues();
  dmas.resize(p.cores);
  portFree.resize(p.cores);
  portOwner.resize(p.cores);
}

inline void Machine::dispatch(uint32_t lane) {
  if (lane < numEngines) {
    engines[lane].scheduled = false;
    return issue(lane);
  }
  if (lane < 2 * numEngines) {
    EngineRun &e = engines[lane - numEngines];
    apply(e.updates.front(), e.core, lane);
    e.updates.pop();
    if (!e.updates.empty())
      events.add(lane, e.updates.front().time);
    return;
  }
  if (lane < firstDmaLane)
    return startTransfer(lane - 2 * numEngines);
  const int core = static_cast<int>(lane - firstDmaLane) / 2;
  if (lane == linkLane())
    return endCollective();
  if (lane == dmaLane(core))
    return endTransfer(core);
  Fifo<Update> &done = dmas[core].done;
  finishAt(done.front().time, done.front().path);
  apply(done.front(), core, lane);
  done.pop();
  if (!done.empty())
    events.add(lane, done.front().time);
}

TimingResult Machine::run() {
  prepareData();
  for (;;) {
    while (!ahead.empty()) {
      const uint32_t s = ahead.back();
      ahead.pop_back();
      issue(s);
    }
    if (events.empty())
      break;
    dispatch(events.take(now));
  }
  for (const EngineRun &e : engines)
    if (e.pc < e.size)
      deadlock();
  for (const auto &[pipe, m] : pipes)
    if (!m.arrived[0].empty() || !m.arrived[1].empty())
      deadlock();
  return result();
}

// ---- engines ---------------------------------------------------------------------------------------------------------------

// Goes on to a moment, unless something happens before: then the engine is looked at again when it has come.
bool Machine::reach(uint32_t s, Ps at) {
  if (!ahead.empty() || events.anyBefore(issueLane(s), at)) {
    schedule(s, at);
    return false;
  }
  now = at;
  return true;
}

void Machine::schedule(uint32_t s, Ps at) {
  if (engines[s].scheduled)
    events.remove(issueLane(s));
  engines[s].scheduled = true;
  events.add(issueLane(s), at);
}

// When the instruction can start, given that the engine is free and its waits have passed; `path` becomes the path to that moment.
inline Ps Machine::startOf(EngineRun &e, const Op &op, const CostEntry &c, Path &path) {
  Ps start = e.clock;
  // Fetch.
  if (e.pc < e.windowLo || e.pc >= e.windowHi) {
    if (e.pc == e.windowHi) {
      e.fetched = std::max(e.fetched + fetchEach.time, e.clock - windowTime);
    } else {
      e.windowLo = e.pc;
      e.fetched = e.clock + fetchMiss.time;
    }
    e.windowHi = e.pc + 1;
    if (e.windowHi - e.windowLo > window)
      e.windowLo = e.windowHi - window;
    if (e.fetched > start) {
      note(e, Wait::Fetch, 0, 0, start, e.fetched - start);
      path.add(e.fetched - start, fetchMiss.share);
      start = e.fetched;
    }
  }
  // What the engine prepares while it is busy with the previous instruction.
  if (c.setup) {
    const Ps prepared = std::max(e.previousStart + c.reload, e.waitsPassed + c.setup);
    if (prepared > start) {
      path.add(prepared - start, c.latencyShare);
      start = prepared;
    }
  }
  if (e.tilesUntil > start && op.kind == Kind::Compute)
    start = afterTiles(e, op, c, start, path);
  return op.extra && op.kind == Kind::Compute ? afterOthers(e, low.footprints[op.extra - 1], c, start, path) : start;
}

inline void Machine::complete(EngineRun &e, uint32_t s, const Op &op, const CostEntry &c, Ps start, Ps latency,
                              const Path &path) {
  if (start + latency >= e.lastDone) {
    e.lastDone = start + latency;
    e.lastDonePath = path;
    if (latency == c.latency)
      e.lastDonePath.add(c.latencyStep);
    else
      e.lastDonePath.add(latency, c.latencyShare);
  }
  finishAt(e.lastDone, e.lastDonePath);
  if (!op.numUpdates || op.kind == Kind::Dma || op.kind == Kind::Exchange)
    return;
  Update u = {e.lastDone + semaphoreLatency.time, e.syncs + op.sync + op.numWaits, op.numUpdates, s, e.lastDonePath};
  u.path.add(semaphoreLatency.step);
  if (announce(u, updateLane(s)))
    return;
  if (e.updates.empty())
    events.add(updateLane(s), u.time);
  e.updates.push(u);
}

// What it would wait for is taken when it comes.
bool Machine::ignoreWaits(EngineRun &e, const Op &op) {
  for (uint32_t i = 0; i < op.numWaits; ++i)
    if (const SyncOp &w = e.syncs[op.sync + i]; w.kind == SyncKind::WaitGeConsume)
      semaphores[w.semaphore].value -= w.value;
  e.waitsDone = true;
  return true;
}

void Machine::issue(uint32_t s) {
  EngineRun &e = engines[s];
  for (;;) {
    if (e.pc >= e.size)
      return finishAt(e.clock, e.path);
    const Op &op = e.code[e.pc];
    const CostEntry &c = low.costs[op.cost];
    const bool held = e.unheld.empty() || !e.unheld[e.pc];
    if (op.numWaits && !e.waitsDone && !(held ? waits(e, s, op, c) : ignoreWaits(e, op)))
      return;
    if (op.shares && e.clock > now && !(op.kind == Kind::Dma && queues[op.extra].takesAlready(queueDepth)) &&
        !reach(s, e.clock)) // everything that happens before must have happened
      return;
    Path path = e.path;
    Ps start = held ? startOf(e, op, c, path) : e.clock, busy = c.busy, latency = c.latency;
    uint32_t next = e.pc + 1;
    const uint32_t after = path.event;
    if (options.timeline && op.kind != Kind::Barrier)
      path.event = written();
    switch (op.kind) {
    case Kind::Compute:
      if (e.engine == Engine::Tensor && rampTime)
        ramp(e, start, busy, latency);
      break;
    case Kind::Dma:
      if (!handOver(e, s, op, c, start, path))
        return;
      if (c.transfer.dge == 1)
        busy = std::max(busy, swdgeBusy.time);
      break;
    case Kind::Exchange: exchange(e, s, op, c, start, path); break;
    case Kind::Barrier:
      if (!e.met)
        return barrier(e, s, op, start, path);
      e.met = false;
      break;
    default: next = control(e, op);
    }
    if (stepsLeft % kStepsPerQuestion == 0 && options.stop && options.stop())
      throw Interrupted();
    if (stepsLeft-- == 0)
      throw Error("SIM-STEPS",
                  format("the run has taken %llu steps, which is its limit", (unsigned long long)options.maxSteps),
                  std::string(kStepsAdvice));
    if (start + latency >= kNever / 2)
      throw Error("TIME-LONG", "the program runs for more than 1000 s", "Check trip counts and backward branches.");
    ++e.executed;
    e.busy += busy - std::clamp<Ps>(e.tilesUntil - start, 0, busy); // what tiles do at the same time counts once
    if (options.timeline) {
      path.event = written();
      timeline.push_back({s, e.pc, after, e.engine, static_cast<uint8_t>(e.core), e.waited,
                          static_cast<double>(start) / 1000, static_cast<double>(start + busy) / 1000});
      e.waited = Wait::None;
    }
    if (op.extra && op.kind == Kind::Compute) {
      const Footprint &f = low.footprints[op.extra - 1];
      if (f.numWritten)
        fly(e, f, c, start, start + latency, path);
      for (uint32_t ports = f.ports; ports; ports &= ports - 1) {
        const int k = __builtin_ctz(ports);
        portFree[e.core][k] = start + busy;
        portOwner[e.core][k] = static_cast<uint8_t>(e.engine);
      }
    }
    complete(e, s, op, c, start, latency, path);
    e.previousStart = start;
    if (c.tile) {
      takeTile(e, op, c, start, busy, path);
      busy = c.issue;
    }
    e.clock = start + busy;
    e.path = path;
    if (busy == c.busy)
      e.path.add(c.busyStep);
    else
      e.path.add(busy, c.busyShare);
    e.pc = next;
    e.waitsDone = false;
    e.waitsPassed = 0;
  }
}

static bool overlap(const Box &a, const Box &b) {
  return a.space == b.space && a.lo < b.hi && b.lo < a.hi && a.firstPartition <= b.lastPartition &&
         b.firstPartition <= a.lastPartition;
}

static bool same(const Box &a, const Box &b) { return a.lo == b.lo && a.hi == b.hi && a.firstPartition == b.firstPartition; }

Box Machine::resolve(const EngineRun &e, Box b) const {
  if (b.pattern == UINT32_MAX)
    return b;
  const Pattern &pattern = p.patterns[b.pattern];
  for (int i = 0; i < pattern.numDynamic; ++i) {
    const DynamicTerm &d = pattern.dynamic[i];
    const int64_t shift = std::clamp<int64_t>(
        e.state.regs[d.reg % e.state.regs.size()] * std::clamp<int64_t>(d.scale, -(1 << 24), 1 << 24), -(1 << 29), 1 << 29);
    if (d.partition) {
      b.firstPartition = static_cast<uint8_t>(std::clamp<int64_t>(b.firstPartition + shift, 0, 255));
      b.lastPartition = static_cast<uint8_t>(std::clamp<int64_t>(b.lastPartition + shift, 0, 255));
    } else {
      b.lo = static_cast<int32_t>(std::clamp<int64_t>(b.lo + shift, INT32_MIN, INT32_MAX));
      b.hi = static_cast<int32_t>(std::clamp<int64_t>(b.hi + shift, INT32_MIN, INT32_MAX));
    }
  }
  return b;
}

void Machine::fly(EngineRun &e, const Footprint &f, const CostEntry &c, Ps start, Ps done, const Path &path) {
  InFlight &x = e.inFlight[e.nextInFlight++ % e.inFlight.size()];
  x.start = start;
  x.done = done;
  x.cost = &c;
  x.numWritten = f.numWritten;
  for (int i = 0; i < f.numWritten; ++i)
    x.written[i] = resolve(e, f.written[i]);
  x.path = path;
  e.inFlightUntil = std::max(e.inFlightUntil, done + semaphoreLatency.time);
}

// When the parts of the array that a product takes are free, and tiles that write to the same place of PSUM are done with it.
Ps Machine::afterTiles(EngineRun &e, const Op &op, const CostEntry &c, Ps start, Path &path) {
  for (const TileRun &x : e.tiles) {
    bool waits = !c.tile || c.tile & x.parts;
    const Footprint *f = op.extra ? &low.footprints[op.extra - 1] : nullptr;
    for (int i = 0; f && !waits && i < f->numWritten; ++i)
      for (int j = 0; j < x.numWritten; ++j)
        waits |= overlap(resolve(e, f->written[i]), x.written[j]);
    if (waits && x.end > start) {
      start = x.end;
      path = x.path;
    }
  }
  return start;
}

void Machine::takeTile(EngineRun &e, const Op &op, const CostEntry &c, Ps start, Ps busy, const Path &path) {
  std::erase_if(e.tiles, [&](const TileRun &x) { return x.end <= start; });
  TileRun x;
  x.parts = c.tile;
  x.end = start + busy;
  x.path = path;
  x.path.add(busy, c.busyShare);
  if (op.extra) {
    const Footprint &f = low.footprints[op.extra - 1];
    x.numWritten = f.numWritten;
    for (int i = 0; i < f.numWritten; ++i)
      x.written[i] = resolve(e, f.written[i]);
  }
  e.tiles.push_back(x);
  e.tilesUntil = std::max(e.tilesUntil, x.end);
}

// When the operands of an instruction are there and the ports it needs are free.
Ps Machine::afterOthers(EngineRun &e, const Footprint &f, const CostEntry &c, Ps start, Path &path) {
  // Results of this engine that are still on their way: the first element suffices if both walk the same elements in order.
  if (start < e.inFlightUntil)
    for (int r = 0; r < f.numRead; ++r) {
      const Box b = resolve(e, f.read[r]);
      for (const InFlight &x : e.inFlight) {
        if (x.done + semaphoreLatency.time <= start)
          continue;
        for (int w = 0; w < x.numWritten; ++w)
          if (overlap(b, x.written[w])) {
            Ps ready = x.done;
            if (x.cost->streamsOut && c.streamsIn && same(b, x.written[w]))
              ready = x.start + std::max(x.cost->lead, x.done - x.start - c.work);
            ready += semaphoreLatency.time;
            if (ready > start) {
              note(e, Wait::Result, 0, 0, start, ready - start);
              path = x.path;
              path.add(ready - semaphoreLatency.time - x.start, x.cost->latencyShare);
              path.add(semaphoreLatency.step);
              start = ready;
            }
          }
      }
    }
  for (uint32_t ports = f.ports; ports; ports &= ports - 1) {
    const int k = __builtin_ctz(ports);
    if (portOwner[e.core][k] != static_cast<uint8_t>(e.engine) && portFree[e.core][k] > start) {
      note(e, Wait::Port, static_cast<uint32_t>(k), static_cast<uint32_t>(e.core * kNumEngines + portOwner[e.core][k]),
           start, portFree[e.core][k] - start);
      path.add(portFree[e.core][k] - start, c.busyShare);
      start = portFree[e.core][k];
    }
  }
  return start;
}

// The Tensor engine starts slowly, and again whenever it was busy less than half of the time over a stretch of the ramp's length.
void Machine::ramp(EngineRun &e, Ps start, Ps &busy, Ps &latency) {
  const Ps stretch = start - e.utilisationFrom;
  if (stretch >= rampTime) {
    if (2 * e.utilisationBusy < stretch)
      e.coldLeft = rampTime;
    e.utilisationFrom = start;
    e.utilisationBusy = 0;
  }
  if (e.coldLeft > 0) {
    const Ps slow = std::min(e.coldLeft, static_cast<Ps>(static_cast<double>(busy) / rampRate));
    const Ps more = slow - static_cast<Ps>(static_cast<double>(slow) * rampRate);
    e.coldLeft -= slow - std::clamp<Ps>(e.tilesUntil - start, 0, slow);
    busy += more;
    latency += more;
  }
  e.utilisationBusy += busy - std::clamp<Ps>(e.tilesUntil - start, 0, busy);
}

} // namespace timing
} // namespace glia
