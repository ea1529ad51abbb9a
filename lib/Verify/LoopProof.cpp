// Loops by an invariant (docs/verifier.md). The head is a state that holds at the beginning of every round: it is made from the state
// before the loop, with rounds imagined before it, and weakened until a round that begins with it ends with it. That search proves
// nothing; the last round does, which is walked and reported like any other code.
#include "Fill.h"
#include "Walk.h"
#include "glia/ISA/Control.h"

#include <algorithm>
#include <bit>

namespace glia::flow {

namespace {

constexpr size_t kDeepest = 12; // nested loops

// What a register holds, without what only this round can say of it.
RegisterValue outside(RegisterValue v) {
  v.source = 0;
  if (!v.isConstant())
    v.form.reset();
  return v;
}

} // namespace

// ---- what the loop is made of ------------------------------------------------------------------------------------

void Walk::planLoop(LoopProof &p) {
  std::set<uint32_t> comps;
  for (uint32_t member : p.run.arrived) {
    const EngineWalk &e = state.engines[member];
    const LoopFrame &f = e.loops.back();
    const auto stream = loopStreams.find(whoIs(e.core, e.engine, f.begin));
    p.streams.push_back(stream == loopStreams.end() ? e.stream : stream->second); // none: its group was refused
    std::vector<uint32_t> around{p.streams.back()};
    comps.insert(around.back());
    p.written.push_back(registersWritten(e.core, e.engine, f.begin + 1, f.end));
    const Stream &s = program.stream(e.core, e.engine);
    for (uint32_t i = f.begin + 1; i <= f.end; ++i) {
      const InstrDef &def = *program.opcodes[s.instrs[i].opcode];
      for (int k = 0; k < s.instrs[i].numWaits + s.instrs[i].numUpdates; ++k)
        p.semaphores.insert(s.syncs[s.instrs[i].sync + k].semaphore);
      if (beginsLoop(def)) {
        const auto inner = loopStreams.find(whoIs(e.core, e.engine, i));
        around.push_back(inner == loopStreams.end() ? around.back() : inner->second);
        comps.insert(around.back());
      } else if (endsLoop(def)) {
        around.pop_back();
      }
      if (def.unit != Unit::Dma && def.unit != Unit::Exchange)
        continue;
      decode(program, e.core, e.engine, i, scratch);
      if (def.unit == Unit::Dma) {
        for (uint32_t stream : around) // a loop that turns out to be walked leaves its engine in the stream around it
          comps.insert(queueStream(scratch.values[def.slot("queue")].integer, stream));
      } else {
        p.pipes.insert(scratch.values[def.slot("pipe")].integer);
        comps.insert(pipeComp[scratch.values[def.slot("pipe")].integer]);
      }
    }
  }
  p.components.assign(comps.begin(), comps.end());
  p.a.members = p.run.arrived;
  p.a.level = static_cast<uint32_t>(active.size());
  LoopMemory &memory = memories[p.run.firstWho];
  if (!memory.period)
    memory.period = p.run.count.hi > 1 ? periodOf(p.run) : 1;
  constexpr int64_t kFew = 8;
  p.a.period = p.run.count.hi <= kFew ? p.run.count.hi : memory.period; // few iterations are one round
  p.a.lastRound = (p.run.count.hi - 1) / p.a.period;
}

// ---- the head ----------------------------------------------------------------------------------------------------

// The state before the loop, seen as the beginning of any round: whoever knew of all that a component had done knows of all its rounds
// before this one (before the first there is none). What does not hold later is taken away by the search.
void Walk::makeHead(LoopProof &p) {
  int64_t ahead = 1;
  for (uint32_t s : p.semaphores) {
    const SemaphoreState &m = p.entry.semaphores[s];
    ahead = std::max(ahead, m.single ? m.value() : m.value() / 16);
  }
  const int64_t ages = std::min<int64_t>(2 + (ahead + p.a.period - 1) / p.a.period, 18);
  p.a.gaps.assign(components, {});
  for (uint32_t c : p.components)
    p.a.gaps[c] = {p.entry.numbers[c], p.lengths[c], ages};
  p.head = p.entry;
  auto raised = [&](uint32_t c, uint32_t seq) {
    const Gap &g = p.a.gaps[c];
    return g.length && seq >= g.base ? g.head() : seq;
  };
  auto raise = [&](std::shared_ptr<const Clock> clock) {
    auto out = std::make_shared<Clock>(*clock);
    for (uint32_t c : p.components)
      (*out)[c] = raised(c, (*out)[c]);
    return std::shared_ptr<const Clock>(std::move(out));
  };
  for (uint32_t member : p.a.members)
    p.head.engines[member].knows.replace(raise(p.head.engines[member].knows.share()));
  shareWithConsumers(p, p.head);
  for (uint32_t s : p.semaphores) {
    SemaphoreState &m = p.head.semaphores[s];
    m.all.replace(raise(m.all.share()));
    for (SemaphoreState::Update &u : m.history)
      u.snapshot = {raise(u.snapshot.whole(components)), {UINT32_MAX, UINT32_MAX}, {0, 0}};
    const auto take = p.takes.find(s);
    if (take == p.takes.end() || take->second.empty())
      continue;
    const int64_t perRound = take->second.back().second;
    const uint32_t consumer = p.consumerOf.at(s);
    if (m.consumer != UINT32_MAX && m.consumer != consumer && (!m.consumptions.empty() || m.countedFrom))
      m.close(m.consumer, m.consumptions.empty() ? m.countedFrom : m.consumptions.back().first);
    m.consumer = consumer;
    const Gap &g = p.a.gaps[consumer];
    m.consumptions.clear();
    const Wide ever = m.ever + Wide{p.most.at(s)} * (p.a.lastRound + 1);
    m.ever = ever > INT64_MAX / 4 ? INT64_MAX / 4 : static_cast<int64_t>(ever);
    const bool inner = std::find(p.streams.begin(), p.streams.end(), consumer) == p.streams.end();
    if (inner) { // how much an inner loop consumes is not known: all of the round before, or nothing
      m.countedFrom = g.base + static_cast<uint32_t>(ages - 1) * g.length + take->second.back().first;
      m.before = m.consumed;
      continue;
    }
    m.countedFrom = g.base + g.length;
    m.before = m.consumed - (ages - 1) * perRound;
    for (int64_t age = ages - 1; age >= 1; --age)
      for (const auto &[offset, sum] : take->second)
        m.consumptions.emplace_back(g.base + static_cast<uint32_t>(ages - age) * g.length + offset, m.consumed - age * perRound + sum);
  }
  for (uint32_t c : p.components)
    p.head.numbers[c] = p.a.gaps[c].head();
}

// Who consumes what is left in a semaphore knows, when it does, at least what it knows now. So the token may say that too.
void Walk::shareWithConsumers(const LoopProof &p, State &s) {
  for (uint32_t number : p.semaphores) {
    const uint32_t consumers = uses[number].consumers;
    if (!consumers)
      continue;
    const Knowledge &knows = s.engines[static_cast<size_t>(std::countr_zero(consumers))].knows;
    SemaphoreState &m = s.semaphores[number];
    m.all.join(*knows.share());
    for (SemaphoreState::Update &u : m.history) {
      Knowledge k;
      k.replace(u.snapshot.whole(components));
      k.join(*knows.share());
      u.snapshot = {k.share(), {UINT32_MAX, UINT32_MAX}, {0, 0}};
    }
  }
}

// The end of a round as the beginning of the next one: everything is one round older.
State Walk::aged(const LoopProof &p, State s) {
  const std::vector<Gap> &gaps = p.a.gaps;
  raiseQuiet(s, s.numbers, p.components);
  shareWithConsumers(p, s);
  Renumber r;
  r.known = [&gaps](uint32_t c, uint32_t seq) {
    const Gap &g = gaps[c];
    return !g.length || seq <= g.base ? seq : seq <= g.base + g.length ? g.base : seq - g.length;
  };
  r.event = [&gaps](uint32_t c, uint32_t seq) {
    const Gap &g = gaps[c];
    return !g.length || seq <= g.base + g.length ? seq : seq - g.length;
  };
  // Of what earlier rounds touched, only how it moves with the loops is known.
  r.place = [&](const Touch &t) { return foldSpot(t.place, [&p](uint32_t symbol) { return symbol >= p.firstValue; }); };
  renumber(s, r);
  for (uint32_t m : p.semaphores) {
    SemaphoreState &x = s.semaphores[m];
    const SemaphoreState &h = p.head.semaphores[m];
    x.lower(x.consumed - h.consumed);
    x.consumptions = h.consumptions, x.before = h.before, x.countedFrom = h.countedFrom, x.ever = h.ever;
  }
  for (uint32_t c : p.components)
    s.numbers[c] -= gaps[c].length;
  std::erase_if(s.filled, [&p](const Filled &f) { return p.ofLoop(f.start); });
  return s;
}

uint32_t Walk::foldSpot(uint32_t place, const std::function<bool(uint32_t)> &which) {
  Spot s = spots[place];
  Wide lo = s.slack.lo, hi = s.slack.hi;
  std::erase_if(s.start.terms, [&](const Form::Term &t) {
    if (!which(t.symbol))
      return false;
    const Interval r = rangeOf(t.symbol);
    lo += std::min(Wide{t.factor} * r.lo, Wide{t.factor} * r.hi);
    hi += std::max(Wide{t.factor} * r.lo, Wide{t.factor} * r.hi);
    return true;
  });
  constexpr int64_t kFar = int64_t{1} << 60;
  if (lo < -kFar || hi > kFar)
    return 0; // anywhere in its cell
  s.slack = {static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
  return internSpot(s);
}

// What a register holds at the head, from what it held there before and at the end of the round. Returns whether that is less.
bool Walk::weaken(const LoopProof &p, RegisterValue &held, const RegisterValue &entry, const RegisterValue &end, int pass) {
  const uint32_t m = p.a.level;
  RegisterValue next = held;
  next.undefined |= end.undefined;
  const bool follows = held.form && end.form && moveForm(*held.form, m, 1) == *end.form;
  if (!follows) {
    const bool fresh = held.form && end.form && entry.form && held.form == entry.form && held.form->terms == end.form->terms;
    if (fresh) { // it grows by the same amount in each round
      RegisterValue round = RegisterValue::range(0, p.a.lastRound);
      round.form = symbolForm(m);
      next = add(entry, scaled(round, end.form->constant - held.form->constant));
      if (next.lo < INT32_MIN || next.hi > INT32_MAX || !next.form) {
        next = RegisterValue::any();
      }
      next.undefined = entry.undefined || end.undefined;
    } else {
      const bool undefined = next.undefined;
      next = join(outside(held), outside(end));
      next.undefined = undefined;
      if (pass > 3) {
        next.lo = next.lo < held.lo ? INT32_MIN : next.lo;
        next.hi = next.hi > held.hi ? INT32_MAX : next.hi;
      }
      if (pass > 6)
        next.modulus = 1, next.residue = 0;
    }
  }
  next.source = 0;
  if (next == held)
    return false;
  held = next;
  return true;
}

// ---- one round ---------------------------------------------------------------------------------------------------

// Whatever head is right, this is wrong.
void Walk::failForGood(std::string_view rule, uint32_t whose, std::string what, std::string value, std::string limit) {
  muted = 0;
  stopped = true;
  fail(rule, whose, -1, std::move(what), std::move(value), std::move(limit));
}

// Who waits for others outside of the loop still does, and nobody else: the next iteration finds what this one found.
bool Walk::leftAsFound(LoopProof &p) {
  for (int pipe : p.pipes)
    for (const auto &side : state.exchanges[pipe])
      if (!side.empty()) {
        failForGood("SENDRECV-PAIR", who(side.front().d),
                    format("the other core has no matching sendrecv on pipe %d in the same iteration of group `%s`", pipe,
                           p.run.group.c_str()));
        return false;
      }
  auto alike = [](const auto &a, const auto &b) {
    auto come = [](const auto &x) -> const auto & {
      if constexpr (requires { x.arrived; })
        return x.arrived;
      else
        return x->arrived;
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto &x, const auto &y) {
      return x.first == y.first && come(x.second).size() == come(y.second).size();
    });
  };
  if (!alike(state.barriers, p.entry.barriers)) {
    failForGood("BARRIER-PAIR", p.run.firstWho, "an engine outside of the loop meets a barrier that is in it");
    return false;
  }
  if (!alike(state.runs, p.entry.runs)) {
    failForGood("LOOP-GROUP", p.run.firstWho, "an engine outside of the loop is in the group of a loop that is in it");
    return false;
  }
  return true;
}

bool Walk::walkIteration(LoopProof &p, int64_t phase) {
  const int64_t last = p.run.count.hi - 1;
  active.back().iteration = ++iterations;
  RegisterValue tested;
  for (size_t i = 0; i < p.a.members.size(); ++i) {
    EngineWalk &e = state.engines[p.a.members[i]];
    LoopFrame &f = e.loops.back();
    if (f.iv >= 0) {
      RegisterValue round = RegisterValue::range(0, p.a.lastRound);
      round.form = symbolForm(p.a.level);
      RegisterValue iv = add(RegisterValue::constant(phase), scaled(round, p.a.period));
      iv.hi = std::min(iv.hi, last);
      if (iv.lo >= iv.hi)
        iv = RegisterValue::constant(iv.lo);
      e.regs[f.iv] = iv;
    } else {
      // The engines of a group begin an iteration with the same condition, which is not 0.
      if (i == 0) {
        tested = outside(e.regs[f.cond]);
        for (uint32_t member : p.a.members)
          tested = join(tested, outside(state.engines[member].regs[state.engines[member].loops.back().cond]));
        tested.source = ++lastSource;
        tested.undefined = false; // reported where it was tested
        if (!tested.isConstant())
          tested = named(tested);
      }
      e.regs[f.cond] = tested;
    }
    e.pc = f.begin + 1;
    e.arrived = e.ended = false;
  }
  stepAll(p.a.members);
  if (stopped || reporter.full())
    return false;
  for (uint32_t member : p.a.members) {
    const EngineWalk &e = state.engines[member];
    if (!e.ended || e.loops.size() != p.depthOf.at(member)) {
      muted = 0;
      stopped = true;
      reportBlocked(p.a.members);
      return false;
    }
  }
  if (!leftAsFound(p))
    return false;
  for (uint32_t s : p.semaphores) {
    const int64_t net = state.semaphores[s].value() - p.entry.semaphores[s].value();
    if (net != 0) {
      failForGood("LOOP-BALANCE", p.run.firstWho,
                  format("an iteration of %s adds to semaphore `%s` %lld more than it consumes",
                         p.run.group.empty() ? "this loop" : ("group `" + p.run.group + "`").c_str(),
                         program.semaphores[s].name.c_str(), (long long)net),
                  std::to_string(net), "0");
      return false;
    }
  }
  const EngineWalk &first = state.engines[p.a.members[0]];
  for (uint32_t member : p.a.members) {
    const EngineWalk &e = state.engines[member];
    const int cond = e.loops.back().cond;
    if (cond < 0)
      continue;
    const uint32_t at = whoIs(e.core, e.engine, e.pc);
    if (e.regs[cond].undefined)
      fail("UNDEFINED-CONTROL", at, -1, "the condition of the loop is an undefined value");
    if (!sameValue(e.regs[cond], first.regs[first.loops.back().cond]))
      fail("LOOP-GROUP", at, -1,
           "its condition does not come from the same source as that of the other engines of group `" + p.run.group + "`", {},
           {}, {"the other: " + reporter.describe(ref(p.run.firstWho)), "the values are those after an iteration"});
  }
  return true;
}

// From the head. False: the program is wrong, and it was said.
bool Walk::walkRound(LoopProof &p, bool keepExits) {
  state = p.head;
  active.back() = p.a;
  for (size_t i = 0; i < p.a.members.size(); ++i)
    for (const auto &[reg, value] : p.headRegs[i])
      state.engines[p.a.members[i]].regs[reg] = value;
  p.exits.clear();
  for (int64_t phase = 0; phase < p.a.period && phase < p.run.count.hi; ++phase) {
    if (!walkIteration(p, phase))
      return false;
    if (keepExits)
      p.exits.push_back(state);
  }
  p.a.writes = std::move(active.back().writes);
  return true;
}

// How many numbers a round takes, and what it consumes. Returns whether that is as it was taken to be.
bool Walk::measureRound(LoopProof &p) {
  bool same = true;
  std::map<uint32_t, std::vector<std::pair<uint32_t, int64_t>>> takes;
  for (uint32_t c : p.components) {
    const uint32_t length = state.numbers[c] - p.a.gaps[c].head();
    same &= p.lengths[c] == length;
    p.lengths[c] = length;
  }
  for (uint32_t s : p.semaphores) {
    const SemaphoreState &m = state.semaphores[s];
    const int64_t before = p.head.semaphores[s].consumed;
    if (m.consumed == before)
      continue;
    p.consumerOf[s] = m.consumer;
    if (const int64_t most = m.ever - p.head.semaphores[s].ever; p.most[s] < most) {
      p.most[s] = most;
      same = false;
    }
    const uint32_t start = p.a.gaps[m.consumer].head();
    for (const auto &[seq, total] : m.consumptions)
      if (seq > start)
        takes[s].emplace_back(seq - start, total - before);
  }
  same &= takes == p.takes;
  p.takes = std::move(takes);
  return same;
}

// ---- the search and the proof ------------------------------------------------------------------------------------

Joiner Walk::joiner() {
  return {[this](uint32_t x, uint32_t y) { return joinContents(x, y); }};
}

void Walk::prove(const std::shared_ptr<LoopRun> &shared) {
  LoopRun run = *shared;
  LoopProof p{.run = run};
  if (run.count.hi <= 0) { // never runs
    for (uint32_t member : run.arrived) {
      state.engines[member].arrived = false;
      leaveLoop(state.engines[member]);
    }
    return;
  }
  if (active.size() >= kDeepest)
    return failForGood("LOOP-FORM", run.firstWho, format("more than %zu loops that are not walked are nested", kDeepest));
  if (!active.empty())
    for (uint32_t member : run.arrived)
      if (std::find(active.back().members.begin(), active.back().members.end(), member) == active.back().members.end())
        return failForGood("LOOP-GROUP", run.firstWho,
                           "an engine of group `" + run.group + "` is not in the loop that is around the loop of another");
  planLoop(p);
  for (int pipe : p.pipes)
    for (const auto &side : state.exchanges[pipe])
      if (!side.empty())
        return failForGood("SENDRECV-PAIR", who(side.front().d),
                           format("it is issued before a loop, and pipe %d is used in the loop before the other core has come", pipe));
  for (size_t i = 0; i < run.arrived.size(); ++i)
    changeStream(state.engines[run.arrived[i]], p.streams[i]);
  raiseQuiet(state, state.numbers, p.components);
  p.entry = state;
  p.a.begun = state.numbers;
  for (size_t i = 0; i < run.arrived.size(); ++i) {
    const EngineWalk &e = state.engines[run.arrived[i]];
    p.depthOf[run.arrived[i]] = e.loops.size();
    p.headRegs.emplace_back();
    for (int reg : p.written[i]) {
      p.headRegs[i][reg] = e.regs[reg];
      p.headRegs[i][reg].source = 0;
    }
  }
  LoopMemory &memory = memories[run.firstWho];
  p.lengths = memory.lengths.empty() ? std::vector<uint32_t>(components, 0) : memory.lengths;
  p.takes = memory.takes;
  p.consumerOf = memory.consumerOf;
  p.most = memory.most;
  p.firstValue = kFirstValue + static_cast<uint32_t>(valueRanges.size());
  active.push_back(p.a);

  if (p.a.lastRound == 0) { // there is no next round
    makeHead(p);
    if (!walkRound(p, true))
      return;
    leaveProved(p);
    active.pop_back();
    return;
  }
  const bool searching = muted > 0; // for a loop around this one: nothing rests on what is found
  ++muted;
  const bool failedBefore = failed;
  bool found = false;
  makeHead(p);
  int fits = 0; // rounds of the right length
  for (int pass = 0; pass < 40 && !found; ++pass) {
    if (!walkRound(p, searching))
      return;
    if (!measureRound(p)) { // begin again with the right numbers
      for (uint32_t c : p.components)
        if (uint64_t{p.a.gaps[c].base} + uint64_t{p.lengths[c]} * 24 > INT32_MAX)
          return failForGood("LOOP-FORM", run.firstWho, "the program is too long");
      makeHead(p);
      fits = 0;
      continue;
    }
    bool less = false;
    for (size_t i = 0; i < p.a.members.size(); ++i)
      for (auto &[reg, value] : p.headRegs[i])
        less |= weaken(p, value, p.entry.engines[p.a.members[i]].regs[reg], state.engines[p.a.members[i]].regs[reg], fits);
    ++fits;
    if (less) // what was done at addresses that were not right is no part of the head
      makeHead(p);
    else
      found = !join(p.head, aged(p, state), joiner());
  }
  --muted;
  failed = failedBefore;
  memory.lengths = p.lengths;
  memory.takes = p.takes;
  memory.consumerOf = p.consumerOf;
  memory.most = p.most;
  if (!found)
    return failForGood("LOOP-FORM", run.firstWho, "no state was found that holds at the beginning of every iteration of this loop");

  if (searching) {
    leaveProved(p);
    active.pop_back();
    return;
  }

  // The proof: one round from the head, which ends with the head.
  if (!walkRound(p, true))
    return;
  bool holds = measureRound(p) && !join(p.head, aged(p, state), joiner());
  for (size_t i = 0; i < p.a.members.size(); ++i)
    for (auto &[reg, value] : p.headRegs[i])
      holds &= !weaken(p, value, p.entry.engines[p.a.members[i]].regs[reg], state.engines[p.a.members[i]].regs[reg], 0);
  if (!holds)
    return failForGood("LOOP-FORM", run.firstWho, "what is said of this loop does not hold in its next iteration");
  leaveProved(p);
  active.pop_back();
}

// ---- behind the loop ---------------------------------------------------------------------------------------------

void Walk::leaveProved(LoopProof &p) {
  const int64_t lo = std::max<int64_t>(p.run.count.lo, 0), hi = p.run.count.hi, period = p.a.period;
  std::vector<uint32_t> top(components);
  for (uint32_t c : p.components)
    top[c] = p.exits.back().numbers[c];
  const std::vector<Filled> filled = p.exits.back().filled;

  // After which iterations of a round it can end.
  std::vector<State> ends;
  for (int64_t phase = 0; phase < period; ++phase) {
    const int64_t first = std::max<int64_t>(lo, 1);
    const int64_t next = first + ((phase + 1 - first) % period + period) % period; // the first count >= `first` that ends here
    if (next <= hi) {
      raiseQuiet(p.exits[phase], top, p.components);
      ends.push_back(std::move(p.exits[phase]));
    }
  }
  if (lo == 0) { // or it does not run at all, and then it has done nothing that anybody has to know of
    State none = p.entry;
    Renumber r;
    r.known = [&](uint32_t c, uint32_t seq) { return top[c] && seq >= p.entry.numbers[c] ? top[c] : seq; };
    r.event = [](uint32_t, uint32_t seq) { return seq; };
    r.place = [](const Touch &t) { return t.place; };
    renumber(none, r);
    for (uint32_t s : p.semaphores) {
      const SemaphoreState &x = ends[0].semaphores[s];
      SemaphoreState &m = none.semaphores[s];
      m.lower(m.consumed - x.consumed);
    }
    ends.push_back(std::move(none));
  }
  std::vector<std::vector<RegisterValue>> regs(p.a.members.size());
  for (size_t i = 0; i < p.a.members.size(); ++i)
    for (int reg = 0; reg < 64; ++reg) {
      RegisterValue v = outside(ends[0].engines[p.a.members[i]].regs[reg]);
      for (size_t k = 1; k < ends.size(); ++k)
        v = join(v, outside(ends[k].engines[p.a.members[i]].regs[reg]));
      regs[i].push_back(v);
    }
  state = std::move(ends[0]);
  for (size_t k = 1; k < ends.size(); ++k) {
    for (uint32_t s : p.semaphores) // their totals differ by whole rounds
      ends[k].semaphores[s].lower(ends[k].semaphores[s].consumed - state.semaphores[s].consumed);
    join(state, ends[k], joiner());
  }
  for (uint32_t c : p.components)
    state.numbers[c] = top[c];

  // The number of its last round means nothing any more.
  Renumber fold;
  fold.known = fold.event = [](uint32_t, uint32_t seq) { return seq; };
  fold.place = [&](const Touch &t) {
    return p.ofLoop(spots[t.place].start) ? foldSpot(t.place, [&p](uint32_t s) { return p.ofLoop(s); }) : t.place;
  };
  renumber(state, fold);
  std::erase_if(state.filled, [&p](const Filled &f) { return p.ofLoop(f.start); });

  // What every round wrote at an address of its own is written in all the rounds that are certain.
  const int64_t rounds = lo / period;
  for (Filled f : filled) {
    const int64_t step = f.start.factorOf(p.a.level);
    const bool loaded = std::any_of(f.start.terms.begin(), f.start.terms.end(), [&p](const Form::Term &t) { return t.symbol >= p.firstValue; });
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
    std::vector<int> changed = p.written[i];
    const LoopFrame &f = e.loops.back();
    changed.push_back(f.iv >= 0 ? f.iv : f.cond);
    for (int reg : changed)
      e.regs[reg] = regs[i][reg];
    e.arrived = e.ended = false;
    loopsProved.insert(whoIs(e.core, e.engine, f.begin));
    leaveLoop(e);
  }
}

// Whether something in the loop may have taken from the piece that it is defined; whether a matmul may still add to it is noted.
bool Walk::spoilt(const Activation &a, Filled &f) const {
  Wide lo = f.start.constant, hi = lo + f.width;
  for (const Stride &s : f.dims)
    hi += Wide{s.step} * (s.count - 1);
  for (const Form::Term &t : f.start.terms) {
    const Interval r = rangeOf(t.symbol);
    lo += std::min(Wide{t.factor} * r.lo, Wide{t.factor} * r.hi);
    hi += std::max(Wide{t.factor} * r.lo, Wide{t.factor} * r.hi);
  }
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
