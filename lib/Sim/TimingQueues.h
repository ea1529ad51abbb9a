// How every DMA instruction gives its transfer to a queue: inline, in the event loop of the timing simulator.
#pragma once
#include "TimingMachine.h"

namespace glia::timing {

enum { kNoDge, kSwdge, kHwdge };

// What a transfer is, all but when it is ready.
inline void fillIn(Pending &x, const EngineRun &e, const Op &op, const CostEntry &c, const Path &path) {
  x.transfer = &c.transfer;
  x.ops = e.syncs + op.sync + op.numWaits;
  x.count = op.numUpdates;
  x.index = e.pc;
  x.engine = e.engine;
  x.path = path;
}

// Gives a transfer to its queue. False if the queue is full: the engine tries again when there is room.
inline bool Machine::handOver(EngineRun &e, uint32_t s, const Op &op, const CostEntry &c, Ps start, const Path &path) {
  QueueRun &q = queues[op.extra];
  if (q.transfers.size() >= queueDepth) {
    q.blockedEngines |= static_cast<uint8_t>(1u << (s % kNumEngines));
    e.blocked = Wait::Queue;
    e.blockedSince = e.clock;
    return false;
  }
  Pending &x = q.transfers.add();
  fillIn(x, e, op, c, path);
  Ps handed = start;
  if (c.transfer.dge == kHwdge) { // the block makes one set of descriptors after the other
    if (e.dgeFree > start) {
      handed = e.dgeFree;
      x.path = e.dgePath;
    }
    e.dgeFree = handed + hwdgeInterval.time;
    e.dgePath = x.path;
    e.dgePath.add(hwdgeInterval.step);
  }
  const Param &delay = c.transfer.dge == kSwdge && swdgeBusy.time > dmaStart.time ? swdgeBusy : dmaStart;
  x.ready = handed + delay.time;
  x.path.add(delay.step);
  if (!q.active && q.transfers.size() == 1)
    arm(op.extra);
  return true;
}

// Sets the start of the first transfer of a queue that is neither active nor armed.
inline void Machine::arm(uint32_t i) {
  QueueRun &q = queues[i];
  if (!q.transfers.empty())
    events.add(queueLane(i), std::max({q.transfers.front().ready, q.notBefore, now}));
}

} // namespace glia::timing
