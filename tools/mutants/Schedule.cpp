#include "Schedule.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>

namespace glia::mutants {

bool overlap(const Touch &a, const Touch &b) {
  if (a.space != b.space || (a.space == Space::Hbm && a.object != b.object) || a.core != b.core || a.last <= b.first ||
      b.last <= a.first)
    return false;
  for (size_t i = 0, j = 0; i < a.runs.size() && j < b.runs.size();) {
    if (a.runs[i].second <= b.runs[j].first)
      ++i;
    else if (b.runs[j].second <= a.runs[i].first)
      ++j;
    else
      return true;
  }
  return false;
}

static Touch touching(const Operand &o, bool write) {
  Touch t = o.touch;
  t.write = write;
  return t;
}

Op &Op::in(const char *slot, const Operand &o) {
  touches.push_back(touching(o, false));
  return set(slot, o.access);
}
Op &Op::out(const char *slot, const Operand &o) {
  touches.push_back(touching(o, true));
  return set(slot, o.access);
}
Op &Op::inout(const char *slot, const Operand &o) {
  touches.push_back(touching(o, false));
  return out(slot, o);
}
Op &Op::queue(int q) {
  transfer = true;
  lane = q;
  return set("queue", static_cast<int32_t>(q));
}
Op &Op::pipe(int p) {
  transfer = true;
  lane = -2 - p;
  return set("pipe", static_cast<int32_t>(p));
}

// M3: allocations that share bytes are ordered as wholes.
bool Schedule::share(const Touch &a, const Touch &c) const {
  if (a.space == Space::Hbm || a.space != c.space || a.core != c.core || a.object == c.object)
    return false;
  const Allocation &x = b.program().allocations[a.object], &y = b.program().allocations[c.object];
  return x.partition < y.partition + y.partitions() && y.partition < x.partition + x.partitions() &&
         x.byteOffset < y.byteOffset + y.bytesPerPartition() && y.byteOffset < x.byteOffset + x.bytesPerPartition();
}

bool Schedule::conflict(const Op &a, const Op &c) const {
  if (a.block >= 0 && a.block == c.block)
    return false;
  const Target &t = *b.program().target;
  // M1 and M2. Transfers are not the engine's own accesses.
  auto pair = [&](Engine e, Engine f) { return (a.engine == e && c.engine == f) || (a.engine == f && c.engine == e); };
  const bool engines = !a.transfer && !c.transfer && a.core == c.core;
  const bool serialSbuf = engines && pair(Engine::Vector, Engine::GpSimd) && !t.has("vector_gpsimd_concurrent");
  const bool serialPsum = engines && pair(Engine::Vector, Engine::Scalar) && !t.has("vector_scalar_psum_concurrent");
  for (const Touch &x : a.touches)
    for (const Touch &y : c.touches) {
      if (x.space == y.space && ((serialSbuf && x.space == Space::Sbuf) || (serialPsum && x.space == Space::Psum)))
        return true;
      if ((x.write || y.write) && (overlap(x, y) || share(x, y)))
        return true;
    }
  return false;
}

// O5, D3, C2: what follows once `y` is known to be complete.
void Schedule::learn(Knowledge &k, int y) {
  if (k.complete[y])
    return;
  const Op &o = ops[y];
  k.complete |= o.complete;
  k.issued |= o.issued;
  k.complete.set(y);
  k.issued.set(y);
  if (!o.transfer)
    return;
  for (int z = y - 1; z >= 0; --z)
    if (ops[z].transfer && ops[z].core == o.core && ops[z].lane == o.lane && !ops[z].inner && o.lane >= 0)
      learn(k, z);
  if (o.partner >= 0)
    learn(k, o.partner);
}

int Schedule::newSemaphore(int core, bool exact) {
  const int32_t initial = r.chance(20) ? static_cast<int32_t>(r.between(1, 20)) : 0;
  const int s = b.semaphore(format("s%zu", semaphores.size()), initial, core);
  semaphores.push_back({core, exact, r.chance(30), initial, initial, {}, {}});
  return s;
}

int Schedule::semaphore(int core, int32_t initial) {
  const int s = b.semaphore(format("s%zu", semaphores.size()), initial, core);
  semaphores.push_back({core, true, true, initial, initial, {}, {}});
  semaphores.back().byHand = true;
  return s;
}

// Waits for all that was ever added to s.
void Schedule::waitExact(Op &x, int s) {
  Semaphore &sem = semaphores[s];
  x.waits.push_back({s, -1, sem.total, sem.consumed});
  if (sem.consumed) {
    sem.total = 0;
    sem.consumer = static_cast<int>(x.engine);
  }
  sem.waiters.push_back(size());
  for (int y : sem.from)
    learn(of(x), y);
}

void Schedule::waitForTransfer(Op &x, int y) {
  Op &p = ops[y];
  auto mine = [&](const Semaphore &s) { return s.exact && !s.byHand && s.core == x.core; };
  // Several engines wait for one transfer.
  for (size_t s = 0; s < semaphores.size(); ++s)
    if (mine(semaphores[s]) && !semaphores[s].consumed && !semaphores[s].from.empty() && semaphores[s].from.back() == y &&
        r.chance(60))
      return waitExact(x, static_cast<int>(s));
  // A semaphore whose waits have all passed before this transfer was issued.
  int s = -1;
  for (size_t i = 0; i < semaphores.size() && s < 0; ++i)
    if (mine(semaphores[i]) && !semaphores[i].waiters.empty() && r.chance(40) && semaphores[i].total < 400 &&
        (!semaphores[i].consumed || semaphores[i].consumer == static_cast<int>(x.engine)) &&
        std::all_of(semaphores[i].waiters.begin(), semaphores[i].waiters.end(), [&](int w) { return p.issued[w]; }))
      s = static_cast<int>(i);
  if (s < 0)
    s = newSemaphore(x.core, true);
  p.updates.push_back({s, 16});
  semaphores[s].total += 16;
  semaphores[s].from.push_back(y);
  waitExact(x, s);
}

void Schedule::join(Op &x, const std::vector<int> &ys) {
  const int s = newSemaphore(x.core, true);
  for (int y : ys) {
    const int32_t add = ops[y].transfer ? 16 : static_cast<int32_t>(r.between(1, 3));
    ops[y].updates.push_back({s, add});
    semaphores[s].total += add;
    semaphores[s].from.push_back(y);
  }
  waitExact(x, s);
}

void Schedule::waitFor(Op &x, int y) {
  if (ops[y].core != x.core) { // somebody on this core who knows
    int z = 0;
    while (z < size() && (ops[z].inner || ops[z].transfer || ops[z].core != x.core || !ops[z].complete[y]))
      ++z;
    if (z == size())
      throw Error("GENERATE", format("nobody on core %d knows instruction %d", x.core, y));
    if (of(x).complete[z]) {
      learn(of(x), y);
      return;
    }
    y = z;
  }
  if (ops[y].transfer)
    return waitForTransfer(x, y);
  const int producer = static_cast<int>(ops[y].engine), consumer = static_cast<int>(x.engine);
  const int form = static_cast<int>(r.below(10)); // 0..5 one per pair of engines, 6..7 one for all consumers, 8..9 a new one
  int s = -1;
  for (size_t i = 0; i < semaphores.size() && form < 8; ++i) {
    const Semaphore &c = semaphores[i];
    if (!c.exact && c.core == x.core && c.producer == producer && c.consumer == (form < 6 ? consumer : -1))
      s = static_cast<int>(i);
  }
  if (s < 0) {
    s = newSemaphore(x.core, false);
    semaphores[s].producer = producer;
    semaphores[s].consumer = form < 6 ? consumer : form < 8 ? -1 : -2;
    if (form >= 6)
      semaphores[s].consumed = false;
  }
  Op &p = ops[y];
  if (std::none_of(p.updates.begin(), p.updates.end(), [&](const auto &u) { return u.first == s; }))
    p.updates.push_back({s, static_cast<int32_t>(r.between(1, 2))});
  x.waits.push_back({s, y, 0, semaphores[s].consumed});
  semaphores[s].waiters.push_back(size());
  learn(of(x), y);
}

void Schedule::order(Op &x) {
  Knowledge &k = of(x);
  std::vector<int> needed;
  for (int y = size() - 1; y >= 0; --y)
    if (!ops[y].inner && !k.complete[y] && conflict(ops[y], x))
      needed.push_back(y);
  std::vector<int> here, transfers;
  for (int y : needed)
    if (ops[y].core == x.core) {
      here.push_back(y);
      if (ops[y].transfer)
        transfers.push_back(y);
    }
  if (transfers.size() > 1 && r.chance(40))
    join(x, transfers);
  else if (here.size() > 1 && r.chance(30))
    join(x, here);
  for (int y : needed)
    if (!k.complete[y])
      waitFor(x, y);
  for (size_t i = x.waits.size(); i > 1; --i)
    std::swap(x.waits[i - 1], x.waits[r.below(static_cast<int64_t>(i))]);
}

int Schedule::push(Op &&x) {
  if (size() + 1 >= kMaxOps)
    throw Error("GENERATE", "too many instructions");
  Knowledge &k = of(x);
  x.complete = k.complete;
  x.issued = k.issued;
  const int n = size();
  k.issued.set(n);
  if (!x.transfer)
    k.complete.set(n);
  ops.push_back(std::move(x));
  return n;
}

int Schedule::add(Op x) {
  if (!x.inner)
    order(x);
  if (!x.inner && !x.waits.empty() && r.chance(12)) { // the waits on an instruction of their own
    Op nop(x.core, x.engine, "nop");
    nop.waits.swap(x.waits);
    push(std::move(nop));
  }
  return push(std::move(x));
}

int Schedule::addExchange(Op a, Op c) {
  const int i = add(std::move(a)), j = add(std::move(c));
  ops[i].partner = j;
  ops[j].partner = i;
  return i;
}

void Schedule::barrier(Engine e0, Engine e1, const std::string &name) {
  push(std::move(Op(0, e0, "core_barrier").set("name", name)));
  push(std::move(Op(1, e1, "core_barrier").set("name", name)));
  Knowledge &a = known[static_cast<int>(e0)], &c = known[kNumEngines + static_cast<int>(e1)];
  a.complete |= c.complete;
  a.issued |= c.issued;
  c = a;
  push(Op(0, e0, "nop")); // carries the news to the other engines
  push(Op(1, e1, "nop"));
}

void Schedule::finish() {
  std::vector<int32_t> consumed(semaphores.size(), 0);
  std::vector<uint32_t> place(ops.size());
  auto reached = [&](int s, int upTo) {
    int32_t v = semaphores[s].initial;
    for (int y = 0; y <= upTo; ++y)
      for (const auto &[sem, add] : ops[y].updates)
        v += sem == s ? add : 0;
    return v;
  };
  for (size_t i = 0; i < ops.size(); ++i) {
    const Op &o = ops[i];
    place[i] = b.nextIndex(o.core, o.engine);
    if (r.chance(15))
      b.origin("generated", format("step %zu", i), "generated.py", static_cast<uint32_t>(i));
    Emit e = b.emit(o.core, o.engine, o.name);
    for (const auto &set : o.sets)
      set(e);
    for (const Op::Wait &w : o.waits) {
      const int32_t value = w.upTo < 0 ? w.value : reached(w.semaphore, w.upTo) - consumed[w.semaphore];
      if (w.upTo >= 0 && w.consume)
        consumed[w.semaphore] += value;
      e.when(w.semaphore, value, w.consume);
    }
    for (const auto &[s, add] : o.updates)
      e.then(s, add);
    e.done();
  }
  for (size_t i = 0; i < ops.size(); ++i)
    if (ops[i].label >= 0)
      b.patchLabel(ops[i].core, ops[i].engine, place[i], place[ops[i].label]);
}

} // namespace glia::mutants
