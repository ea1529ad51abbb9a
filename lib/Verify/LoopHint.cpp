// What a certificate says of a loop: how long a round is, what its registers do, and by how much the state at the beginning of a round is
// weaker than the one before the loop. Nothing of it is believed: the head is made from the state before the loop and joined with what is
// said here, so it says no more than that state, whatever is said; and the round that is walked from it must end with it (LoopProof.cpp).
#include "Walk.h"

#include <algorithm>

namespace glia::flow {

namespace {

enum RegisterHint : int64_t { AsBefore, Progression, Range };
enum ContentHint : int64_t { ContentLost, ContentKept, DistinctLost };
enum FilledHint : int64_t { PieceKept = 0, PieceDropped = 1, MatmulLost = 2, PieceContentLost = 4 };
constexpr int64_t kLargest = INT32_MAX;

// What the token stands for that makes the sum of all `total`.
Snapshot tokenAt(const SemaphoreState &m, int64_t total) {
  const auto it = std::find_if(m.history.begin(), m.history.end(), [total](const auto &u) { return u.total >= total; });
  return it == m.history.end() ? Snapshot{} : it->snapshot;
}

// ---- writing -----------------------------------------------------------------------------------------------------

struct Writer {
  HintWriter &out;
  const Program &program;
  const std::vector<Spot> &spots;

