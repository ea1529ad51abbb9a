// What nearly every instruction asks of semaphores: inline, in the event loop of the timing simulator.
#pragma once
#include "TimingMachine.h"

namespace glia::timing {

inline bool Machine::waits(EngineRun &e, uint32_t s, const Op &op, const CostEntry &c) {
  for (; e.waitAt < op.numWaits; ++e.waitAt) {
    const SyncOp &w = e.syncs[op.sync + e.waitAt];
    SemaphoreRun &sem = semaphores[w.semaphore];
    if (!(sem.inOrder ? passesInOrder(e, s, sem, w, c.setup != 0) : passes(e, s, sem, w)))
      return false;
    e.waitsPassed = std::max(e.waitsPassed, sem.changed);
    if (w.kind == SyncKind::WaitGeConsume)
      sem.value -= w.value;
  }
  e.waitAt = 0;
  e.waitsDone = true;
  return true;
}

// One wait, at the engine's clock or, where the semaphore does not suffice by then, at the update that does it. Whether or not that
// moment has come does not matter, except to an instruction that `needsChange`, the last update before the engine's clock.
inline bool Machine::passesInOrder(EngineRun &e, uint32_t s, SemaphoreRun &sem, const SyncOp &w, bool needsChange) {
  for (; !sem.coming.empty(); sem.coming.pop()) {
    const Coming &x = sem.coming.front();
    const Ps time = EventQueue::timeOf(x.time);
    if (time >= e.clock && sem.value >= w.value)
      break;
    sem.value += x.value;
    sem.changed = time;
    if (time >= e.clock && sem.value >= w.value) {
      if (time > e.clock)
        note(e, Wait::Semaphore, w.semaphore, x.by, e.clock, time - e.clock);
      e.blocked = Wait::None;
      e.clock = time;
      e.path = x.path;
      sem.coming.pop();
      return true;
    }
  }
  if (sem.value >= w.value) {
    e.blocked = Wait::None;
    return !needsChange || e.clock <= now || reach(s, e.clock);
  }
  block(e, s, sem, w);
  return false;
}

inline void Machine::block(EngineRun &e, uint32_t s, SemaphoreRun &sem, const SyncOp &w) {
  sem.waiters |= static_cast<uint8_t>(1u << (s % kNumEngines));
  sem.awaited = w.value;
  if (e.blocked == Wait::Semaphore)
    return; // since before
  e.blocked = Wait::Semaphore;
  e.blockedSince = e.clock;
}

// Writes an update down before its time; false if it has to be an event.
inline bool Machine::announce(const Update &u, uint32_t lane) {
  for (uint32_t i = 0; i < u.count; ++i)
    if (!semaphores[u.ops[i].semaphore].lone)
      return false;
  for (uint32_t i = 0; i < u.count; ++i)
    add(u.ops[i], u, lane);
  return true;
}

inline void Machine::add(const SyncOp &op, const Update &u, uint32_t lane) {
  SemaphoreRun &sem = semaphores[op.semaphore];
  if (!sem.inOrder)
    return addOutOfOrder(sem, {EventQueue::pack(u.time, lane), op.value, u.by, u.path});
  if (sem.waiters && sem.value + op.value < sem.awaited) { // has seen all others
    sem.value += op.value;
    sem.changed = u.time;
    return;
  }
  Coming &x = sem.coming.add();
  x.time = EventQueue::pack(u.time, lane);
  x.value = op.value;
  x.by = u.by;
  x.path = u.path;
  if (sem.waiters) {
    sem.waiters = 0;
    ahead.push_back(static_cast<uint32_t>(sem.waiter));
  }
}

} // namespace glia::timing
