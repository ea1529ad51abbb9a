// The head of a loop that is proved by an invariant (docs/verifier.md): what holds at the beginning of every round. It is made from the
// state before the loop, with rounds imagined before it, and the end of a round is compared with it as the next beginning.
#include "Walk.h"
#include "glia/ISA/Control.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace glia::flow {

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
  constexpr int64_t kFew = 8;
  p.a.period = p.run.count.hi <= kFew ? p.run.count.hi : givenPeriod(p.run); // few iterations are one round
  p.a.lastRound = (p.run.count.hi - 1) / p.a.period;
  p.a.count = p.run.open ? std::nullopt : p.run.count.form;
}

// From the certificate, or found when the loop was met first.
int64_t Walk::givenPeriod(const LoopRun &run) {
  if (certificate.in)
    return certificate.in->get(1, kLongestPeriod);
  LoopMemory &memory = memories[run.firstWho];
  if (!memory.period)
    memory.period = periodOf(run);
  if (certificate.out && !muted)
    certificate.out->put(memory.period);
  return memory.period;
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
    auto rises = [&](uint32_t c) { return raised(c, (*clock)[c]) != (*clock)[c]; };
    if (std::none_of(p.components.begin(), p.components.end(), rises))
      return clock;
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
    if (!m.single)
      m.all.replace(raise(m.all.share()));
    for (SemaphoreState::Update &u : m.history)
      u.snapshot = {raise(u.snapshot.whole(components)), {UINT32_MAX, UINT32_MAX}, {0, 0}};
  }
  for (const auto &[s, take] : p.takes) { // of semaphores of the loop, none without a number
    SemaphoreState &m = p.head.semaphores[s];
    const int64_t perRound = take.back().second;
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
      m.countedFrom = g.base + static_cast<uint32_t>(ages - 1) * g.length + take.back().first;
      m.before = m.consumed;
      continue;
    }
    m.countedFrom = g.base + g.length;
    m.before = m.consumed - (ages - 1) * perRound;
    for (int64_t age = ages - 1; age >= 1; --age)
      for (const auto &[offset, sum] : take)
        m.consumptions.emplace_back(g.base + static_cast<uint32_t>(ages - age) * g.length + offset,
                                    m.consumed - age * perRound + sum);
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
    if (!m.single) // nobody asks for it otherwise
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
  Renumber r{.components = p.components};
  r.known = [&gaps, quiet = quietKnown(s, s.numbers)](uint32_t c, uint32_t known) {
    const Gap &g = gaps[c];
    const uint32_t seq = quiet(c, known);
    return !g.length || seq <= g.base ? seq : seq <= g.base + g.length ? g.base : seq - g.length;
  };
  r.event = [&gaps](uint32_t c, uint32_t seq) {
    const Gap &g = gaps[c];
    return !g.length || seq <= g.base + g.length ? seq : seq - g.length;
  };
  // Of what earlier rounds touched, only how it moves with the loops is known.
  const auto loaded = [&p](uint32_t symbol) { return symbol >= p.firstValue; };
  r.place = [&](const Touch &t) {
    const std::vector<Form::Term> &terms = spots[t.place].start.terms;
    return std::any_of(terms.begin(), terms.end(), [&](const Form::Term &x) { return loaded(x.symbol); })
               ? foldSpot(t.place, loaded)
               : t.place;
  };
  renumber(s, r);
  shareWithConsumers(p, s);
  for (uint32_t c : p.components)
    s.numbers[c] -= gaps[c].length;
  return s;
}

uint32_t Walk::foldSpot(uint32_t place, const std::function<bool(uint32_t)> &which) {
  Spot s = spots[place];
  Wide lo = s.slack.lo, hi = s.slack.hi;
  std::erase_if(s.start.terms, [&](const Form::Term &t) {
    if (!which(t.symbol))
      return false;
    reach(t, lo, hi);
    s.grain = std::gcd(s.grain, t.factor);
    return true;
  });
  if (lo < -kFar || hi > kFar)
    return 0; // anywhere in its cell
  s.slack = {static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
  return internSpot(s);
}

// What a register holds that grows by the same amount in each round.
RegisterValue Walk::progression(const LoopProof &p, const RegisterValue &first, int64_t step) {
  RegisterValue round = RegisterValue::range(0, p.a.lastRound);
  round.form = symbolForm(p.a.level);
  const RegisterValue out = add(first, scaled(round, step));
  return out.lo < INT32_MIN || out.hi > INT32_MAX || !out.form ? RegisterValue::any() : out;
}

// What a register holds at the head, from what it held there before and at the end of the round. Returns whether that is less.
bool Walk::weaken(const LoopProof &p, RegisterValue &held, const RegisterValue &entry, const RegisterValue &end, int pass) {
  const uint32_t m = p.a.level;
  RegisterValue next = held;
  next.undefined |= end.undefined;
  const bool follows = held.form && end.form && moveForm(*held.form, m, 1) == *end.form;
  if (!follows) {
    const bool fresh = held.form && end.form && entry.form && held.form == entry.form && held.form->terms == end.form->terms;
    if (fresh) {
      next = progression(p, entry, end.form->constant - held.form->constant);
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

} // namespace glia::flow