  void touch(const Touch &t) {
    out.put(t.comp);
    out.put(t.seq);
    out.put(t.who);
    out.put(t.place != 0);
    if (!t.place)
      return;
    const Spot &s = spots[t.place];
    out.put(s.pattern - program.patterns.data());
    out.put(s.start.constant);
    out.put(s.slack.lo);
    out.put(s.slack.hi);
    out.put(s.grain);
    out.put(static_cast<int64_t>(s.start.terms.size()));
    for (const Form::Term &term : s.start.terms) {
      out.put(term.symbol);
      out.put(term.factor);
    }
  }
  // Those of `now` that `before` has not.
  template <class T, class Put> void fresh(const std::vector<T> &before, const std::vector<T> &now, Put &&put) {
    std::vector<T> list;
    for (const T &t : now)
      if (std::find(before.begin(), before.end(), t) == before.end())
        list.push_back(t);
    out.put(static_cast<int64_t>(list.size()));
    for (const T &t : list)
      put(t);
  }
  void touches(const std::vector<Touch> &before, const std::vector<Touch> &now) {
    fresh(before, now, [this](const Touch &t) { touch(t); });
  }
  // The numbers of `now` that are not those of `before`.
  void clock(const Clock &before, const Clock &now) {
    int64_t n = 0;
    for (size_t c = 0; c < now.size(); ++c)
      n += now[c] != before[c];
    out.put(n);
    for (size_t c = 0; c < now.size(); ++c)
      if (now[c] != before[c]) {
        out.put(static_cast<int64_t>(c));
        out.put(now[c]);
      }
  }
  // Things of two lists that differ, each with its number.
  template <class T, class Same, class Put>
  void different(const std::vector<T> &before, const std::vector<T> &now, Same &&same, Put &&put) {
    for (size_t i = 0; i < now.size(); ++i)
      if (!same(before[i], now[i])) {
        out.put(static_cast<int64_t>(i));
        put(before[i], now[i]);
      }
    out.put(-1);
  }
  void cell(const Cell &before, const Cell &now) {
    out.put(now.owner);
    out.put(now.written | now.defined << 1 | now.matmul << 2);
    if (now.written)
      touch(now.write);
    touches(before.reads, now.reads);
    touches(before.otherWrites, now.otherWrites);
  }
};

bool sameEngine(const EngineWalk &a, const EngineWalk &b) {
  return *a.knows.share() == *b.knows.share() && a.lastSbuf == b.lastSbuf && a.lastPsum == b.lastPsum &&
         a.accumulator == b.accumulator && a.residentSet == b.residentSet;
}

bool sameSemaphore(const SemaphoreState &a, const SemaphoreState &b) {
  auto sameUpdate = [&](const SemaphoreState::Update &x, const SemaphoreState::Update &y) {
    const size_t components = a.all.share()->size();
    return x.total == y.total && *x.snapshot.whole(components) == *y.snapshot.whole(components);
  };
  return *a.all.share() == *b.all.share() && a.unproved == b.unproved && a.closed == b.closed && a.guards == b.guards &&
         std::equal(a.history.begin(), a.history.end(), b.history.begin(), b.history.end(), sameUpdate);
}

} // namespace

void Walk::writeHint(const LoopProof &p) {
  HintWriter &out = *certificate.out;
  Writer w{out, program, spots};
  for (uint32_t c : p.components)
    out.put(p.lengths[c]);
  for (uint32_t s : p.semaphores) {
    const auto most = p.most.find(s);
    out.put(most == p.most.end() ? 0 : most->second);
    const auto take = p.takes.find(s);
    const bool taken = take != p.takes.end() && !take->second.empty();
    out.put(taken ? static_cast<int64_t>(take->second.size()) : 0);
    if (!taken)
      continue;
    out.put(p.consumerOf.at(s));
    for (const auto &[offset, sum] : take->second) {
      out.put(offset);
      out.put(sum);
    }
  }
  for (size_t i = 0; i < p.a.members.size(); ++i)
    for (const auto &[reg, held] : p.headRegs[i]) {
      const RegisterValue &entry = p.entry.engines[p.a.members[i]].regs[reg];
      RegisterValue same = entry;
      same.source = 0;
      if (held == same) {
        out.put(AsBefore);
      } else if (held.form && entry.form && held.form->factorOf(p.a.level)) {
        out.put(Progression);
        out.put(held.undefined);
        out.put(held.form->factorOf(p.a.level));
      } else {
        out.put(Range);
        out.put(held.undefined);
        for (int64_t v : {held.lo, held.hi, held.modulus, held.residue})
          out.put(v);
      }
    }

  LoopProof before = p;
  makeHead(before);
  const State &was = before.head, &now = p.head;
  w.different(was.engines, now.engines, sameEngine, [&](const EngineWalk &a, const EngineWalk &b) {
    w.clock(*a.knows.share(), *b.knows.share());
    w.touches(a.lastSbuf, b.lastSbuf);
    w.touches(a.lastPsum, b.lastPsum);
    out.put(a.accumulator != b.accumulator);
    if (a.accumulator != b.accumulator)
      for (int lane = 0; lane < kLanes; ++lane)
        out.put(b.accumulator[lane]);
    out.put(a.residentSet != b.residentSet);
  });
  w.different(was.semaphores, now.semaphores, sameSemaphore, [&](const SemaphoreState &a, const SemaphoreState &b) {
    w.clock(*a.all.share(), *b.all.share());
    out.put(b.unproved);
    w.fresh(a.guards, b.guards, [&](const Guard &g) {
      for (uint32_t v : {g.comp, g.seq, g.who})
        out.put(v);
    });
    w.fresh(a.closed, b.closed, [&](const std::pair<uint32_t, uint32_t> &c) {
      out.put(c.first);
      out.put(c.second);
    });
    out.put(static_cast<int64_t>(b.history.size()));
    for (const SemaphoreState::Update &u : b.history) {
      out.put(u.total - b.consumed);
      w.clock(*tokenAt(a, u.total).whole(components), *u.snapshot.whole(components));
    }
  });
  w.clock(was.lastEvent, now.lastEvent);

  std::vector<const ByteMap *> maps;
  flow::forEachMap(before.head, [&](const Cow<ByteMap> &map) { maps.push_back(&*map); });
  State copy = p.head;
  int64_t next = 0;
  flow::forEachMap(copy, [&](const Cow<ByteMap> &map) {
    const int64_t number = next++;
    const ByteMap &old = *maps[static_cast<size_t>(number)];
    if (&old == &*map)
      return;
    map->forEach([&](int64_t lo, int64_t hi, const Cell &c) {
      // A cell of the head is within one of the state before, or was none there.
      Cell was;
      bool same = true, any = false;
      for (uint32_t rest = c.mask; rest; rest &= rest - 1)
        any |= old.all(lo, hi, rest & -rest, [&](const Cell &x) {
          was = x;
          same &= sameCell(x, c);
          return true;
        });
      if (any && same)
        return;
      out.put(number);
      out.put(lo);
      out.put(hi - lo);
      out.put(c.mask);
      out.put(c.content == was.content ? ContentKept : c.content ? DistinctLost : ContentLost);
      w.cell(was, c);
    });
  });
  out.put(-1);
  for (const Filled &f : before.head.filled) {
    const auto it = std::find_if(now.filled.begin(), now.filled.end(), [&f](const Filled &g) { return samePiece(f, g); });
    out.put(it == now.filled.end()
                ? PieceDropped
                : (f.matmul && !it->matmul ? MatmulLost : 0) | (f.content != it->content ? PieceContentLost : 0));
  }
}

// ---- reading -----------------------------------------------------------------------------------------------------

namespace {

struct Reader {
  HintReader &in;
  const Program &program;
  const State &head;
  int64_t components, levels, values;
  std::function<uint32_t(const Spot &)> intern;

