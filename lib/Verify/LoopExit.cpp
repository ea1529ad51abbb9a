// What holds behind a loop that was proved by an invariant (docs/verifier.md).
#include "Fill.h"
#include "Walk.h"

#include <algorithm>

namespace glia::flow {

namespace {

struct End {   // how a loop can end
  State state; // after its last iteration, or before it if it does not run
  RegisterValue count;
};

// What is known of a count that is one of these, and of this residue.
RegisterValue counted(const RegisterValue &count, int64_t lo, int64_t hi, int64_t modulus) {
  RegisterValue v = count;
  v.lo = std::max(v.lo, lo);
  v.hi = std::min(v.hi, hi);
  if (v.isConstant())
    v.form = constantForm(v.lo);
  if (v.modulus == 1 && modulus > 1) {
    v.modulus = modulus;
    v.residue = lo % modulus;
  }
  return v;
}

} // namespace

// The state becomes what holds behind the loop, however it ends. Where that is not enough, each end is walked to the end of the
// program by itself.
void Walk::leaveProved(LoopProof &p) {
  const RegisterValue &count = p.run.compared;
  const int64_t lo = std::max<int64_t>(p.run.count.lo, 0), hi = p.run.count.hi, period = p.a.period;
  std::vector<uint32_t> top(components);
  for (uint32_t c : p.components)
    top[c] = p.exits.back().numbers[c];
  const std::vector<Filled> filled = p.exits.back().filled;

  // After which iterations of a round it can end.
  std::vector<End> ends;
  for (int64_t phase = 0; phase < period; ++phase) {
    const int64_t first = std::max<int64_t>(lo, 1);
    const int64_t next =
        first + ((phase + 1 - first) % period + period) % period; // the first count >= `first` that ends here
    if (next <= hi) {
      raiseQuiet(p.exits[phase], top, p.components);
      const int64_t last = p.a.lastRound == 0 ? next : hi;
      ends.push_back({std::move(p.exits[phase]), p.run.open ? count : counted(count, next, last, period)});
    }
  }
  if (lo == 0) { // or it does not run at all, and then it has done nothing that anybody has to know of
    State none = std::move(p.entry);
    Renumber r{.components = p.components};
    r.known = [&](uint32_t c, uint32_t seq) { return top[c] && seq >= p.a.begun[c] ? top[c] : seq; };
    renumber(none, r);
    for (uint32_t s : p.semaphores) {
      const SemaphoreState &x = ends[0].state.semaphores[s];
      SemaphoreState &m = none.semaphores[s];
      m.lower(m.consumed - x.consumed);
    }
    ends.push_back({std::move(none), p.run.open ? count : counted(count, INT64_MIN, 0, 1)});
  }
  if (waysApart && active.size() == 1 && !muted && !exploring && ways.size() + ends.size() <= kMostWays) {
    for (size_t k = ends.size(); k-- > 0;) {
      std::vector<State> one;
      one.push_back(std::move(ends[k].state));
      behindLoop(p, std::move(one), top, filled, p.run.open ? lo : std::max<int64_t>(ends[k].count.lo, 0));
      for (EngineWalk &e : state.engines)
        for (int reg = 0; reg < Registers::kCount; ++reg)
          if (!e.regs[reg].undefined && sameValue(e.regs[reg], count))
            e.regs.change(reg) = ends[k].count;
      if (k > 0)
        ways.push_back({std::move(state), writeValues});
    }
    return;
  }
  joined |= ends.size() > 1 && active.size() == 1;
  std::vector<State> all;
  for (End &e : ends)
    all.push_back(std::move(e.state));
  behindLoop(p, std::move(all), top, filled, lo);
}

// After one of these ends; `lo`: iterations that are certain.
void Walk::behindLoop(LoopProof &p, std::vector<State> ends, const std::vector<uint32_t> &top,
                      const std::vector<Filled> &filled, int64_t lo) {
  std::vector<std::vector<std::pair<int, RegisterValue>>> regs(p.a.members.size()); // that the loop changes
  for (size_t i = 0; i < p.a.members.size(); ++i) {
    std::vector<int> changed = p.written[i];
    const LoopFrame &f = ends[0].engines[p.a.members[i]].loops.back();
    changed.push_back(f.iv >= 0 ? f.iv : f.cond);
    for (int reg : changed) {
      RegisterValue v = outside(ends[0].engines[p.a.members[i]].regs[reg]);
      for (size_t k = 1; k < ends.size(); ++k)
        v = join(v, outside(ends[k].engines[p.a.members[i]].regs[reg]));
      regs[i].emplace_back(reg, std::move(v));
    }
  }
  state = std::move(ends[0]);
  for (size_t k = 1; k < ends.size(); ++k) {
    for (uint32_t s : p.semaphores) // their totals differ by whole rounds
      ends[k].semaphores[s].lower(ends[k].semaphores[s].consumed - state.semaphores[s].consumed);
    joinInto(state, ends[k]);
  }
  for (uint32_t c : p.components)
    state.numbers[c] = top[c];

  // The number of its last round means nothing any more.
  Renumber fold{.components = p.components};
  fold.place = [&](const Touch &t) {
    return p.ofLoop(spots[t.place].start) ? foldSpot(t.place, [&p](uint32_t s) { return p.ofLoop(s); }) : t.place;
  };
  renumber(state, fold);
  std::erase_if(state.filled, [&p](const Filled &f) { return p.ofLoop(f.start); });

  // What every round wrote at an address of its own is written in all the rounds that are certain.
  const int64_t rounds = lo / p.a.period;
  for (Filled f : filled) {
    const int64_t step = f.start.factorOf(p.a.level);
    const bool loaded = std::any_of(f.start.terms.begin(), f.start.terms.end(),
                                    [&p](const Form::Term &t) { return t.symbol >= p.firstValue; });
    if (!step || rounds < 1 || loaded)
      continue;
    std::erase_if(f.start.terms, [&p](const Form::Term &t) { return t.symbol == p.a.level; });
    f.dims.push_back({step, rounds});
    f.content = 0;
    tidy(f);
    if (!spoilt(p.a, f))
      keepFilled(std::move(f));
  }

  for (size_t i = 0; i < p.a.members.size(); ++i) {
    EngineWalk &e = state.engines[p.a.members[i]];
    for (auto &[reg, value] : regs[i])
      e.regs.change(reg) = std::move(value);
    e.arrived = e.ended = false;
    loopsProved.insert(whoIs(e.core, e.engine, e.loops.back().begin));
    leaveLoop(e);
  }
}

// Whether something in the loop may have taken from the piece that it is defined; whether a matmul may still add to it is noted.
bool Walk::spoilt(const Activation &a, Filled &f) const {
  Wide lo = f.start.constant, hi = lo + f.width;
  for (const Stride &s : f.dims)
    hi += Wide{s.step} * (s.count - 1);
  for (const Form::Term &t : f.start.terms)
    reach(t, lo, hi);
  for (const auto &[instruction, n] : a.writes) {
    if (n.memory != f.memory || n.lo >= hi || n.hi <= lo)
      continue;
    if (!n.defined || n.object != f.object)
      return true;
    f.matmul &= n.matmul;
  }
  return false;
}

} // namespace glia::flow
