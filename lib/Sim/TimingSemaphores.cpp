// Semaphores of the timing simulator: who waits, until when, and what an update does.
#include "TimingSemaphores.h"

namespace glia::timing {

void Machine::prepareSemaphores() {
  semaphores.resize(p.semaphores.size());
  bool allLone = true;
  for (size_t i = 0; i < semaphores.size(); ++i) {
    SemaphoreRun &sem = semaphores[i];
    const SemaphoreUse &use = low.semaphores[i];
    sem.value = p.semaphores[i].initial;
    sem.lone = use.onlyAdds && use.waiter != SemaphoreUse::kSeveral;
    sem.inOrder = sem.lone && (use.updater >= 0 || use.updater == SemaphoreUse::kTransfers);
    sem.waiter = use.waiter;
    allLone &= sem.lone;
  }
  if (allLone)
    return;
  // What is updated together with a semaphore that is not lone changes by events: later than what is announced, and out of order.
  for (const EngineRun &e : engines)
    for (uint32_t i = 0; i < e.size; ++i) {
      const std::span<const SyncOp> updates{e.syncs + e.code[i].sync + e.code[i].numWaits, e.code[i].numUpdates};
      if (std::ranges::any_of(updates, [&](const SyncOp &op) { return !semaphores[op.semaphore].lone; }))
        for (const SyncOp &op : updates)
          semaphores[op.semaphore].inOrder = false;
    }
}

// One wait, at the engine's clock or, where that is still to come and the wait will not be over by then, at its end.
bool Machine::passes(EngineRun &e, uint32_t s, SemaphoreRun &sem, const SyncOp &w) {
  if (e.clock > now) {
    const Ps enough = sem.lone ? whenEnough(sem, w.value) : sem.value >= w.value ? 0 : kNever;
    if (enough > e.clock)
      block(e, s, sem, w);
    if (enough == kNever || !reach(s, std::max(enough, e.clock)))
      return false;
  }
  if (sem.lone ? crosses(e, sem, w) : sem.value >= w.value)
    return true;
  block(e, s, sem, w);
  if (sem.lone)
    if (const Ps enough = whenEnough(sem, w.value); enough < kNever)
      schedule(s, enough);
  return false;
}

// Whether a lone semaphore suffices now; if only since now, then the engine goes on from the update that did it.
bool Machine::crosses(EngineRun &e, SemaphoreRun &sem, const SyncOp &w) {
  absorb(sem);
  if (sem.value >= w.value) {
    sem.waiters = 0;
    e.blocked = Wait::None;
    return true;
  }
  while (!sem.coming.empty() && EventQueue::timeOf(sem.coming.front().time) == now) {
    const Coming &x = sem.coming.front();
    sem.value += x.value;
    sem.changed = now;
    if (sem.value >= w.value) {
      if (e.blocked == Wait::Semaphore && now > e.blockedSince)
        note(e, Wait::Semaphore, w.semaphore, x.by, e.blockedSince, now - e.blockedSince);
      e.blocked = Wait::None;
      e.clock = now;
      e.path = x.path;
      sem.waiters = 0;
      sem.coming.pop();
      return true;
    }
    sem.coming.pop();
  }
  return false;
}

void Machine::unblock(EngineRun &e, uint32_t s, Ps at, const Path &path, uint32_t what, uint32_t by) {
  if (at > e.blockedSince)
    note(e, e.blocked, what, by, e.blockedSince, at - e.blockedSince);
  e.blocked = Wait::None;
  if (at >= e.clock) {
    e.clock = at;
    e.path = path;
  }
  schedule(s, e.clock);
}

// What has happened is part of the value: nothing can be announced for the past.
void Machine::absorb(SemaphoreRun &sem) const {
  while (!sem.coming.empty() && EventQueue::timeOf(sem.coming.front().time) < now) {
    sem.value += sem.coming.front().value;
    sem.changed = EventQueue::timeOf(sem.coming.front().time);
    sem.coming.pop();
  }
}

// When a lone semaphore reaches a value, as far as is known; 0: it has.
Ps Machine::whenEnough(SemaphoreRun &sem, int64_t value) const {
  absorb(sem);
  int64_t sum = sem.value;
  if (sum >= value)
    return 0;
  for (size_t i = 0; i < sem.coming.size(); ++i)
    if (sum += sem.coming[i].value; sum >= value)
      return EventQueue::timeOf(sem.coming[i].time);
  return kNever;
}

void Machine::addOutOfOrder(SemaphoreRun &sem, const Coming &x) {
  sem.coming.insert(x);
  if (!sem.waiters)
    return;
  const uint32_t s = static_cast<uint32_t>(sem.waiter);
  if (const Ps enough = whenEnough(sem, sem.awaited); enough < kNever)
    schedule(s, std::max(enough, engines[s].clock));
}

void Machine::apply(const Update &u, int core, uint32_t lane) {
  for (uint32_t i = 0; i < u.count; ++i) {
    const SyncOp &op = u.ops[i];
    SemaphoreRun &sem = semaphores[op.semaphore];
    if (sem.lone) {
      add(op, u, lane);
      continue;
    }
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

} // namespace glia::timing
