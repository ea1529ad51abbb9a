// DMA queues, the bandwidth their transfers share, and the meetings of two cores.
#include "TimingMachine.h"

namespace glia::timing {

enum { kNoDge, kSwdge, kHwdge };

void Machine::prepareQueues() {
  queues.resize(p.queues.size());
  for (size_t q = 0; q < queues.size(); ++q)
    queues[q].core = p.queues[q].core;
  for (uint32_t s = 0; s < engines.size(); ++s)
    for (uint32_t i = 0; i < low.queues[s].size(); ++i)
      if (low.queues[s][i]) {
        queues[i].shared = queues[i].user >= 0;
        queues[i].user = static_cast<int32_t>(s);
      }
}

// Gives a transfer to its queue. False if the queue is full: the engine tries again when there is room.
bool Machine::handOver(EngineRun &e, uint32_t s, const Op &op, const CostEntry &c, Ps start, const Path &path) {
  QueueRun &q = queues[op.extra];
  if (q.transfers.size() >= queueDepth) {
    q.blockedEngines |= static_cast<uint8_t>(1u << (s % kNumEngines));
    e.blocked = Cause::Queue;
    e.blockedSince = e.clock;
    return false;
  }
  Pending &x = q.transfers.add();
  x.transfer = &c.transfer;
  x.ops = e.syncs + op.sync + op.numWaits;
  x.count = op.numUpdates;
  x.index = e.pc;
  x.engine = e.engine;
  x.path = path;
  Ps handed = start;
  if (c.transfer.dge == kHwdge) { // the block makes one set of descriptors after the other
    if (e.dgeFree > start) {
      handed = e.dgeFree;
      x.path = e.dgePath;
    }
    e.dgeFree = handed + hwdgeInterval.time;
    e.dgePath = x.path;
    e.dgePath.add(hwdgeInterval.time, hwdgeInterval.share);
  }
  const Param &delay = c.transfer.dge == kSwdge && swdgeBusy.time > dmaStart.time ? swdgeBusy : dmaStart;
  x.ready = handed + delay.time;
  x.path.add(delay.time, delay.share);
  if (!q.active && q.transfers.size() == 1)
    arm(op.extra);
  return true;
}

// Sets the start of the first transfer of a queue that is neither active nor armed.
void Machine::arm(uint32_t i) {
  QueueRun &q = queues[i];
  if (!q.transfers.empty())
    events.add(queueLane(i), std::max({q.transfers.front().ready, q.notBefore, now}));
}

void Machine::startTransfer(uint32_t i) {
  begin(i);
  share(queues[i].core);
}

// The first waiting transfer of a queue becomes active; the caller shares the bandwidth anew.
void Machine::begin(uint32_t i) {
  QueueRun &q = queues[i];
  Pending &current = q.transfers.front();
  if (q.notBefore > current.ready)
    current.path = q.notBeforePath;
  q.active = true;
  q.started = now;
  const Transfer &x = *current.transfer;
  if (x.dge == kNoDge) {
    q.notBefore = now + queueSpacing.time;
    q.notBeforePath = current.path;
    q.notBeforePath.add(queueSpacing.time, queueSpacing.share);
  }
  DmaRun &d = dmas[q.core];
  d.virtualNow += static_cast<double>(now - d.at) * d.speed;
  d.at = now;
  d.active.insert({d.virtualNow + static_cast<double>(x.work), i});
  d.engines += x.engines;
  d.hbmBytesPerPs += x.hbmPerPs;
}

void Machine::endTransfer(int core) {
  DmaRun &d = dmas[core];
  const uint32_t i = d.active.front().queue;
  d.active.pop();
  QueueRun &q = queues[i];
  const Pending &current = q.transfers.front();
  const Transfer &x = *current.transfer;
  d.engines -= x.engines;
  d.hbmBytesPerPs -= x.hbmPerPs;
  if (d.active.empty())
    d.hbmBytesPerPs = 0; // no rounding left over

  Path path = current.path;
  path.add(now - q.started, x.share);
  if (now >= q.notBefore) {
    q.notBefore = now;
    q.notBeforePath = path;
  }
  q.active = false;
  q.busy += now - q.started;
  ++q.finished;
  q.bytes += x.bytes;
  hbmRead += x.hbmRead;
  hbmWritten += x.hbmWritten;
  if (options.timeline)
    timeline.push_back({numEngines + i, current.index, current.engine, static_cast<uint8_t>(core),
                        static_cast<double>(q.started) / 1000, static_cast<double>(now) / 1000});
  path.add(dmaCompletion.time, dmaCompletion.share);
  const Update done = {now + dmaCompletion.time, current.ops, current.count, numEngines + i, path};
  if (announce(done, doneLane(core)))
    finishAt(done.time, path);
  else
    pushDone(core, done);
  q.transfers.pop();

  const uint8_t blocked = q.blockedEngines;
  q.blockedEngines = 0;
  for (uint32_t w = blocked; w; w &= w - 1) {
    const uint32_t s = static_cast<uint32_t>(core * kNumEngines + __builtin_ctz(w));
    unblock(engines[s], s, now, path, i, 0);
  }
  if (!q.transfers.empty() && q.transfers.front().ready <= now && q.notBefore <= now)
    begin(i);
  else
    arm(i);
  share(core);
}

// The active transfers of a core slow down alike: by the engines they share, and by the HBM that the pair of cores shares.
void Machine::share(int core) {
  DmaRun &d = dmas[core];
  const uint32_t other = static_cast<uint32_t>(core) ^ 1;
  const bool pair = other < dmas.size();
  const double speed = engineSpeed(d.engines), demand = d.hbmBytesPerPs * speed;
  const double both = pair ? demand + dmas[other].hbmBytesPerPs * engineSpeed(dmas[other].engines) : demand;
  const double hbm = both > hbmPerPs ? both / hbmPerPs : 1;
  slowDown(d, core, hbm);
  if (pair && slowBy(dmas[other], hbm) != dmas[other].slow) // else the other core goes on as it was
    slowDown(dmas[other], static_cast<int>(other), hbm);
}

double Machine::slowBy(const DmaRun &d, double hbm) const {
  return std::max(1.0, static_cast<double>(d.engines) * perDmaEngine) * hbm;
}

void Machine::slowDown(DmaRun &d, int core, double hbm) {
  if (d.at != now) {
    d.virtualNow += static_cast<double>(now - d.at) * d.speed;
    d.at = now;
  }
  d.slow = slowBy(d, hbm);
  d.speed = hbm == 1 ? engineSpeed(d.engines) : 1 / d.slow;
  if (d.active.empty())
    return events.setEnd(static_cast<size_t>(core), dmaLane(core), kNever);
  const double left = std::max(d.active.front().time - d.virtualNow, 0.0);
  events.setEnd(static_cast<size_t>(core), dmaLane(core), now + static_cast<Ps>(left * d.slow + 0.5));
}

void Machine::pushDone(int core, const Update &u) {
  Fifo<Update> &done = dmas[core].done;
  done.insert(u);
  events.move(doneLane(core), done.front().time);
}

// ---- two cores -------------------------------------------------------------------------------------------------------------

void Machine::exchange(EngineRun &e, uint32_t, const Op &op, const CostEntry &c, Ps start, const Path &path) {
  Meeting &m = pipes[op.extra << 8 | static_cast<uint32_t>(e.core / 2)];
  Pending x;
  x.ready = start;
  x.transfer = &c.transfer;
  x.ops = e.syncs + op.sync + op.numWaits;
  x.count = op.numUpdates;
  x.index = e.pc;
  x.engine = e.engine;
  x.path = path;
  m.arrived[e.core & 1].push(x);
  if (m.arrived[0].empty() || m.arrived[1].empty())
    return;
  const Pending a[2] = {m.arrived[0].front(), m.arrived[1].front()};
  m.arrived[0].pop();
  m.arrived[1].pop();
  const Pending &later = a[a[1].ready > a[0].ready];
  const Ps work = std::max(a[0].transfer->work, a[1].transfer->work);
  Path done = later.path;
  done.add(exchangeLatency.time, exchangeLatency.share);
  done.add(work, later.transfer->share);
  for (int side = 0; side < 2; ++side) {
    const int core = (e.core & ~1) + side;
    pushDone(core, {later.ready + exchangeLatency.time + work, a[side].ops, a[side].count,
                    static_cast<uint32_t>(core * kNumEngines + static_cast<int>(a[side].engine)), done});
  }
}

void Machine::barrier(EngineRun &e, uint32_t s, const Op &op, Ps start, const Path &path) {
  Meeting &m = barriers[op.extra << 6 | static_cast<uint32_t>(e.core / 2)];
  e.blocked = Cause::Barrier;
  e.blockedSince = e.clock;
  Pending x;
  x.ready = start;
  x.index = s;
  x.path = path;
  m.arrived[e.core & 1].push(x);
  if (m.arrived[0].empty() || m.arrived[1].empty())
    return;
  const Pending a[2] = {m.arrived[0].front(), m.arrived[1].front()};
  m.arrived[0].pop();
  m.arrived[1].pop();
  const Pending &later = a[a[1].ready > a[0].ready];
  Path passed = later.path;
  passed.add(barrierLatency.time, barrierLatency.share);
  for (const Pending &side : a) {
    engines[side.index].met = true;
    unblock(engines[side.index], side.index, later.ready + barrierLatency.time, passed, 0, later.index);
  }
}

} // namespace glia::timing
