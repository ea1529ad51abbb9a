// Loops by an invariant (docs/verifier.md). The head (LoopHead.cpp) is weakened until a round that begins with it ends with it. That search
// proves nothing; the last round does, which is walked and reported like any other code.
#include "Walk.h"

#include <algorithm>
#include <utility>

namespace glia::flow {

namespace {

constexpr size_t kDeepest = 12; // nested loops
constexpr int kMostPasses = 40; // of a search

} // namespace

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
  const auto &now = state.barriers, &then = p.entry.barriers;
  const bool alike = std::equal(now.begin(), now.end(), then.begin(), then.end(), [](const auto &x, const auto &y) {
    return x.second.arrived.size() == y.second.arrived.size(); // who waits stays; who is in the loop waits at none
  });
  if (!alike) {
    failForGood("BARRIER-PAIR", p.run.firstWho, "an engine outside of the loop meets a barrier that is in it");
    return false;
  }
  return true;
}

bool Walk::walkIteration(LoopProof &p, int64_t phase) {
  const int64_t last = p.run.count.hi - 1;
  active.back().iteration = ++iterations;
  active.back().phase = phase;
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
      e.regs.change(f.iv) = iv;
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
      e.regs.change(f.cond) = tested;
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
           "its condition does not come from the same source as that of the other engines of group `" + p.run.group + "`",
           {}, {}, {"the other: " + reporter.describe(ref(p.run.firstWho)), "the values are those after an iteration"});
  }
  return true;
}

// From the head. False: the program is wrong, and it was said.
bool Walk::walkRound(LoopProof &p, bool keepExits) {
  state = p.head;
  active.back() = p.a;
  for (size_t i = 0; i < p.a.members.size(); ++i)
    for (const auto &[reg, value] : p.headRegs[i])
      state.engines[p.a.members[i]].regs.change(reg) = value;
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
  Takes takes;
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
    same &= std::exchange(p.consumerOf[s], m.consumer) == m.consumer;
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

bool Walk::joinInto(State &into, const State &other) {
  return join(into, other, [this](uint32_t x, uint32_t y) { return joinContents(x, y); });
}

void Walk::prove(LoopRun &run) {
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
  planLoop(p);
  for (int pipe : p.pipes)
    for (const auto &side : state.exchanges[pipe])
      if (!side.empty())
        return failForGood(
            "SENDRECV-PAIR", who(side.front().d),
            format("it is issued before a loop, and pipe %d is used in the loop before the other core has come", pipe));
  for (size_t i = 0; i < run.arrived.size(); ++i)
    changeStream(state.engines[run.arrived[i]], p.streams[i]);
  raiseQuiet(state, state.numbers, p.components);
  p.entry = std::move(state); // every round begins with a state of its own
  p.a.begun = p.entry.numbers;
  for (size_t i = 0; i < run.arrived.size(); ++i) {
    const EngineWalk &e = p.entry.engines[run.arrived[i]];
    p.depthOf[run.arrived[i]] = e.loops.size();
    p.headRegs.emplace_back();
    for (int reg : p.written[i]) {
      p.headRegs[i][reg] = e.regs[reg];
      p.headRegs[i][reg].source = 0;
    }
  }
  p.lengths.assign(components, 0);
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
  if (certificate.in) {
    readHint(p);
  } else {
    const bool searching = muted > 0; // for a loop around this one: nothing rests on what is found
    if (!search(p, searching))
      return;
    if (searching) {
      leaveProved(p);
      active.pop_back();
      return;
    }
    forgetValues(p.firstValue - kFirstValue);
    if (certificate.out)
      writeHint(p);
  }

  // The proof: one round from the head, which ends with the head.
  if (!walkRound(p, true))
    return;
  if (!holds(p))
    return failForGood("LOOP-FORM", run.firstWho, "what is said of this loop does not hold in its next iteration");
  leaveProved(p);
  active.pop_back();
}

// Weakens the head until a round that begins with it seems to end with it. False: that was not found, or the program is wrong; it was said.
bool Walk::search(LoopProof &p, bool keepExits) {
  LoopMemory &memory = memories[p.run.firstWho];
  if (!memory.lengths.empty())
    p.lengths = memory.lengths;
  p.takes = memory.takes;
  p.consumerOf = memory.consumerOf;
  p.most = memory.most;
  ++muted;
  bool found = false;
  makeHead(p);
  int fits = 0; // rounds of the right length
  for (int pass = 0; pass < kMostPasses && !found; ++pass) {
    if (!walkRound(p, keepExits))
      return false;
    if (!measureRound(p)) { // begin again with the right numbers
      for (uint32_t c : p.components)
        if (uint64_t{p.a.gaps[c].base} + uint64_t{p.lengths[c]} * 24 > INT32_MAX) {
          failForGood("LOOP-FORM", p.run.firstWho, "the program is too long");
          return false;
        }
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
      found = !joinInto(p.head, aged(p, std::move(state)));
  }
  --muted;
  memory.lengths = p.lengths;
  memory.takes = p.takes;
  memory.consumerOf = p.consumerOf;
  memory.most = p.most;
  if (!found)
    failForGood("LOOP-FORM", p.run.firstWho,
                "no state was found that holds at the beginning of every iteration of this loop");
  return found;
}

// Whether the round that was walked ends with what it began with.
bool Walk::holds(LoopProof &p) {
  bool same = measureRound(p);
  for (size_t i = 0; i < p.a.members.size(); ++i)
    for (auto &[reg, value] : p.headRegs[i])
      same &= !weaken(p, value, p.entry.engines[p.a.members[i]].regs[reg], state.engines[p.a.members[i]].regs[reg], 0);
  same = same && !joinInto(p.head, aged(p, std::move(state)));
  return same;
}

// Values that only a search has seen: nothing that is left of it names one.
void Walk::forgetValues(size_t left) {
  for (size_t i = left; i < valueRanges.size(); ++i)
    valueOf.erase(valueSources[i]);
  valueRanges.resize(left);
  valueSources.resize(left);
}

} // namespace glia::flow
