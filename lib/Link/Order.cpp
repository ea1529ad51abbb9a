#include "Order.h"

#include <algorithm>
#include <tuple>

namespace glia::link {

static constexpr int kSync = static_cast<int>(Engine::Sync);

Order::Order(const Composition &c, const Layout &layout, const Program &program)
    : c(c), layout(layout), program(program), serialSbuf(!c.target->has("vector_gpsimd_concurrent")),
      serialPsum(!c.target->has("vector_scalar_psum_concurrent")), cores(c.cores) {
  for (Core &k : cores)
    for (int e = 0; e < kNumEngines; ++e)
      k.told[e] = k.toldCross[e] = k.touched[e][0] = k.touched[e][1] = -1;
}

uint32_t Order::tensorOf(uint32_t call, uint32_t object, int slot, uint32_t tensor, Layout &tensors) const {
  const uint32_t bound = c.calls[call].tensors[tensor];
  return bound != kUnbound ? bound : tensors.tensor(object, slot, tensor);
}

// Waits, on Sync, until all calls up to this one are over on this core.
void Order::waitFor(int core, int call, std::vector<SyncOp> &out) {
  Core &k = cores[core];
  if (call <= k.known)
    return;
  const OwnSemaphores &own = layout.own[core];
  auto wait = [&out](int semaphore, int value) {
    out.push_back({static_cast<uint16_t>(semaphore), SyncKind::WaitGeConsume, 0, value});
  };
  for (int e = 0; e < kNumEngines; ++e) {
    int marks = 0;
    for (; !k.marks[e].empty() && k.marks[e].front() <= call; k.marks[e].pop_front())
      ++marks;
    if (marks)
      wait(own.toSync[e], marks);
  }
  for (int slot = 0; slot < 2; ++slot)
    if (k.amount[slot] && k.completing[slot] <= call) {
      wait(own.completed[slot], k.amount[slot]);
      k.amount[slot] = 0;
    }
  k.known = call;
}

// Waits, on Sync, until all calls aside so far of a stream are over. Its transfers add to one semaphore: a wait proves something only of all that can have
// added to it (S5), so the next call aside of this stream is told to begin behind this.
void Order::waitForAside(int core, const PerStream &calls, std::vector<SyncOp> &out) {
  Core &k = cores[core];
  for (int s = 0; s < kStreams; ++s) {
    if (calls[s] <= k.asideKnown[s])
      continue;
    out.push_back({static_cast<uint16_t>(layout.own[core].exchanged[s]), SyncKind::WaitGeConsume, 0, k.asideAmount[s]});
    k.asideAmount[s] = 0;
    k.asideKnown[s] = k.aside[s];
  }
}

Order::Need Order::needOf(uint32_t tensor, const TensorUse &u, int core) const {
  Need out;
  if (tensor >= accesses.size())
    return out;
  for (int other = 0; other < static_cast<int>(cores.size()); ++other) {
    if (other != core && !program.tensors[tensor].shared)
      continue;
    const Access &a = accesses[tensor][other];
    int &level = other == core ? out.here : out.other;
    if (a.wrote >= 0 && (a.writes.meets(u.read) || a.writes.meets(u.write)))
      level = std::max(level, a.wrote);
    if (a.read >= 0 && a.reads.meets(u.write))
      level = std::max(level, a.read);
    if (a.writes.meets(u.read) || a.writes.meets(u.write))
      out.aside.add(a.asideWrote);
    if (a.reads.meets(u.write))
      out.aside.add(a.asideRead);
  }
  return out;
}

// M1 and M2: on some targets two engines do not use one memory at the same time, whatever they touch.
int Order::serialNeed(const Core &k, const ObjectFacts &f, int core, int engine) const {
  const EngineFacts &mine = f.engines[core][engine];
  constexpr int V = static_cast<int>(Engine::Vector), S = static_cast<int>(Engine::Scalar),
                G = static_cast<int>(Engine::GpSimd);
  int need = -1;
  if (serialSbuf && mine.sbuf && (engine == V || engine == G))
    need = std::max(need, k.touched[V + G - engine][0]);
  if (serialPsum && mine.psum && (engine == V || engine == S))
    need = std::max(need, k.touched[V + S - engine][1]);
  return need;
}

std::vector<CoreStart> Order::next(uint32_t call, uint32_t object, int slot, Layout &tensors) {
  const Object &o = c.objects[object];
  const int n = static_cast<int>(call), mine = static_cast<int>(o.program->cores);
  std::vector<CoreStart> out(cores.size());

  // What each engine needs because of tensors in HBM.
  std::vector<std::array<Need, kNumEngines>> need(mine);
  struct OnSync {
    uint32_t at = 0; // instruction of Sync
    int call = -1;
    PerStream aside;
    uint32_t tensor = 0; // of the object
  };
  std::vector<std::vector<OnSync>> onSync(mine);
  int cross = -1;
  PerStream asideCross; // calls aside, which are core 0's, that the other core has to hear of
  for (int core = 0; core < mine; ++core)
    for (const TensorUse &u : o.facts.uses[core]) {
      const Need x = needOf(tensorOf(call, object, slot, u.tensor, tensors), u, core);
      for (int e = 0; e < kNumEngines; ++e)
        if (u.engines >> e & 1 && e != kSync)
          need[core][e].add(x);
      if ((x.here >= 0 || x.aside.any()) && u.firstOnSync != UINT32_MAX)
        onSync[core].push_back({u.firstOnSync, x.here, x.aside, u.tensor});
      if (x.other > cores[core].cross)
        cross = std::max(cross, x.other);
      if (core > 0 && x.aside.isBeyond(cores[core].asideKnown))
        asideCross.add(x.aside);
    }
  if (cross >= 0 || asideCross.any()) {
    for (int core = 0; core < static_cast<int>(cores.size()); ++core) {
      waitFor(core, cross, out[core].barrier.emplace());
      out[core].barrierAfter = std::max({cross, asideCross[0], asideCross[1]});
    }
    waitForAside(0, asideCross, *out[0].barrier);
    cores[1].asideKnown = cores[0].asideKnown;
    cores[0].cross = cores[1].known;
    cores[1].cross = cores[0].known;
  }

  for (int core = 0; core < mine; ++core) {
    Core &k = cores[core];
    CoreStart &start = out[core];
    // The call that had this memory and these semaphores before.
    const int before = o.aside ? -1 : o.whole ? std::max(k.inSlot[0], k.inSlot[1]) : k.inSlot[slot];
    const int mostAside = c.target->semaphoreMax / 2;
    const bool full = o.aside && k.asideAmount[slot] + c.target->dmaEngines > mostAside;
    PerStream aside;
    if (o.facts.unknownLoops)
      aside = k.aside;
    if (full)
      aside[slot] = k.aside[slot];
    const auto &engines = o.facts.engines[core];
    std::vector<int> tell;
    int level = engines[kSync].size ? before : -1;
    for (int e = 0; e < kNumEngines; ++e) {
      if (e == kSync || !engines[e].size)
        continue;
      const int here = std::max({before, need[core][e].here, serialNeed(k, o.facts, core, e)});
      const bool behindWait = o.aside && k.asideKnown[slot] > k.toldAside[e][slot];
      if (here > k.told[e] || need[core][e].other > k.toldCross[e] || need[core][e].aside.isBeyond(k.toldAside[e]) ||
          behindWait || full) {
        tell.push_back(e);
        level = std::max(level, here);
        aside.add(need[core][e].aside);
      }
    }
    start.level = level;
    waitFor(core, level, start.waits);
    waitForAside(core, aside, start.waits);
    for (int e : tell) {
      start.signals.push_back({static_cast<uint16_t>(layout.own[core].fromSync[e]), SyncKind::Add, 0, 1});
      start.engineWaits[e].push_back({static_cast<uint16_t>(layout.own[core].fromSync[e]), SyncKind::WaitGeConsume, 0, 1});
      k.told[e] = k.known;
      k.toldCross[e] = k.cross;
      k.toldAside[e] = k.asideKnown;
    }
    std::sort(onSync[core].begin(), onSync[core].end(), [](const OnSync &a, const OnSync &b) {
      return std::tie(a.at, a.call, a.aside.call[0], a.aside.call[1], a.tensor) <
             std::tie(b.at, b.call, b.aside.call[0], b.aside.call[1], b.tensor);
    });
    const int atStart = k.known;
    const PerStream asideAtStart = k.asideKnown;
    for (const auto &[at, producer, exchange, tensor] : onSync[core]) {
      if (producer > atStart || exchange.isBeyond(asideAtStart))
        start.dependent.push_back(tensor);
      if (producer > k.known || exchange.isBeyond(k.asideKnown)) {
        std::vector<SyncOp> waits;
        waitFor(core, producer, waits);
        waitForAside(core, exchange, waits);
        if (!start.later.empty() && start.later.back().first == at)
          start.later.back().second.insert(start.later.back().second.end(), waits.begin(), waits.end());
        else if (!waits.empty())
          start.later.emplace_back(at, std::move(waits));
      }
    }

    // What it leaves.
    if (std::all_of(engines.begin(), engines.end(), [](const EngineFacts &e) { return !e.size; }))
      continue;
    int amount = 0; // of transfers, to be waited for
    for (int e = 0; e < kNumEngines; ++e) {
      if (!engines[e].size)
        continue;
      if (e != kSync)
        k.marks[e].push_back(n);
      amount += static_cast<int>(engines[e].completed.size() + engines[e].fences.size()) * c.target->dmaEngines;
      for (int s = 0; s < 2; ++s)
        if (s ? engines[e].psum : engines[e].sbuf)
          k.touched[e][s] = n;
    }
    if (o.aside) {
      k.aside[slot] = n;
      k.asideAmount[slot] += amount;
      continue;
    }
    k.completing[slot] = n;
    k.amount[slot] = amount;
    k.inSlot[slot] = n;
    if (o.whole)
      k.inSlot[1] = n;
  }
  for (int core = 0; core < mine; ++core)
    for (const TensorUse &u : o.facts.uses[core]) {
      const uint32_t t = tensorOf(call, object, slot, u.tensor, tensors);
      if (t >= accesses.size())
        accesses.resize(t + 1);
      Access &a = accesses[t][core];
      if (!u.write.empty()) {
        (o.aside ? a.asideWrote[slot] : a.wrote) = n;
        a.writes.add(u.write.lo, u.write.hi);
      }
      if (!u.read.empty()) {
        (o.aside ? a.asideRead[slot] : a.read) = n;
        a.reads.add(u.read.lo, u.read.hi);
      }
    }
  return out;
}

} // namespace glia::link
