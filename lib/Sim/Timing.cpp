// The event loop of the timing simulator, and the engines: waits, starts, dependencies, completion.
#include "TimingMachine.h"

#include "glia/Support/Diagnostic.h"

#include <cstdlib>

namespace glia {

TimingResult simulateTime(const Program &p, const TimingOptions &options) { return timing::Machine(p, options).run(); }

namespace timing {

static uint32_t laneCount(const Program &p) {
  return p.cores * (2 * kNumEngines + 2) + static_cast<uint32_t>(p.queues.size());
}

static uint32_t checkedLanes(const Program &p) {
  if (laneCount(p) > 1u << EventTree::kLaneBits)
    throw Error("TIME-SIZE",
                format("%u cores and %zu queues are more than the timing simulator takes", p.cores, p.queues.size()));
  return laneCount(p);
}

Machine::Machine(const Program &p, const TimingOptions &options)
    : p(p), t(*p.target), options(options), low(lower(p)), events(checkedLanes(p)), exec(t) {
  semaphoreLatency = param(t, low, "cost.semaphore_latency");
  dmaCompletion = param(t, low, "dma.completion_latency");
  dmaStart = param(t, low, "dma.fixed_latency");
  dmaStart.time = std::max<Ps>(dmaStart.time - dmaCompletion.time, 0);
  queueSpacing = param(t, low, "dma.queue_spacing");
  hwdgeInterval = param(t, low, "dma.hwdge_interval");
  swdgeBusy = param(t, low, "dma.swdge_busy");
  barrierLatency = param(t, low, "cost.barrier_latency");
  exchangeLatency = param(t, low, "cost.exchange_latency");
  fetchMiss = param(t, low, "fetch.miss_latency");
  fetchEach = param(t, low, "fetch.bytes_per_ns");
  fetchEach.time = toPs(t.number("fetch.instruction_bytes") / std::max(t.number("fetch.bytes_per_ns"), 1e-6));
  window = static_cast<uint32_t>(std::clamp(t.number("fetch.window"), 1.0, 1e6));
  queueDepth = static_cast<size_t>(std::clamp(t.number("dma.queue_depth"), 1.0, 1e6));
  const Param rampParam = param(t, low, "cost.tensor_ramp_time");
  rampTime = rampParam.time;
  rampShare = rampParam.share;
  rampRate = std::clamp(t.number("cost.tensor_ramp_rate"), 0.01, 1.0);
  hbmPerPs = std::max(t.number("hbm.bytes_per_ns"), 1e-3) / 1000;

  perDmaEngine = 1.0 / std::max(t.dmaEngines, 1);
  for (int i = 0; i <= 512; ++i)
    speeds.push_back(1 / std::max(1.0, i * perDmaEngine));

  engines.resize(p.cores * kNumEngines);
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
    events.set(issueLane(s), e.size ? 0 : kNever);
  }
  queues.resize(p.queues.size());
  for (size_t q = 0; q < queues.size(); ++q)
    queues[q].core = p.queues[q].core;
  semaphores.resize(p.semaphores.size());
  for (size_t i = 0; i < semaphores.size(); ++i)
    semaphores[i].value = p.semaphores[i].initial;
  dmas.resize(p.cores);
  portFree.resize(p.cores);
  portOwner.resize(p.cores);
}

TimingResult Machine::run() {
  prepareData();
  while (events.time() < kNever) {
    now = events.time();
    dispatch(events.lane());
  }
  for (const EngineRun &e : engines)
    if (e.pc < e.size)
      deadlock();
  for (const auto &[pipe, m] : pipes)
    if (!m.arrived[0].empty() || !m.arrived[1].empty())
      deadlock();
  return result();
}

void Machine::dispatch(uint32_t lane) {
  const uint32_t n = static_cast<uint32_t>(engines.size());
  if (lane < n)
    return issue(lane);
  if (lane < 2 * n) {
    EngineRun &e = engines[lane - n];
    apply(e.updates.front(), e.core);
    e.updates.pop();
    return events.set(lane, e.updates.empty() ? kNever : e.updates.front().time);
  }
  if (lane < 2 * n + queues.size())
    return startTransfer(lane - 2 * n);
  const int core = static_cast<int>(lane - 2 * n - queues.size()) / 2;
  if (lane == dmaLane(core))
    return endTransfer(core);
  Fifo<Update> &done = dmas[core].done;
  finishAt(done.front().time, done.front().path);
  apply(done.front(), core);
  done.pop();
  events.set(lane, done.empty() ? kNever : done.front().time);
}

// ---- engines ---------------------------------------------------------------------------------------------------------------

void Machine::issue(uint32_t s) {
  EngineRun &e = engines[s];
  for (;;) {
    if (e.pc >= e.size) {
      events.set(issueLane(s), kNever);
      return finishAt(e.clock, e.path);
    }
    const Op &op = e.code[e.pc];
    if (op.global) { // everything that happens before must have happened
      if (e.clock != now) {
        events.set(issueLane(s), e.clock);
        if (e.clock > events.time())
          return;
        now = e.clock;
      }
      if (!e.waitsDone && !waits(e, s, op))
        return events.set(issueLane(s), kNever);
    }
    const CostEntry &c = low.costs[op.cost];
    Path path = e.path;
    Ps start = startOf(e, op, c, path), busy = c.busy, latency = c.latency;
    uint32_t next = e.pc + 1;
    switch (op.kind) {
    case Kind::Compute:
      if (e.engine == Engine::Tensor && rampTime)
        ramp(e, start, busy, latency);
      break;
    case Kind::Dma:
      if (!handOver(e, s, op, c, start, path))
        return events.set(issueLane(s), kNever);
      if (c.transfer.dge == 1)
        busy = std::max(busy, swdgeBusy.time);
      break;
    case Kind::Exchange: exchange(e, s, op, c, start, path); break;
    case Kind::Barrier:
      if (!e.met) {
        events.set(issueLane(s), kNever);
        return barrier(e, s, op, start, path);
      }
      e.met = false;
      break;
    default: next = control(e, op);
    }
    if (++steps > options.maxSteps)
      throw Error("TIME-STEPS", format("stopped after %llu instructions", (unsigned long long)options.maxSteps));
    if (start + latency >= kNever / 2)
      throw Error("TIME-LONG", "the program runs for more than 1000 s", "Check trip counts and backward branches.");
    ++e.executed;
    e.busy += busy;
    if (options.timeline)
      timeline.push_back({s, e.pc, e.engine, static_cast<uint8_t>(e.core), static_cast<double>(start) / 1000,
                          static_cast<double>(start + busy) / 1000});
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
    e.clock = start + busy;
    path.add(busy, c.busyShare);
    e.path = path;
    e.pc = next;
    e.waitsDone = false;
    e.waitsPassed = 0;
  }
}

bool Machine::waits(EngineRun &e, uint32_t s, const Op &op) {
  for (; e.waitAt < op.numWaits; ++e.waitAt) {
    const SyncOp &w = e.syncs[op.sync + e.waitAt];
    SemaphoreRun &sem = semaphores[w.semaphore];
    if (sem.value < w.value) {
      sem.waiters |= static_cast<uint8_t>(1u << (s % kNumEngines));
      e.blocked = Cause::Semaphore;
      e.blockedSince = e.clock;
      return false;
    }
    e.waitsPassed = std::max(e.waitsPassed, sem.changed);
    if (w.kind == SyncKind::WaitGeConsume)
      sem.value -= w.value;
  }
  e.waitAt = 0;
  e.waitsDone = true;
  return true;
}

void Machine::unblock(EngineRun &e, uint32_t s, Ps at, const Path &path, uint32_t what, uint32_t by) {
  if (at > e.blockedSince)
    note(e, e.blocked, what, by, e.blockedSince, at - e.blockedSince);
  e.blocked = Cause::None;
  if (at >= e.clock) {
    e.clock = at;
    e.path = path;
  }
  events.set(issueLane(s), e.clock);
}

void Machine::note(EngineRun &e, Cause c, uint32_t what, uint32_t by, Ps from, Ps length) {
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

// When the instruction can start, given that the engine is free and its waits have passed; `path` becomes the path to that moment.
Ps Machine::startOf(EngineRun &e, const Op &op, const CostEntry &c, Path &path) {
  Ps start = e.clock;
  // Fetch.
  if (e.pc < e.windowLo || e.pc >= e.windowHi) {
    if (e.pc == e.windowHi) {
      e.fetched = std::max(e.fetched + fetchEach.time, e.clock - fetchEach.time * window);
    } else {
      e.windowLo = e.pc;
      e.fetched = e.clock + fetchMiss.time;
    }
    e.windowHi = e.pc + 1;
    if (e.windowHi - e.windowLo > window)
      e.windowLo = e.windowHi - window;
    if (e.fetched > start) {
      note(e, Cause::Fetch, 0, 0, start, e.fetched - start);
      path.add(e.fetched - start, fetchMiss.share);
      start = e.fetched;
    }
  }
  // What the engine prepares while it is busy with the previous instruction.
  if (c.setup) {
    const Ps prepared = std::max(e.previousStart, e.waitsPassed) + c.setup;
    if (prepared > start) {
      path.add(prepared - start, c.latencyShare);
      start = prepared;
    }
  }
  if (!op.extra || op.kind != Kind::Compute)
    return start;
  const Footprint &f = low.footprints[op.extra - 1];
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
              note(e, Cause::Result, 0, 0, start, ready - start);
              path = x.path;
              path.add(ready - semaphoreLatency.time - x.start, x.cost->latencyShare);
              path.add(semaphoreLatency.time, semaphoreLatency.share);
              start = ready;
            }
          }
      }
    }
  for (uint32_t ports = f.ports; ports; ports &= ports - 1) {
    const int k = __builtin_ctz(ports);
    if (portOwner[e.core][k] != static_cast<uint8_t>(e.engine) && portFree[e.core][k] > start) {
      note(e, Cause::Port, static_cast<uint32_t>(k), static_cast<uint32_t>(e.core * kNumEngines + portOwner[e.core][k]),
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
    e.coldLeft -= slow;
    busy += more;
    latency += more;
  }
  e.utilisationBusy += busy;
}

void Machine::complete(EngineRun &e, uint32_t s, const Op &op, const CostEntry &c, Ps start, Ps latency, Path path) {
  if (start + latency >= e.lastDone) {
    path.add(latency, c.latencyShare);
    e.lastDone = start + latency;
    e.lastDonePath = path;
  }
  finishAt(e.lastDone, e.lastDonePath);
  if (!op.numUpdates || op.kind == Kind::Dma || op.kind == Kind::Exchange)
    return;
  const Ps time = e.lastDone + semaphoreLatency.time;
  if (e.updates.empty())
    events.set(updateLane(s), time);
  Update &u = e.updates.add();
  u = {time, e.syncs + op.sync + op.numWaits, op.numUpdates, s, e.lastDonePath};
  u.path.add(semaphoreLatency.time, semaphoreLatency.share);
}

void Machine::apply(const Update &u, int core) {
  for (uint32_t i = 0; i < u.count; ++i) {
    const SyncOp &op = u.ops[i];
    SemaphoreRun &sem = semaphores[op.semaphore];
    sem.value = op.kind == SyncKind::Write ? op.value
                : op.kind == SyncKind::Sub ? sem.value - op.value
                                           : sem.value + op.value;
    sem.changed = u.time;
    for (uint32_t w = sem.waiters; w; w &= w - 1) {
      const uint32_t bit = static_cast<uint32_t>(__builtin_ctz(w)), s = static_cast<uint32_t>(core) * kNumEngines + bit;
      EngineRun &e = engines[s];
      if (sem.value >= e.syncs[e.code[e.pc].sync + e.waitAt].value) {
        sem.waiters &= static_cast<uint8_t>(~(1u << bit));
        unblock(e, s, u.time, u.path, op.semaphore, u.by);
      }
    }
  }
}

} // namespace timing
} // namespace glia