  uint32_t component() { return in.get<uint32_t>(0, components - 1); }
  // A moment that has been, at most.
  uint32_t moment(uint32_t comp) { return in.get<uint32_t>(0, head.numbers[comp]); }
  uint32_t instruction() {
    const auto who = in.get<uint32_t>(0, UINT32_MAX);
    const uint32_t core = who >> 31, engine = who >> 28 & 7;
    if (core >= program.cores || engine >= kNumEngines ||
        (who & 0xFFFFFFFu) >= program.stream(static_cast<int>(core), static_cast<Engine>(engine)).instrs.size())
      in.fail("names an instruction that the program does not have");
    return who;
  }
  Touch touch() {
    Touch t;
    t.comp = component();
    t.seq = moment(t.comp);
    t.who = instruction();
    if (!in.flag())
      return t;
    Spot s;
    s.pattern = &program.patterns[static_cast<size_t>(in.get(0, static_cast<int64_t>(program.patterns.size()) - 1))];
    s.start.constant = in.get(-kFar, kFar);
    s.slack.lo = in.get(-kFar, kFar);
    s.slack.hi = in.get(s.slack.lo, kFar);
    s.grain = in.get(0, kFar);
    int64_t last = -1;
    for (size_t n = in.count(); n--;) {
      Form::Term term;
      term.symbol = in.get<uint32_t>(last + 1, kFirstValue + values - 1);
      if (term.symbol >= levels && term.symbol < kFirstValue)
        in.fail("names a loop that is not there");
      last = term.symbol;
      term.factor = in.get(-kFar, kFar);
      if (!term.factor)
        in.fail("has a factor of 0");
      s.start.terms.push_back(term);
    }
    t.place = intern(s);
    return t;
  }
  std::vector<Touch> touches() {
    std::vector<Touch> list;
    for (size_t n = in.count(); n--;)
      list.push_back(touch());
    return list;
  }
  std::shared_ptr<const Clock> clock(const std::shared_ptr<const Clock> &before) {
    size_t n = in.count();
    if (!n)
      return before;
    auto now = std::make_shared<Clock>(*before);
    while (n--) {
      const uint32_t c = component();
      (*now)[c] = moment(c);
    }
    return now;
  }
  // All but its content.
  Cell cell() {
    Cell c;
    c.owner = in.get<int32_t>(-2, kLargest);
    const int64_t flags = in.get(0, 7);
    c.written = flags & 1, c.defined = flags & 2, c.matmul = flags & 4;
    if (c.written)
      c.write = touch();
    c.reads = touches();
    c.otherWrites = touches();
    return c;
  }
};

} // namespace

void Walk::readHint(LoopProof &p) {
  HintReader &in = *certificate.in;
  for (uint32_t c : p.components)
    p.lengths[c] = in.get<uint32_t>(0, (kLargest - p.entry.numbers[c]) / 24); // with all ages
  for (uint32_t s : p.semaphores) {
    p.most[s] = in.get(0, INT64_MAX / 4);
    const size_t n = in.count();
    p.takes.erase(s);
    if (!n)
      continue;
    const auto consumer = in.get<uint32_t>(0, kLargest);
    if (std::find(p.components.begin(), p.components.end(), consumer) == p.components.end())
      in.fail("names a component that is not in the loop");
    p.consumerOf[s] = consumer;
    int64_t offset = 0;
    for (size_t k = 0; k < n; ++k) {
      offset = in.get(offset, p.lengths[consumer]);
      const int64_t sum = in.get(-kLargest, kLargest);
      p.takes[s].emplace_back(static_cast<uint32_t>(offset), sum);
    }
  }
  for (size_t i = 0; i < p.a.members.size(); ++i)
    for (auto &[reg, held] : p.headRegs[i]) {
      const RegisterValue entry = held;
      const int64_t kind = in.get(AsBefore, Range);
      if (kind == AsBefore)
        continue;
      const bool undefined = in.flag() || entry.undefined;
      if (kind == Progression) {
        held = progression(p, entry, in.get(-kLargest, kLargest));
      } else {
        RegisterValue said;
        said.lo = in.get(INT32_MIN, INT32_MAX);
        said.hi = in.get(said.lo, INT32_MAX);
        said.modulus = in.get(1, kLargest);
        said.residue = in.get(0, said.modulus - 1);
        held = join(outside(entry), said);
      }
      held.undefined = undefined;
    }

  makeHead(p);
  Reader r{in,
           program,
           p.head,
           static_cast<int64_t>(components),
           static_cast<int64_t>(active.size()),
           static_cast<int64_t>(valueRanges.size()),
           [this](const Spot &s) { return internSpot(s); }};
  // What is not spoken of stays as it is; the rest is joined, part by part.
  for (int64_t e; (e = in.get(-1, static_cast<int64_t>(p.head.engines.size()) - 1)) >= 0;) {
    EngineWalk &was = p.head.engines[static_cast<size_t>(e)], x = was;
    x.knows.replace(r.clock(x.knows.share()));
    x.lastSbuf = r.touches();
    x.lastPsum = r.touches();
    if (in.flag())
      for (int lane = 0; lane < kLanes; ++lane)
        x.accumulator[static_cast<size_t>(lane)] = in.flag();
    if (in.flag())
      x.residentSet = -2;
    joinEngine(was, x);
  }
  for (int64_t s; (s = in.get(-1, static_cast<int64_t>(p.head.semaphores.size()) - 1)) >= 0;) {
    SemaphoreState &was = p.head.semaphores[static_cast<size_t>(s)], x;
    x.consumed = was.consumed;
    x.all.replace(r.clock(was.all.share()));
    x.unproved = in.get(0, kLargest);
    for (size_t n = in.count(); n--;) {
      const uint32_t comp = r.component(), seq = r.moment(comp);
      x.guards.push_back({comp, seq, r.instruction()});
    }
    for (size_t n = in.count(); n--;) {
      const uint32_t comp = r.component(), seq = r.moment(comp);
      x.close(comp, seq);
    }
    int64_t total = 0;
    for (size_t n = in.count(); n--;) {
      total = in.get(total + 1, kLargest);
      const std::shared_ptr<const Clock> before = tokenAt(was, x.consumed + total).whole(components);
      x.history.push_back({x.consumed + total, {r.clock(before), {UINT32_MAX, UINT32_MAX}, {0, 0}}});
    }
    joinSemaphore(was, x, components);
  }
  for (size_t n = in.count(); n--;) {
    const uint32_t c = r.component();
    p.head.lastEvent[c] = std::max(p.head.lastEvent[c], r.moment(c));
  }

  std::vector<Cow<ByteMap> *> maps;
  flow::forEachMap(p.head, [&](Cow<ByteMap> &map) { maps.push_back(&map); });
  for (int64_t m; (m = in.get(-1, static_cast<int64_t>(maps.size()) - 1)) >= 0;) {
    const int64_t lo = in.get(-kFar, kFar), hi = lo + in.get(1, kFar);
    const auto mask = in.get<uint32_t>(1, UINT32_MAX);
    const int64_t content = in.get(ContentLost, DistinctLost);
    Cell c = r.cell();
    maps[static_cast<size_t>(m)]->own().visit(lo, hi, mask, [&](Cell &x) {
      c.mask = x.mask;
      c.content = content == ContentLost ? 0 : x.content;
      if (content == DistinctLost && contents[x.content].distinct) {
        Content less = contents[x.content];
        less.distinct = false;
        c.content = keepContent(less);
      }
      joinCell(x, c, [this](uint32_t one, uint32_t other) { return joinContents(one, other); });
    });
  }
  std::erase_if(p.head.filled, [&in](Filled &f) {
    const int64_t lost = in.get(PieceKept, PieceDropped | MatmulLost | PieceContentLost);
    f.matmul &= !(lost & MatmulLost);
    if (lost & PieceContentLost)
      f.content = 0;
    return (lost & PieceDropped) != 0;
  });
}

} // namespace glia::flow
