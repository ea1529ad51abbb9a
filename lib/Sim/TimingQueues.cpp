// DMA queues, the bandwidth their transfers share, and the meetings of two cores.
#include "TimingQueues.h"
#include "TimingSemaphores.h"

namespace glia::timing {

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

// The first waiting transfer of a queue becomes active; the caller shares the bandwidth anew.
inline void Machine::begin(uint32_t i) {
  QueueRun &q = queues[i];
  Pending &current = q.transfers.front();
  if (q.notBefore > current.ready)
    current.path = q.notBeforePath;
  q.active = true;
  q.started = now;
  const Transfer &x = *current.transfer;
  if (options.timeline) {
    q.event = written();
    timeline.push_back({numEngines + i, current.index, current.path.event, current.engine, static_cast<uint8_t>(q.core),
                        q.notBefore > current.ready ? Wait::Queue : Wait::None, static_cast<double>(now) / 1000, 0,
                        static_cast<double>(x.work) / 1000, x.bytes});
    current.path.event = q.event;
  }
  if (x.dge == kNoDge) {
    q.notBefore = now + queueSpacing.time;
    q.notBeforePath = current.path;
    q.notBeforePath.add(queueSpacing.step);
  }
  DmaRun &d = x.asks.empty() ? dmas[q.core] : links.clock;
  d.advance(now);
  d.active.insert({d.virtualNow + static_cast<double>(x.work), i});
  if (!x.asks.empty()) [[unlikely]]
    return askLinks(x, 1);
  d.engines += x.engines;
  d.hbmBytesPerPs += x.hbmPerPs;
}

inline void Machine::slowDown(DmaRun &d, int core, Slowness engines, double hbm) {
  if (d.at != now)
    d.advance(now);
  d.slow = engines.slow * hbm;
  d.speed = hbm == 1 ? engines.speed : 1 / d.slow;
  if (d.active.empty())
    return events.setEnd(static_cast<size_t>(core), dmaLane(core), kNever);
  const double left = std::max(d.active.front().time - d.virtualNow, 0.0);
  events.setEnd(static_cast<size_t>(core), dmaLane(core), now + static_cast<Ps>(left * d.slow + 0.5));
}

// The active transfers of a core slow down alike: by the engines they share, and by the HBM that the pair of cores shares.
inline void Machine::share(int core) {
  DmaRun &d = dmas[core];
  const uint32_t other = static_cast<uint32_t>(core) ^ 1;
  const bool pair = other < dmas.size();
  const Slowness own = slownessOf(d.engines);
  const double demand = d.hbmBytesPerPs * own.speed;
  if (!pair)
    return slowDown(d, core, own, demand > hbmPerPs ? demand / hbmPerPs : 1);
  DmaRun &o = dmas[other];
  const Slowness others = slownessOf(o.engines);
  const double both = demand + o.hbmBytesPerPs * others.speed, hbm = both > hbmPerPs ? both / hbmPerPs : 1;
  slowDown(d, core, own, hbm);
  if (others.slow * hbm != o.slow) // else the other core goes on as it was
    slowDown(o, static_cast<int>(other), others, hbm);
}

void Machine::startTransfer(uint32_t i) {
  begin(i);
  share(queues[i].core);
}

// What the first transfer of a queue has been; the next one begins if it can.
inline void Machine::finish(uint32_t i) {
  QueueRun &q = queues[i];
  const int core = q.core;
  const Pending &current = q.transfers.front();
  const Transfer &x = *current.transfer;
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
    timeline[q.event].end = static_cast<double>(now) / 1000;
  path.add(dmaCompletion.step);
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
}

void Machine::endTransfer(int core) {
  DmaRun &d = dmas[core];
  const uint32_t i = d.active.front().queue;
  d.active.pop();
  const Transfer &x = *queues[i].transfers.front().transfer;
  d.engines -= x.engines;
  d.hbmBytesPerPs -= x.hbmPerPs;
  if (d.active.empty())
    d.hbmBytesPerPs = 0; // no rounding left over
  finish(i);
  share(core);
}

// ---- collectives -----------------------------------------------------------------------------------------------------------

// One more, or one less.
void Machine::askLinks(const Transfer &x, int sign) {
  links.asked.resize(std::max(links.asked.size(), x.asks.size()));
  for (size_t i = 0; i < x.asks.size(); ++i)
    links.asked[i] = links.clock.active.empty() ? 0 : links.asked[i] + sign * x.asks[i]; // no rounding left over
  shareLinks();
}

void Machine::shareLinks() {
  DmaRun &d = links.clock;
  d.advance(now);
  d.slow = 1;
  for (const double asked : links.asked)
    d.slow = std::max(d.slow, asked);
  d.speed = 1 / d.slow;
  const Ps end =
      d.active.empty() ? kNever : now + static_cast<Ps>(std::max(d.active.front().time - d.virtualNow, 0.0) * d.slow + 0.5);
  events.setEnd(p.cores, linkLane(), end);
}

void Machine::endCollective() {
  DmaRun &d = links.clock;
  d.advance(now);
  const uint32_t i = d.active.front().queue;
  d.active.pop();
  askLinks(*queues[i].transfers.front().transfer, -1);
  finish(i);
  share(queues[i].core); // if a transfer of another kind has begun
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
  fillIn(x, e, op, c, path);
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
  e.blocked = Wait::Barrier;
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
