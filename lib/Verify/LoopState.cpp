#include "LoopState.h"

#include <algorithm>
#include <unordered_map>

namespace glia::flow {

namespace {

// Clocks are shared by many; each that changes is changed once.
template <class F> class Clocks {
public:
  Clocks(const std::vector<uint32_t> &components, const F &f) : components(components), f(f) {}
  std::shared_ptr<const Clock> operator()(const std::shared_ptr<const Clock> &c) {
    auto changes = [&](uint32_t i) { return f(i, (*c)[i]) != (*c)[i]; };
    if (!c || std::none_of(components.begin(), components.end(), changes))
      return c;
    auto [it, fresh] = done.try_emplace(c.get());
    if (fresh) {
      auto changed = std::make_shared<Clock>(*c);
      for (uint32_t i : components)
        (*changed)[i] = f(i, (*c)[i]);
      it->second = {c, std::move(changed)};
    }
    return it->second.second;
  }
  void operator()(Snapshot &s) {
    s.base = (*this)(s.base);
    for (int i = 0; i < 2; ++i)
      if (s.comp[i] != UINT32_MAX && std::find(components.begin(), components.end(), s.comp[i]) != components.end())
        s.seq[i] = f(s.comp[i], s.seq[i]);
  }

private:
  const std::vector<uint32_t> &components;
  const F &f;
  std::unordered_map<const Clock *, std::pair<std::shared_ptr<const Clock>, std::shared_ptr<const Clock>>> done;
};

template <class F> void renumberClocks(State &s, const std::vector<uint32_t> &components, const F &known) {
  Clocks<F> clocks(components, known);
  for (EngineWalk &e : s.engines)
    e.knows.replace(clocks(e.knows.share()));
  for (SemaphoreState &m : s.semaphores) {
    for (SemaphoreState::Update &u : m.history)
      clocks(u.snapshot);
    m.all.replace(clocks(m.all.share()));
  }
  for (auto &[key, meet] : s.barriers)
    for (Snapshot &x : meet.arrived)
      clocks(x);
  for (auto &[pipe, sides] : s.exchanges)
    for (auto &side : sides)
      for (PendingExchange &x : side)
        clocks(x.snapshot);
}

} // namespace

void renumber(State &s, const Renumber &r) {
  if (r.known)
    renumberClocks(s, r.components, r.known);
  if (r.event) {
    for (EngineWalk &e : s.engines)
      for (std::vector<Touch> *list : {&e.lastSbuf, &e.lastPsum})
        for (Touch &t : *list)
          t.seq = r.event(t.comp, t.seq);
    for (SemaphoreState &m : s.semaphores) {
      for (Guard &g : m.guards)
        g.seq = r.event(g.comp, g.seq);
      for (auto &[comp, seq] : m.closed)
        seq = r.event(comp, seq);
    }
    for (uint32_t c : r.components)
      s.lastEvent[c] = r.event(c, s.lastEvent[c]);
  }
  if (!r.event && !r.place)
    return;
  auto counts = std::vector<bool>(s.numbers.size()); // components whose numbers may change: few
  for (uint32_t c : r.components)
    counts[c] = r.event != nullptr;
  auto change = [&](Touch &t) {
    const uint32_t place = t.place && r.place ? r.place(t) : t.place;
    if (counts[t.comp])
      t.seq = r.event(t.comp, t.seq);
    t.place = place;
  };
  auto changes = [&](const Touch &t) {
    if (!t.place && !counts[t.comp])
      return false;
    Touch now = t;
    change(now);
    return now != t;
  };
  forEachMap(s, [&](Cow<ByteMap> &map) {
    bool any = false;
    map->forEach([&](int64_t, int64_t, const Cell &c) {
      any = any || (c.written && changes(c.write)) || std::any_of(c.reads.begin(), c.reads.end(), changes) ||
            std::any_of(c.otherWrites.begin(), c.otherWrites.end(), changes);
    });
    if (!any)
      return;
    map.own().forEach([&](int64_t, int64_t, Cell &c) {
      if (c.written)
        change(c.write);
      for (std::vector<Touch> *list : {&c.reads, &c.otherWrites}) {
        std::vector<Touch> changed;
        std::erase_if(*list, [&](const Touch &t) {
          const bool is = changes(t);
          if (is)
            changed.push_back(t);
          return is;
        });
        for (Touch &t : changed) {
          change(t);
          keepLatest(*list, t);
        }
      }
    });
  });
}

void raiseQuiet(State &s, const std::vector<uint32_t> &now, const std::vector<uint32_t> &components) {
  renumberClocks(s, components, quietKnown(s, now));
}

// ---- join -----------------------------------------------------------------------------------------------------

bool sameCell(const Cell &a, const Cell &b) {
  return a.owner == b.owner && a.content == b.content && a.written == b.written && a.defined == b.defined &&
         a.matmul == b.matmul && (!a.written || a.write == b.write) && a.reads == b.reads && a.otherWrites == b.otherWrites;
}

bool joinCell(Cell &a, const Cell &b, const JoinContents &contents) {
  bool less = false;
  auto lower = [&less](bool &flag, bool other) {
    less |= flag && !other;
    flag = flag && other;
  };
  lower(a.defined, b.defined);
  lower(a.matmul, b.matmul && a.owner == b.owner);
  if (a.owner != b.owner && a.owner != -2) {
    less = true;
    a.owner = -2; // nobody's
  }
  if (const uint32_t content = contents(a.content, b.content); content != a.content) {
    a.content = content;
    less = true;
  }
  std::vector<Touch> mayBeLast;
  auto wrote = [&](const Touch &t) {
    if (!standsFor(a.write, t)) // which is of number 0 where nobody wrote
      mayBeLast.push_back(t);
  };
  for (const Touch &t : b.otherWrites)
    wrote(t);
  if (b.written)
    wrote(b.write);
  less |= keepLatest(a.otherWrites, mayBeLast);
  less |= keepLatest(a.reads, b.reads);
  return less;
}

static bool joinMap(Cow<ByteMap> &a, const Cow<ByteMap> &b, const JoinContents &contents) {
  if (a.shares(b))
    return false;
  struct Rect {
    int64_t lo, hi;
    const Cell *cell;
  };
  std::vector<Rect> other; // cells of `b` that are not the same in `a`
  b->forEach([&](int64_t lo, int64_t hi, const Cell &c) {
    if (!a->all(lo, hi, c.mask, [&c](const Cell &mine) { return sameCell(mine, c); }))
      other.push_back({lo, hi, &c});
  });
  auto known = [](const Cell &) { return true; };
  bool heard = true; // `b` has heard of all bytes that `a` has
  a->forEach([&](int64_t lo, int64_t hi, const Cell &c) { heard = heard && b->all(lo, hi, c.mask, known); });
  if (other.empty() && heard)
    return false;

  bool less = false;
  ByteMap &merged = a.own();
  for (const Rect &r : other)
    merged.visit(r.lo, r.hi, r.cell->mask, [&](Cell &mine) { less |= joinCell(mine, *r.cell, contents); });
  const Cell untouched;
  std::vector<std::tuple<int64_t, int64_t, uint32_t>> alone; // bytes that only `a` has heard of, and in which partitions
  if (!heard)
    merged.forEach([&](int64_t lo, int64_t hi, const Cell &c) {
      uint32_t mask = 0;
      for (uint32_t rest = c.mask; rest; rest &= rest - 1)
        if (!b->all(lo, hi, rest & -rest, known))
          mask |= rest & -rest;
      if (mask)
        alone.emplace_back(lo, hi, mask);
    });
  // At once: a cell for each partition would stay for all that follows.
  for (const auto &[lo, hi, mask] : alone)
    merged.visit(lo, hi, mask, [&](Cell &mine) { less |= joinCell(mine, untouched, contents); });
  return less;
}

// What is of the component in a list, which is there once; first where it is in lists of one origin.
template <class List, class IsOf> static auto findNear(List &list, size_t at, IsOf &&isOf) {
  return at < list.size() && isOf(list[at]) ? list.begin() + static_cast<ptrdiff_t>(at)
                                            : std::find_if(list.begin(), list.end(), isOf);
}

bool joinSemaphore(SemaphoreState &a, const SemaphoreState &b, size_t components) {
  bool less = a.all.meet(*b.all.share());
  if (b.unproved < a.unproved)
    a.unproved = b.unproved, less = true;
  for (size_t i = 0; i < b.guards.size(); ++i) {
    const Guard &g = b.guards[i];
    auto it = findNear(a.guards, i, [&g](const Guard &x) { return x.comp == g.comp; });
    if (it == a.guards.end()) {
      a.guards.push_back(g);
      less = true;
    } else if (it->seq < g.seq) {
      *it = g;
      less = true;
    }
  }
  for (size_t i = 0; i < b.closed.size(); ++i) {
    const auto &[comp, seq] = b.closed[i];
    auto it = findNear(a.closed, i, [c = comp](const auto &x) { return x.first == c; });
    if (it == a.closed.end() || it->second < seq) {
      a.close(comp, seq);
      less = true;
    }
  }
  // Tokens: what the n-th of them stands for.
  const int64_t offset = a.consumed - b.consumed;
  auto asMuch = [offset](const SemaphoreState::Update &x, const SemaphoreState::Update &y) {
    return x.total == y.total + offset && y.snapshot.covers(x.snapshot);
  };
  if (std::equal(a.history.begin(), a.history.end(), b.history.begin(), b.history.end(), asMuch))
    return less;
  std::set<int64_t> totals;
  for (const SemaphoreState::Update &u : a.history)
    totals.insert(u.total);
  for (const SemaphoreState::Update &u : b.history)
    totals.insert(u.total + offset);
  auto at = [](const Fifo<SemaphoreState::Update> &h, int64_t total) -> const Snapshot * {
    auto it = std::partition_point(h.begin(), h.end(), [total](const SemaphoreState::Update &u) { return u.total < total; });
    return it == h.end() ? nullptr : &it->snapshot;
  };
  Fifo<SemaphoreState::Update> joined;
  bool changed = false;
  for (int64_t total : totals) {
    const Snapshot *x = at(a.history, total), *y = at(b.history, total - offset);
    Knowledge k;
    k.reset(components);
    if (x)
      k.join(*x);
    changed |= k.meet(*(y ? *y : Snapshot{}).whole(components));
    joined.push_back({total, Snapshot{k.share(), {UINT32_MAX, UINT32_MAX}, {0, 0}}});
  }
  if (changed)
    a.history = std::move(joined);
  return less || changed;
}

bool joinEngine(EngineWalk &a, const EngineWalk &b) {
  bool less = a.knows.meet(*b.knows.share());
  for (auto list : {&EngineWalk::lastSbuf, &EngineWalk::lastPsum})
    less |= keepLatest(a.*list, b.*list);
  if ((a.accumulator & b.accumulator) != a.accumulator)
    a.accumulator &= b.accumulator, less = true;
  if (a.residentSet != b.residentSet && a.residentSet != -2)
    a.residentSet = -2, less = true;
  return less;
}

bool samePiece(const Filled &a, const Filled &b) {
  return a.memory == b.memory && a.object == b.object && a.firstPartition == b.firstPartition &&
         a.lastPartition == b.lastPartition && a.start == b.start && a.dims == b.dims && a.width == b.width;
}

bool join(State &into, const State &other, const JoinContents &contents) {
  bool less = false;
  const size_t components = into.lastEvent.size();
  for (size_t e = 0; e < into.engines.size(); ++e)
    less |= joinEngine(into.engines[e], other.engines[e]);
  for (size_t s = 0; s < into.semaphores.size(); ++s)
    less |= joinSemaphore(into.semaphores[s], other.semaphores[s], components);
  for (uint32_t c = 0; c < components; ++c)
    if (other.lastEvent[c] > into.lastEvent[c])
      into.lastEvent[c] = other.lastEvent[c], less = true;
  for (size_t c = 0; c < into.chip.size(); ++c)
    for (int space = 0; space < 2; ++space)
      for (int q = 0; q < 4; ++q)
        less |= joinMap(into.chip[c][space][q], other.chip[c][space][q], contents);
  for (size_t t = 0; t < into.hbm.size(); ++t)
    for (size_t c = 0; c < into.hbm[t].size(); ++c)
      less |= joinMap(into.hbm[t][c], other.hbm[t][c], contents);
  const size_t before = into.filled.size();
  std::erase_if(into.filled, [&](Filled &f) {
    auto it = std::find_if(other.filled.begin(), other.filled.end(), [&f](const Filled &g) { return samePiece(f, g); });
    if (it == other.filled.end())
      return true;
    if ((f.matmul && !it->matmul) || (f.content && f.content != it->content)) {
      f.matmul &= it->matmul;
      f.content = 0;
      less = true;
    }
    return false;
  });
  return less || into.filled.size() != before;
}

} // namespace glia::flow
