#include "Walk.h"
#include "glia/ISA/Control.h"

#include <algorithm>

namespace glia::flow {

Walk::Walk(const Program &p, const VerifyOptions &o, Reporter &r, VerifyResult &result, bool coarse)
    : program(p), options(o), reporter(r), result(result), serialSbuf(!p.target->has("vector_gpsimd_concurrent")),
      serialPsum(!p.target->has("vector_scalar_psum_concurrent")), anyWriter(p.target->has("psum_accumulate_any_writer")),
      coarse(coarse) {}

void Walk::fail(std::string_view rule, uint32_t whoseFault, int slot, std::string what, std::string value, std::string limit,
                std::vector<std::string> notes) {
  if (reported.emplace(std::string(rule), whoseFault, slot).second)
    reporter.fail(rule, ref(whoseFault), slot, std::move(what), std::move(value), std::move(limit), std::move(notes));
}

// ---- preparation --------------------------------------------------------------------------------------------

void Walk::scan() {
  const int cores = static_cast<int>(program.cores);
  uses.resize(program.semaphores.size());
  std::map<std::string, std::set<int>> members;
  for (int c = 0; c < cores; ++c)
    for (int e = 0; e < kNumEngines; ++e) {
      const Stream &s = program.stream(c, static_cast<Engine>(e));
      const uint32_t bit = 1u << (c * kNumEngines + e);
      for (uint32_t i = 0; i < s.instrs.size(); ++i) {
        const Instr &in = s.instrs[i];
        const InstrDef &def = *program.opcodes[in.opcode];
        for (int k = 0; k < in.numWaits + in.numUpdates; ++k) {
          const SyncOp &op = s.syncs[in.sync + k];
          SemaphoreUse &u = uses[op.semaphore];
          if (op.kind == SyncKind::Add) {
            u.producerEngines |= bit;
            u.dmaProducer |= def.unit == Unit::Dma || def.unit == Unit::Exchange;
          } else if (op.kind == SyncKind::WaitGe || op.kind == SyncKind::WaitGeConsume) {
            u.waiters |= bit;
            u.consumers |= op.kind == SyncKind::WaitGeConsume ? bit : 0;
          } else {
            fail("SYNC-FORM", whoIs(c, static_cast<Engine>(e), i), -1,
                 "it subtracts from or overwrites semaphore `" + program.semaphores[op.semaphore].name +
                     "` when it completes");
          }
        }
        if (def.unit == Unit::Exchange) {
          decode(program, c, static_cast<Engine>(e), i, scratch);
          const int pipe = scratch.values[def.slot("pipe")].integer;
          pipeComp.emplace(pipe, 0);
        }
        if (beginsLoop(def)) {
          decode(program, c, static_cast<Engine>(e), i, scratch);
          const std::string &group = program.strings[scratch.values[def.slot("group")].integer];
          if (!group.empty())
            members[group].insert(c * kNumEngines + e);
        }
      }
    }
  for (const auto &[group, who] : members)
    groupMembers[group] = static_cast<int>(who.size());
  for (size_t s = 0; s < uses.size(); ++s)
    if ((uses[s].consumers & (uses[s].consumers - 1)) != 0 || (uses[s].consumers && uses[s].waiters != uses[s].consumers))
      reporter.failProgram("SYNC-CONSUMER", "semaphore `" + program.semaphores[s].name +
                                                "` is consumed by one engine and waited on by another");

  components = cores * kNumEngines + program.queues.size();
  for (auto &[pipe, comp] : pipeComp)
    comp = static_cast<uint32_t>(components++);
  queueSeq.assign(program.queues.size(), 0);
  queueOwner.assign(program.queues.size(), UINT32_MAX);
  lastAccess.assign(components, 0);
  semaphores.resize(program.semaphores.size());
  for (size_t s = 0; s < semaphores.size(); ++s)
    semaphores[s].reset(program.semaphores[s].initial, uses[s].single(), components);
  engines.resize(cores * kNumEngines);
  for (int c = 0; c < cores; ++c)
    for (int e = 0; e < kNumEngines; ++e) {
      EngineWalk &w = engines[c * kNumEngines + e];
      w.core = c;
      w.engine = static_cast<Engine>(e);
      w.comp = static_cast<uint32_t>(c * kNumEngines + e);
      w.knows.reset(components);
    }
  chip.resize(cores);
  hbm.resize(program.tensors.size());
  for (size_t t = 0; t < hbm.size(); ++t)
    hbm[t].resize(program.tensors[t].shared ? 1 : cores);
  for (size_t t = 0; t < hbm.size(); ++t)
    if (!program.tensors[t].from.empty()) // it begins as an input: defined, and nobody wrote it
      hbm[t][0].visit(0, program.tensors[t].bytes(), 1, [](Cell &c) { c.defined = true; });
}

// Loops with an immediate count are walked one iteration at a time as long as the whole program stays below the bound;
// the longest ones are summarised first.
void Walk::chooseWalkedLoops() {
  constexpr int64_t kBound = 4'000'000;
  std::set<int64_t> counts;
  auto total = [&](int64_t limit) {
    double sum = 0;
    for (uint32_t c = 0; c < program.cores; ++c)
      for (int e = 0; e < kNumEngines; ++e) {
        const Stream &s = program.stream(static_cast<int>(c), static_cast<Engine>(e));
        std::vector<double> factor{1};
        for (uint32_t i = 0; i < s.instrs.size(); ++i) {
          const InstrDef &def = *program.opcodes[s.instrs[i].opcode];
          sum += factor.back();
          if (beginsLoop(def)) {
            decode(program, static_cast<int>(c), static_cast<Engine>(e), i, scratch);
            const int count = def.slot("count");
            const bool fixed = count >= 0 && scratch.values[count].kind == Value::Int;
            const int64_t n = fixed ? std::max<int64_t>(scratch.values[count].integer, 0) : 8;
            counts.insert(n);
            factor.push_back(factor.back() * static_cast<double>(n <= limit ? n : 8));
          } else if (endsLoop(def) && factor.size() > 1) {
            factor.pop_back();
          }
        }
      }
    return sum;
  };
  largestWalkedCount = 8; // counts from registers are taken as this, whatever they are
  if (total(INT64_MAX) <= kBound) {
    if (!counts.empty())
      largestWalkedCount = std::max(largestWalkedCount, *counts.rbegin());
    return;
  }
  const std::set<int64_t> candidates = counts;
  for (int64_t n : candidates)
    if (n > largestWalkedCount && total(n) <= kBound)
      largestWalkedCount = n;
}

// ---- the walk -----------------------------------------------------------------------------------------------

void Walk::run() {
  scan();
  if (reporter.broken())
    return;
  chooseWalkedLoops();
  bool progress = true;
  constexpr uint64_t kMostSteps = 20'000'000; // nested counts from registers can be worse than the estimate
  uint64_t steps = 0;
  while (progress && !reporter.full()) {
    progress = false;
    for (EngineWalk &e : engines)
      while (step(e)) {
        progress = true;
        if (reporter.full())
          return;
        const size_t size = program.stream(e.core, e.engine).instrs.size();
        if (++steps > kMostSteps && e.pc < size)
          return reporter.fail(
              "LOOP-FORM", {e.core, e.engine, static_cast<uint32_t>(e.pc)}, -1,
              format("its loops make the program longer than %llu instructions", (unsigned long long)kMostSteps),
              std::to_string(steps), std::to_string(kMostSteps));
      }
  }
  const bool ended = std::all_of(engines.begin(), engines.end(), [this](const EngineWalk &e) {
    return e.pc >= program.stream(e.core, e.engine).instrs.size();
  });
  if (!ended)
    reportBlocked();
  for (auto &[pipe, sides] : exchanges)
    for (auto &side : sides)
      for (PendingExchange &x : side)
        fail("SENDRECV-PAIR", who(x.d), -1, format("the other core has no matching sendrecv on pipe %d", pipe));
  if (ended && !reporter.broken())
    checkOutputs();
}

int Walk::genericDepth(const EngineWalk &e) const {
  for (size_t i = 0; i < e.loops.size(); ++i)
    if (e.loops[i].generic)
      return static_cast<int>(i);
  return -1;
}

Snapshot Walk::snapshot(const EngineWalk &e) const {
  Snapshot s;
  s.base = e.knows.share();
  s.comp[0] = e.comp;
  s.seq[0] = e.seq;
  return s;
}

// What loops that may not run have added so far, as seen by an engine that is not in them: it cannot count on it.
int64_t Walk::uncertain(const EngineWalk &e, uint32_t semaphore) const {
  auto inside = [&e](const LoopRun *run) {
    return !run || std::any_of(e.loops.begin(), e.loops.end(), [run](const LoopFrame &f) { return f.run.get() == run; });
  };
  int64_t sum = 0;
  for (const auto &run : uncertainRuns)
    if (!inside(run.get()) && inside(run->outer.get()))
      if (auto it = run->net.find(semaphore); it != run->net.end())
        sum += std::max<int64_t>(it->second, 0);
  return sum;
}

bool Walk::passWaits(EngineWalk &e, const Decoded &d) {
  const bool skip = generic(e); // balanced, so the generic iteration changes nothing (L3)
  for (; e.nextWait < d.waits.size(); ++e.nextWait) {
    const SyncOp &op = d.waits[e.nextWait];
    const bool consume = op.kind == SyncKind::WaitGeConsume;
    for (LoopFrame &f : e.loops)
      if (f.run->summarised && !skip) {
        if (consume)
          f.run->net[op.semaphore] -= op.value;
        else
          f.run->plainWaits[op.semaphore] = true;
      }
    if (skip)
      continue;
    SemaphoreState &s = semaphores[op.semaphore];
    if (!s.passable(op.value) || (!uncertainRuns.empty() && s.value() - uncertain(e, op.semaphore) < op.value)) {
      if (!e.loops.empty()) // counted again when the wait is tried again
        for (LoopFrame &f : e.loops)
          if (f.run->summarised && consume)
            f.run->net[op.semaphore] += op.value;
      return false;
    }
    if (s.ambiguous(op.value))
      fail("SYNC-AMBIGUOUS", who(d), -1,
           format("it waits for `%s` >= %d, and additions that sum to %lld may have happened by then: the wait proves none "
                  "of them",
                  program.semaphores[op.semaphore].name.c_str(), op.value, (long long)s.value()),
           format("%lld", (long long)s.value()), std::to_string(op.value));
    s.pass(op.value, consume, e.comp, e.seq + 1, who(d), e.knows);
  }
  e.nextWait = 0;
  return true;
}

// `loops`: where the instruction was issued. A generic iteration fires nothing: it is balanced (L3).
void Walk::fireUpdates(const std::vector<LoopFrame> &loops, const Decoded &d, const Snapshot &snap) {
  for (const LoopFrame &f : loops)
    if (f.generic)
      return;
  for (const SyncOp &op : d.updates) {
    SemaphoreState &s = semaphores[op.semaphore];
    if (const Guard *g = s.overtaken(snap))
      fail("SYNC-AMBIGUOUS", who(d), -1,
           format("it adds to `%s` and may do so before an earlier wait on it has passed: that wait then proves nothing",
                  program.semaphores[op.semaphore].name.c_str()),
           {}, {}, {"the wait: " + reporter.describe(ref(g->who))});
    for (const LoopFrame &f : loops)
      if (f.run->summarised)
        f.run->semaphoresBefore.emplace(op.semaphore, s.before());
    s.add(op.value, snap);
    if (const int64_t top = s.highest(snap); top > program.target->semaphoreMax)
      fail("SYNC-RANGE", who(d), -1,
           format("semaphore `%s` can reach %lld", program.semaphores[op.semaphore].name.c_str(), (long long)top),
           std::to_string(top), std::to_string(program.target->semaphoreMax));
    for (const LoopFrame &f : loops)
      if (f.run->summarised) {
        f.run->net[op.semaphore] += op.value;
        f.run->produced[op.semaphore] = true;
      }
  }
}

bool Walk::step(EngineWalk &e) {
  const Stream &s = program.stream(e.core, e.engine);
  if (e.pc >= s.instrs.size())
    return false;
  Visit &v = e.loops.empty() ? single : e.recent[e.pc % e.recent.size()];
  const Decoded &d = v.d;
  if (e.loops.empty() || !d.def || d.index != e.pc) {
    decode(program, e.core, e.engine, e.pc, v.d);
    v.resolved = false;
  }
  if (e.maybeUntil && e.pc >= e.maybeUntil) { // both ways of a branch meet here
    for (int r = 0; r < 64; ++r)
      e.regs[r] = join(e.regs[r], e.regsAtBranch[r]);
    e.maybeUntil = 0;
  }
  if (!e.arrived && !passWaits(e, d))
    return false;
  switch (d.def->unit) {
  case Unit::Compute:
    ++e.seq;
    stepCompute(e, v);
    break;
  case Unit::Register:
    ++e.seq;
    stepRegister(e, v);
    break;
  case Unit::Dma:
    ++e.seq;
    stepDma(e, v);
    ++e.pc;
    return true;
  case Unit::Exchange:
    ++e.seq;
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
    fireUpdates(e.loops, d, snapshot(e));
  ++e.pc;
  return true;
}

void Walk::stepCompute(EngineWalk &e, Visit &v) {
  const Decoded &d = v.d;
  checkTables(e, d);
  resolveAll(e, v);
  touchAll(e, d, v.places, Issuer{e.comp, e.seq, who(d), &e, &e.knows});
}

void Walk::stepDma(EngineWalk &e, Visit &v) {
  const Decoded &d = v.d;
  const int q = d.values[d.def->slot("queue")].integer;
  resolveAll(e, v);
  if (generic(e)) {
    touchAll(e, d, v.places, Issuer{e.comp, e.seq, who(d), &e, &e.knows});
    return;
  }
  const uint32_t comp = static_cast<uint32_t>(program.cores * kNumEngines + q);
  const uint32_t n = ++queueSeq[q];
  queueOwner[q] = e.comp;
  touchAll(e, d, v.places, Issuer{comp, n, who(d), &e, &e.knows});
  Snapshot s = snapshot(e);
  s.comp[1] = comp;
  s.seq[1] = n;
  fireUpdates(e.loops, d, s);
}

void Walk::stepExchange(EngineWalk &e, Visit &v) {
  const Decoded &d = v.d;
  resolveAll(e, v);
  if (generic(e))
    return;
  const int pipe = d.values[d.def->slot("pipe")].integer;
  PendingExchange x{d, v.places, snapshot(e), e.loops};
  exchanges[pipe][e.core].push_back(std::move(x));
  meetExchanges(pipe);
}

void Walk::meetExchanges(int pipe) {
  auto &sides = exchanges[pipe];
  while (!sides[0].empty() && !sides[1].empty()) {
    PendingExchange x[2] = {std::move(sides[0].front()), std::move(sides[1].front())};
    sides[0].pop_front();
    sides[1].pop_front();
    const uint32_t n = ++pipeSeq[pipe];
    const uint32_t comp = pipeComp[pipe];
    Knowledge both;
    both.reset(components);
    both.join(x[0].snapshot);
    both.join(x[1].snapshot);
    const int dst = x[0].d.def->slot("dst"), src = x[0].d.def->slot("src");
    const Pattern &sent0 = program.patterns[x[0].d.values[src].access.pattern],
                  &got1 = program.patterns[x[1].d.values[dst].access.pattern];
    const Pattern &sent1 = program.patterns[x[1].d.values[src].access.pattern],
                  &got0 = program.patterns[x[0].d.values[dst].access.pattern];
    auto same = [](const Pattern &a, const Pattern &b) {
      return a.dtype == b.dtype && a.partitions == b.partitions && a.elementsPerPartition() == b.elementsPerPartition();
    };
    if (!same(sent0, got1) || !same(sent1, got0))
      fail("SENDRECV-PAIR", who(x[0].d), -1,
           format("what one core sends on pipe %d has another shape or type than what the other receives", pipe), {}, {},
           {"the other: " + reporter.describe(ref(who(x[1].d)))});
    // Each side is checked with the knowledge of both issuers; what arrives is defined if what was sent is.
    bool defined[2] = {true, true};
    for (int side = 0; side < 2; ++side) {
      const Issuer issuer{comp, n, who(x[side].d),
                          &engines[x[side].d.core * kNumEngines + static_cast<int>(x[side].d.engine)], &both};
      for (const Place &p : x[side].places)
        if (p.slot == src)
          defined[side] = !read(p, issuer, nullptr);
    }
    for (int side = 0; side < 2; ++side) {
      EngineWalk &e = engines[x[side].d.core * kNumEngines + static_cast<int>(x[side].d.engine)];
      const Issuer issuer{comp, n, who(x[side].d), &e, &both};
      for (const Place &p : x[side].places)
        if (p.slot == dst)
          write(x[side].loops, p, issuer, defined[1 - side], !p.fixed, false, 0);
      Snapshot s;
      s.base = both.share();
      s.comp[0] = comp;
      s.seq[0] = n;
      fireUpdates(x[side].loops, x[side].d, s);
    }
  }
}

bool Walk::stepBarrier(EngineWalk &e, const Decoded &d) {
  const std::string &barrier = program.strings[d.values[d.def->slot("name")].integer];
  if (generic(e)) {
    ++e.seq;
    return true;
  }
  if (!e.arrived) {
    ++e.seq;
    e.arrived = true;
    barriers[{barrier, e.barriers[barrier]++}].arrived.emplace_back(e.core, snapshot(e));
  }
  BarrierMeet &m = barriers[{barrier, e.barriers[barrier] - 1}];
  if (m.arrived.size() < 2)
    return false;
  if (m.arrived[0].first == m.arrived[1].first)
    fail("BARRIER-PAIR", who(d), -1, "two engines of one core are at barrier `" + barrier + "`");
  e.knows.join(m.arrived[0].second);
  e.knows.join(m.arrived[1].second);
  e.arrived = false;
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
  const Issuer issuer{e.comp, e.seq, who(d), &e, &e.knows};
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
    v.undefined = generic(e) ? false : read(p, issuer, &content);
    const std::optional<Content> known = p.space == Space::Hbm ? inputContent(p)
                                         : content             ? std::optional(contents[content])
                                                               : std::nullopt;
    if (known && known->lo >= INT32_MIN && known->hi <= INT32_MAX && isInteger(t))
      v.lo = known->lo, v.hi = known->hi;
    touchFromRegister(e, p, issuer, false);
    v.source = sourceOf(e, p);
    e.regs[d.values[d.def->slot("dst")].integer] = v;
  } else if (d.def->name == "reg_store") {
    const bool undefined = operand("src").undefined;
    if (!generic(e))
      for (const Place &p : places) {
        write(e.loops, p, issuer, !undefined, e.maybeUntil || !p.fixed, false, 0);
        touchFromRegister(e, p, issuer, true);
      }
  } else if (d.def->name == "reg_move") {
    e.regs[d.values[d.def->slot("dst")].integer] = operand("src");
  } else if (d.def->name == "reg_alu") {
    static constexpr std::string_view kNames[] = {"add", "subtract",   "multiply",    "and", "or",
                                                  "xor", "shift_left", "shift_right", "min", "max"};
    const int op = d.def->slot("op");
    const std::string_view opName = d.def->slots[op].names->names[d.values[op].integer];
    const auto *it = std::find(std::begin(kNames), std::end(kNames), opName);
    const RegisterValue a = operand("a"), b = operand("b");
    RegisterValue v = apply(static_cast<RegOp>(it - std::begin(kNames)), a, b);
    const auto from = static_cast<int64_t>(identity(a)), with = static_cast<int64_t>(identity(b));
    if (from && with)
      v.source = intern({Computed, d.values[op].integer, from, with});
    e.regs[d.values[d.def->slot("dst")].integer] = v;
  }
}

bool Walk::stepControl(EngineWalk &e, const Decoded &d) {
  if (d.def->name == "branch") {
    ++e.seq;
    branch(e, d);
    return true;
  }
  if (!e.arrived && !d.updates.empty())
    fireUpdates(e.loops, d, snapshot(e));
  return beginsLoop(*d.def) ? enterLoop(e, d) : endLoop(e);
}

// ---- the end ------------------------------------------------------------------------------------------------

void Walk::reportBlocked() {
  std::vector<std::string> notes;
  uint32_t first = UINT32_MAX;
  bool barrier = false;
  std::string what;
  for (EngineWalk &e : engines) {
    if (e.pc >= program.stream(e.core, e.engine).instrs.size())
      continue;
    Decoded d;
    decode(program, e.core, e.engine, e.pc, d);
    const std::string at = reporter.describe(ref(who(d)));
    if (e.arrived) {
      if (d.def->unit == Unit::Barrier) {
        notes.push_back(at + " waits at barrier `" + program.strings[d.values[d.def->slot("name")].integer] + "`");
        if (first == UINT32_MAX || !barrier) {
          first = who(d);
          barrier = true;
          what = "barrier `" + program.strings[d.values[d.def->slot("name")].integer] + "` is never met by the other core";
        }
      }
      continue;
    }
    if (e.nextWait >= d.waits.size())
      continue;
    const SyncOp &op = d.waits[e.nextWait];
    const std::string &semaphore = program.semaphores[op.semaphore].name;
    const std::string line = format("waits for `%s` >= %d, which stays at %lld", semaphore.c_str(), op.value,
                                    (long long)semaphores[op.semaphore].value());
    notes.push_back(format("%s %s", at.c_str(), line.c_str()));
    if (first == UINT32_MAX) {
      first = who(d);
      what = "it " + line + (uses[op.semaphore].producerEngines ? "" : "; nothing adds to it");
    }
  }
  if (first == UINT32_MAX)
    return;
  fail(barrier ? "BARRIER-PAIR" : "SYNC-DEADLOCK", first, -1, what, {}, {}, notes);
}

void Walk::checkOutputs() {
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor &tensor = program.tensors[t];
    if (tensor.kind != TensorKind::Output)
      continue;
    int64_t good = 0, firstBad = -1;
    int64_t at = 0;
    hbm[t][0].forEach([&](int64_t lo, int64_t hi, Cell &c) {
      if (lo > at && firstBad < 0)
        firstBad = at;
      at = std::max(at, hi);
      if (c.defined)
        good += hi - lo;
      else if (firstBad < 0)
        firstBad = lo;
    });
    if (good == tensor.bytes())
      continue;
    if (firstBad < 0)
      firstBad = at;
    reporter.failProgram("OUTPUT-UNWRITTEN",
                         format("%lld of the %lld bytes of output `%s` are not certain to be written with defined values, "
                                "the first at byte %lld",
                                (long long)(tensor.bytes() - good), (long long)tensor.bytes(), tensor.name.c_str(),
                                (long long)firstBad),
                         std::to_string(good), std::to_string(tensor.bytes()));
  }
}

} // namespace glia::flow
