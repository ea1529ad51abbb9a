#include "Walk.h"
#include "glia/ISA/Control.h"
#include "glia/Support/Checkpoint.h"

#include <algorithm>
#include <numeric>

namespace glia::flow {

Walk::Walk(const Program &p, const VerifyOptions &o, Reporter &r, VerifyResult &result, Mode mode, Hints certificate)
    : program(p), options(o), reporter(r), result(result), serialSbuf(!p.target->has("vector_gpsimd_concurrent")),
      serialPsum(!p.target->has("vector_scalar_psum_concurrent")), anyWriter(p.target->has("psum_accumulate_any_writer")),
      coarse(mode == Mode::Coarse), waysApart(mode == Mode::WaysApart), certificate(std::move(certificate)) {}

void Walk::fail(std::string_view rule, uint32_t whoseFault, int slot, std::string what, std::string value, std::string limit,
                std::vector<std::string> notes) {
  if (!muted && reported.emplace(std::string(rule), whoseFault, slot).second)
    reporter.fail(rule, ref(whoseFault), slot, std::move(what), std::move(value), std::move(limit), std::move(notes));
}

// ---- the walk -----------------------------------------------------------------------------------------------

// Lets the engines step until none can. Returns whether one did.
bool Walk::stepAll(const std::vector<uint32_t> &which) {
  constexpr uint64_t kMostSteps = 20'000'000; // nested counts from registers can be worse than the estimate
  bool any = false;
  for (bool progress = true; progress && !reporter.full() && !stopped;) {
    progress = false;
    for (uint32_t number : which)
      while (!reporter.full() && !stopped && step(state.engines[number])) {
        checkpoint();
        progress = any = true;
        const EngineWalk &e = state.engines[number];
        if (++steps > kMostSteps && e.pc < program.stream(e.core, e.engine).instrs.size())
          failForGood("LOOP-FORM", whoIs(e.core, e.engine, e.pc),
                      format("its loops make the program longer than %llu instructions", (unsigned long long)kMostSteps),
                      std::to_string(steps), std::to_string(kMostSteps));
      }
    const auto next = std::find_if(state.ready.begin(), state.ready.end(), [&which](const auto &run) {
      return std::find(which.begin(), which.end(), run->arrived[0]) != which.end();
    });
    if (!progress && next != state.ready.end() && !stopped) {
      const std::shared_ptr<LoopRun> run = *next;
      state.ready.erase(next);
      prove(*run);
      progress = any = true;
    }
  }
  return any;
}

// From the state, with everything that has to hold at the end.
void Walk::walkToTheEnd(const std::vector<uint32_t> &everyone) {
  stepAll(everyone);
  if (reporter.full() || stopped)
    return;
  const bool ended = std::all_of(state.engines.begin(), state.engines.end(), [this](const EngineWalk &e) {
    return e.pc >= program.stream(e.core, e.engine).instrs.size();
  });
  reportBlocked(everyone);
  if (ended && !reporter.broken())
    checkOutputs();
}

void Walk::run() {
  scan();
  if (reporter.broken())
    return;
  std::vector<uint32_t> everyone(state.engines.size());
  std::iota(everyone.begin(), everyone.end(), 0u);
  while (true) {
    walkToTheEnd(everyone);
    if (reporter.full() || stopped)
      return;
    if (ways.empty())
      break;
    state = std::move(ways.back().state);
    writeValues = std::move(ways.back().values);
    ways.pop_back();
  }
  for (uint32_t loop : loopsProved)
    loopsWalked.erase(loop);
  result.loopsWalked = loopsWalked.size();
  result.loopsByInvariant = loopsProved.size();
}

Snapshot Walk::snapshot(const EngineWalk &e) const {
  Snapshot s;
  s.base = e.knows.share();
  s.comp[0] = e.stream;
  s.seq[0] = state.numbers[e.stream];
  return s;
}

bool Walk::passWaits(EngineWalk &e, const Decoded &d) {
  for (; e.nextWait < d.waits.size(); ++e.nextWait) {
    const SyncOp &op = d.waits[e.nextWait];
    const bool consume = op.kind == SyncKind::WaitGeConsume;
    SemaphoreState &s = state.semaphores[op.semaphore];
    if (!s.passable(op.value))
      return false;
    if (s.ambiguous(op.value))
      fail("SYNC-AMBIGUOUS", who(d), -1,
           format("it waits for `%s` >= %d, and additions that sum to %lld may have happened by then: the wait proves none "
                  "of them",
                  program.semaphores[op.semaphore].name.c_str(), op.value, (long long)s.value()),
           format("%lld", (long long)s.value()), std::to_string(op.value));
    if (op.value > 0 && (consume || !s.single)) // others may have to know that it has passed
      state.lastEvent[e.stream] = state.numbers[e.stream] + 1;
    s.pass(op.value, consume, e.stream, state.numbers[e.stream] + 1, who(d), e.knows);
  }
  e.nextWait = 0;
  return true;
}

void Walk::fireUpdates(const Decoded &d, const Snapshot &snap) {
  for (const SyncOp &op : d.updates) {
    SemaphoreState &s = state.semaphores[op.semaphore];
    if (const Guard *g = s.overtaken(snap))
      fail("SYNC-AMBIGUOUS", who(d), -1,
           format("it adds to `%s` and may do so before an earlier wait on it has passed: that wait then proves nothing",
                  program.semaphores[op.semaphore].name.c_str()),
           {}, {}, {"the wait: " + reporter.describe(ref(g->who))});
    s.add(op.value, snap);
    if (const int64_t top = s.highest(snap); top > program.target->semaphoreMax)
      fail("SYNC-RANGE", who(d), -1,
           format("semaphore `%s` can reach %lld", program.semaphores[op.semaphore].name.c_str(), (long long)top),
           std::to_string(top), std::to_string(program.target->semaphoreMax));
  }
}

bool Walk::step(EngineWalk &e) {
  const Stream &s = program.stream(e.core, e.engine);
  if (e.pc >= s.instrs.size())
    return false;
  Visit &v = e.loops.empty() ? single : recent[e.number][e.pc % recent[e.number].size()];
  const Decoded &d = v.d;
  if (e.loops.empty() || !d.def || d.index != e.pc) {
    decode(program, e.core, e.engine, e.pc, v.d);
    v.resolved = false;
  }
  if (e.ended)
    return false; // until the iteration of the others has ended too
  endMaybe(e);
  if (!e.arrived && !passWaits(e, d))
    return false;
  switch (d.def->unit) {
  case Unit::Compute:
    nextNumber(e, d);
    stepCompute(e, v);
    break;
  case Unit::Register:
    nextNumber(e, d);
    stepRegister(e, v);
    break;
  case Unit::Dma:
    ++state.numbers[e.stream];
    stepDma(e, v);
    ++e.pc;
    return true;
  case Unit::Exchange:
    ++state.numbers[e.stream];
    stepExchange(e, v);
    ++e.pc;
    return true;
  case Unit::Barrier:
    if (!stepBarrier(e, d))
      return false;
    break;
  case Unit::Control: return stepControl(e, d);
  }
  if (!d.updates.empty())
    fireUpdates(d, snapshot(e));
  ++e.pc;
  return true;
}

Walk::Issuer Walk::issuer(const EngineWalk &e, const Decoded &d) const {
  return {e.stream, state.numbers[e.stream], who(d), e.number, &e.knows};
}

void Walk::stepCompute(EngineWalk &e, Visit &v) {
  const Decoded &d = v.d;
  checkTables(e, d);
  resolveAll(e, v);
  touchAll(e, d, v.places, issuer(e, d));
}

void Walk::stepDma(EngineWalk &e, Visit &v) {
  const Decoded &d = v.d;
  const int q = d.values[d.def->slot("queue")].integer;
  resolveAll(e, v);
  const uint32_t comp = queueStream(q, e.stream);
  const uint32_t n = ++state.numbers[comp];
  touchAll(e, d, v.places, Issuer{comp, n, who(d), e.number, &e.knows});
  state.lastEvent[comp] = n;
  Snapshot s = snapshot(e);
  if (const auto &streams = queueStreams[static_cast<size_t>(q)];
      !streams.empty()) { // what the queue did before is complete then too
    Knowledge k = e.knows;
    const uint32_t outside = queueStream(q, e.number);
    k.join(outside, state.numbers[outside]);
    for (const auto &[in, other] : streams)
      k.join(other, state.numbers[other]);
    s.base = k.share();
  }
  s.comp[1] = comp;
  s.seq[1] = n;
  fireUpdates(d, s);
}

void Walk::stepExchange(EngineWalk &e, Visit &v) {
  const Decoded &d = v.d;
  resolveAll(e, v);
  checkOverlap(d, v.places);
  const int pipe = d.values[d.def->slot("pipe")].integer;
  state.exchanges[pipe][e.core].push_back({d, v.places, snapshot(e), e.maybeUntil != 0});
  meetExchanges(pipe);
}

void Walk::meetExchanges(int pipe) {
  auto &sides = state.exchanges[pipe];
  while (!sides[0].empty() && !sides[1].empty()) {
    PendingExchange x[2] = {std::move(sides[0].front()), std::move(sides[1].front())};
    sides[0].pop_front();
    sides[1].pop_front();
    const uint32_t comp = pipeComp[pipe];
    const uint32_t n = ++state.numbers[comp];
    state.lastEvent[comp] = n;
    Knowledge both;
    both.reset(components);
    both.join(x[0].snapshot);
    both.join(x[1].snapshot);
    const int dst = x[0].d.def->slot("dst"), src = x[0].d.def->slot("src");
    // What a core receives has the shape and type of what it sends (rules SAME-SHAPE and OPERAND-DTYPE).
    const Pattern &a = program.patterns[x[0].d.values[src].access.pattern],
                  &b = program.patterns[x[1].d.values[dst].access.pattern];
    if (a.dtype != b.dtype || a.partitions != b.partitions || a.elementsPerPartition() != b.elementsPerPartition())
      fail("SENDRECV-PAIR", who(x[0].d), -1,
           format("what one core sends on pipe %d has another shape or type than what the other receives", pipe), {}, {},
           {"the other: " + reporter.describe(ref(who(x[1].d)))});
    // It starts when both are issued, so each side is checked with what both issuers knew then, not with what they did since;
    // what arrives is defined if what was sent is.
    bool defined[2] = {true, true};
    uint64_t sent[2] = {0, 0};
    beginWrite(0);
    if (numbersValues)
      for (int side = 0; side < 2; ++side)
        for (const Place &p : x[side].places)
          if (p.slot == src)
            sent[side] = valueRead(p);
    for (int side = 0; side < 2; ++side)
      for (const Place &p : x[side].places)
        if (p.slot == dst)
          checkWrite(p, Issuer{comp, n, who(x[side].d), UINT32_MAX, &both});
    for (int side = 0; side < 2; ++side)
      for (const Place &p : x[side].places)
        if (p.slot == src)
          defined[side] = !read(p, Issuer{comp, n, who(x[side].d), UINT32_MAX, &both}, nullptr);
    for (int side = 0; side < 2; ++side) {
      for (const Place &p : x[side].places)
        if (p.slot == dst) {
          const Issuer by{comp, n, who(x[side].d), UINT32_MAX, &both};
          write(p, by, defined[1 - side], x[side].maybe, false, 0);
          keepValue(x[side].maybe ? 0 : sent[1 - side], p, by);
        }
      Snapshot s;
      s.base = both.share();
      s.comp[0] = comp;
      s.seq[0] = n;
      fireUpdates(x[side].d, s);
    }
  }
}

bool Walk::stepBarrier(EngineWalk &e, const Decoded &d) {
  const std::string &barrier = program.strings[d.values[d.def->slot("name")].integer];
  const uint32_t number = barrierNumbers.at(barrier);
  if (!e.arrived) {
    ++state.numbers[e.stream];
    e.arrived = true;
    state.barriers[{barrier, e.barriers.come(number)}].arrived.push_back(snapshot(e));
  }
  const auto meet = state.barriers.find({barrier, e.barriers.last(number)});
  if (meet->second.arrived.size() < 2)
    return false;
  for (const Snapshot &s : meet->second.arrived)
    e.knows.join(s);
  e.arrived = false;
  if (++meet->second.left == 2)
    state.barriers.erase(meet);
  return true;
}

void Walk::checkTables(EngineWalk &e, const Decoded &d) {
  const Target &t = *program.target;
  if (d.def->name == "act_table_load") {
    const std::string &set = program.strings[d.values[d.def->slot("set")].integer];
    e.residentSet = -2;
    for (size_t i = 0; i < t.activationSets.size() && !e.maybeUntil; ++i)
      if (t.activationSets[i].name == set)
        e.residentSet = static_cast<int>(i);
    return;
  }
  const int fn = d.def->slot("fn");
  if (fn < 0)
    return;
  const std::string_view function = d.def->slots[fn].names->names[d.values[fn].integer];
  const int needed = t.activationSet(function);
  if (needed >= 0 && needed != e.residentSet)
    fail("ACT-TABLE-RESIDENT", who(d), fn,
         format("`%s` needs activation set `%s`, and %s is resident", std::string(function).c_str(),
                t.activationSets[needed].name.c_str(),
                e.residentSet >= 0 ? ("`" + t.activationSets[e.residentSet].name + "`").c_str() : "no known set"),
         e.residentSet >= 0 ? t.activationSets[e.residentSet].name : "none", t.activationSets[needed].name);
}

void Walk::stepRegister(EngineWalk &e, Visit &visit) {
  const Decoded &d = visit.d;
  const std::vector<Place> &places = visit.places;
  resolveAll(e, visit);
  const Issuer by = issuer(e, d);
  auto operand = [&](std::string_view slotName) {
    const Value &v = d.values[d.def->slot(slotName)];
    return v.kind == Value::Register ? e.regs[v.integer] : RegisterValue::constant(v.integer);
  };
  if (d.def->name == "reg_load") {
    RegisterValue v = RegisterValue::any();
    const Place &p = places[0];
    const DType t = p.pattern->dtype;
    if (sizeOf(t) < 4 && isInteger(t))
      v = info(t).isSigned ? RegisterValue::range(-(1 << (8 * sizeOf(t) - 1)), (1 << (8 * sizeOf(t) - 1)) - 1)
                           : RegisterValue::range(0, (1 << (8 * sizeOf(t))) - 1);
    uint32_t content = 0;
    v.undefined = read(p, by, &content);
    const std::optional<Content> known = p.space == Space::Hbm ? inputContent(p)
                                         : content             ? std::optional(contents[content])
                                                               : std::nullopt;
    if (known && known->lo >= INT32_MIN && known->hi <= INT32_MAX && isInteger(t)) {
      const bool undefined = v.undefined;
      v = RegisterValue::range(known->lo, known->hi);
      v.undefined = undefined;
    }
    v.source = sourceOf(e, p);
    e.regs.change(d.values[d.def->slot("dst")].integer) = named(v);
  } else if (d.def->name == "reg_store") {
    const bool undefined = operand("src").undefined;
    beginWrite(0);
    for (const Place &p : places) {
      checkWrite(p, by);
      write(p, by, !undefined, e.maybeUntil != 0, false, 0);
    }
  } else if (d.def->name == "reg_move") {
    e.regs.change(d.values[d.def->slot("dst")].integer) = operand("src");
  } else if (d.def->name == "reg_alu") {
    const int op = d.values[d.def->slot("op")].integer;
    const RegisterValue a = operand("a"), b = operand("b");
    RegisterValue v = apply(static_cast<RegisterOp>(op), a, b);
    const auto from = static_cast<int64_t>(identity(a)), with = static_cast<int64_t>(identity(b));
    if (from && with)
      v.source = intern({Computed, op, from, with});
    e.regs.change(d.values[d.def->slot("dst")].integer) = named(v);
  }
}

bool Walk::stepControl(EngineWalk &e, const Decoded &d) {
  if (d.def->name == "branch") {
    ++state.numbers[e.stream];
    branch(e, d);
    return true;
  }
  if (!e.arrived && !d.updates.empty())
    fireUpdates(d, snapshot(e));
  return beginsLoop(*d.def) ? enterLoop(e, d) : endLoop(e);
}

} // namespace glia::flow
