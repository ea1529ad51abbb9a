// Loops and branches of the walk (docs/ordering.md, L1 to L8). Loops whose count is known and small are walked one
// iteration at a time. The others are summarised: a few iterations are walked, one generic iteration checks addresses
// for all the rest, and a check at the end makes sure that iterations further apart than those walked cannot conflict.
#include "Walk.h"
#include "glia/ISA/Control.h"

#include <algorithm>

namespace glia::flow {

bool Walk::bodySynchronises(int core, Engine e, uint32_t begin, uint32_t end) const {
  const Stream &s = program.stream(core, e);
  for (uint32_t i = begin + 1; i < end; ++i) {
    const Unit u = program.opcodes[s.instrs[i].opcode]->unit;
    if (s.instrs[i].numWaits || s.instrs[i].numUpdates || u == Unit::Barrier || u == Unit::Exchange)
      return true;
  }
  return false;
}

std::vector<int> Walk::registersWritten(int core, Engine e, uint32_t begin, uint32_t end) const {
  std::set<int> regs;
  const Stream &s = program.stream(core, e);
  Decoded d;
  for (uint32_t i = begin; i < end; ++i) {
    const InstrDef &def = *program.opcodes[s.instrs[i].opcode];
    if (def.unit != Unit::Register && def.unit != Unit::Control)
      continue;
    decode(program, core, e, i, d);
    for (size_t k = 0; k < def.slots.size(); ++k)
      if (def.slots[k].kind == SlotKind::RegOut)
        regs.insert(d.values[k].integer);
  }
  return {regs.begin(), regs.end()};
}

// Of two engines, in this iteration and in those that are not walked. Numbers that an earlier iteration left in a register (the motion
// is not known) may agree only in the iterations that are walked.
static bool moveAlike(const RegisterValue &a, const RegisterValue &b) {
  return a.motion == b.motion &&
         std::none_of(a.motion.begin(), a.motion.end(), [](const Motion &m) { return m.kind == Motion::Unknown; });
}

static bool sameCount(const RegisterValue &a, const RegisterValue &b) {
  return (a.source && a.source == b.source) || (a.isConstant() && b.isConstant() && a.lo == b.lo && moveAlike(a, b));
}

static bool isZero(const RegisterValue &v) { return !v.undefined && v.lo == 0 && v.hi == 0; }
static bool isNotZero(const RegisterValue &v) {
  return !v.undefined && (v.lo > 0 || v.hi < 0 || (v.modulus > 1 && v.residue != 0));
}

// What a value that is known in this iteration of the loops around may be in one that is not walked.
static RegisterValue inEveryIteration(const EngineWalk &e, RegisterValue v) {
  for (const LoopFrame &f : e.loops) {
    const Motion &m = v.motion[std::min(f.run->depth, kMaxSummarised - 1)];
    if (!f.run->beyond || f.generic || m.kind == Motion::Fixed)
      continue;
    int64_t by = 0;
    if (m.kind != Motion::Affine || __builtin_mul_overflow(m.step, std::max<int64_t>(f.run->count.hi, 0), &by)) {
      v.lo = INT32_MIN, v.hi = INT32_MAX;
    } else {
      v.lo = std::max<int64_t>(v.lo - std::abs(by), INT32_MIN);
      v.hi = std::min<int64_t>(
          v.hi + (m.step > 0 ? m.step * std::max<int64_t>(f.run->count.hi - 1 - f.iteration, 0) : -m.step * f.iteration),
          INT32_MAX);
    }
    v.modulus = 1, v.residue = 0;
  }
  return v;
}

// Before the first iteration (number 0) and after each: engines of a group must decide alike.
void Walk::testCondition(const EngineWalk &e, LoopFrame &f, uint32_t whose, size_t number) {
  const RegisterValue &v = e.regs[f.cond];
  if (v.undefined)
    fail("UNDEFINED-CONTROL", whose, -1, "the condition of the loop is an undefined value");
  if (f.run->group.empty() || f.generic)
    return;
  std::vector<RegisterValue> &seen = f.run->conditions;
  if (seen.size() == number)
    seen.push_back(v);
  else if (number < seen.size() && !sameCount(seen[number], v))
    fail("LOOP-GROUP", whose, -1,
         "its condition does not come from the same source as that of the other engines of group `" + f.run->group + "`", {},
         {},
         {"the other: " + reporter.describe(ref(f.run->firstWho)),
          number ? "the values are those after an iteration" : "the values are those before the first iteration"});
}

bool Walk::enterLoop(EngineWalk &e, const Decoded &d) {
  const bool open = isWhile(*d.def);
  const Value &countValue = d.values[d.def->slot(open ? "cond" : "count")];
  const RegisterValue now =
      countValue.kind == Value::Register ? e.regs[countValue.integer] : RegisterValue::constant(countValue.integer);
  RegisterValue count = inEveryIteration(e, now);
  if (open) // any number of iterations; how it starts may be known
    count = isZero(count) ? RegisterValue::constant(0) : RegisterValue::range(isNotZero(count) ? 1 : 0, INT32_MAX);
  const uint32_t end = static_cast<uint32_t>(d.values[d.def->slot("end")].integer);
  const std::string group = program.strings[d.values[d.def->slot("group")].integer];
  const bool skip = generic(e);
  ++e.seq;
  if (now.undefined && !open)
    fail("UNDEFINED-CONTROL", who(d), -1, "the trip count is an undefined value");
  if (e.maybeUntil)
    fail("CONTROL-FORM", who(d), -1, "a loop is inside what a branch may skip");

  LoopFrame f;
  f.begin = d.index;
  f.end = end;
  (open ? f.cond : f.iv) = d.values[d.def->slot(open ? "cond" : "iv")].integer;
  f.knowledgeBefore = e.knows.share();
  f.accumulatorBefore = e.accumulator;
  f.residentBefore = e.residentSet;
  for (int r = 0; r < 64; ++r)
    f.undefinedBefore[r] = e.regs[r].undefined;
  const bool walkAll = count.isConstant() && count.lo <= largestWalkedCount;
  if (!group.empty() && !skip) {
    const uint32_t n = e.loopEntries[group]++;
    std::shared_ptr<LoopRun> &run = groupRuns[{group, n}];
    if (!run) {
      run = std::make_shared<LoopRun>();
      run->group = group;
      run->number = ++runs;
      run->members = groupMembers[group];
      run->count = count;
      run->compared = now;
      run->open = open;
      run->firstWho = who(d);
    } else if (run->open != open || (!open && !sameCount(run->compared, now))) {
      fail("LOOP-GROUP", who(d), -1,
           "its trip count does not come from the same source as that of the other engines of group `" + group + "`", {}, {},
           {"the other: " + reporter.describe(ref(run->firstWho))});
    }
    f.run = run;
    if (++f.run->entered == f.run->members)
      groupRuns.erase({group, n});
  } else {
    f.run = std::make_shared<LoopRun>();
    f.run->count = count;
    f.run->firstWho = who(d);
    if (group.empty() && !walkAll && bodySynchronises(e.core, e.engine, d.index, end))
      fail("LOOP-GROUP", who(d), -1,
           "its body uses semaphores or barriers, its iterations are not all walked, and it names no group");
  }
  if (open)
    testCondition(e, f, who(d), 0);
  int depth = 0;
  for (const LoopFrame &outer : e.loops)
    depth += outer.run->beyond;
  f.run->depth = depth;
  f.run->summarised = !walkAll;
  int64_t largest = 0;
  for (const Semaphore &s : program.semaphores)
    largest = std::max<int64_t>(largest, s.initial);
  const int64_t enough = std::clamp<int64_t>(2 * largest + 4, 6, 20);
  f.run->walked = walkAll ? std::max<int64_t>(count.lo, 0) : std::min(enough, std::max<int64_t>(count.hi, 0));
  if (skip && walkAll) // inside a generic iteration: first, and one for all
    f.run->walked = std::min<int64_t>(f.run->walked, 1);
  f.run->beyond = f.run->summarised && std::max(count.hi, f.run->count.hi) > f.run->walked;
  if (f.run->beyond && depth >= kMaxSummarised)
    fail("LOOP-FORM", who(d), -1,
         format("more than %d loops whose iterations are not all walked are nested", kMaxSummarised));
  if (f.run->summarised && !skip && count.lo < f.run->walked &&
      std::find(uncertainRuns.begin(), uncertainRuns.end(), f.run) == uncertainRuns.end()) {
    for (const LoopFrame &outer : e.loops)
      if (outer.run->summarised)
        f.run->outer = outer.run;
    uncertainRuns.push_back(f.run);
  }
  f.iteration = -1;
  f.run->engines.insert(e.comp);
  for (uint32_t c : componentsOf(e.comp))
    f.run->accessBefore[c] = lastAccess[c];
  e.loops.push_back(std::move(f));
  nextIteration(e);
  return true;
}

void Walk::startIteration(EngineWalk &e, LoopFrame &f) {
  RegisterValue iv = RegisterValue::constant(f.iteration);
  if (f.generic) {
    const int64_t last = f.run->count.hi - 1;
    iv = RegisterValue::range(std::min(f.run->walked, last), last);
  }
  if (f.generic || f.run->beyond)
    for (int reg : registersWritten(e.core, e.engine, f.begin + 1, f.end)) {
      RegisterValue &r = e.regs[reg]; // holds what an earlier iteration left
      if (f.generic) {
        const bool undefined = r.undefined;
        r = RegisterValue::any();
        r.undefined = undefined;
      }
      r.source = 0; // the same in the iterations that are walked, perhaps not in others
      for (Motion &m : r.motion)
        m.kind = Motion::Unknown;
    }
  if (f.cond >= 0 && f.run->number && !f.generic) // the engines of the group begin an iteration with the same (L8)
    e.regs[f.cond].source = sourceIn(f.run->tests, f.iteration);
  if (f.run->number && !f.generic)
    iv.source = sourceIn(f.run->counters, f.iteration);
  if (f.run->beyond)
    iv.motion[std::min(f.run->depth, kMaxSummarised - 1)] = {Motion::Affine, 1, 0};
  if (f.iv >= 0)
    e.regs[f.iv] = iv;
  e.pc = f.begin + 1;
}

void Walk::nextIteration(EngineWalk &e) {
  LoopFrame &f = e.loops.back();
  const int genericAt = genericDepth(e);
  const bool outerGeneric = genericAt >= 0 && genericAt + 1 < static_cast<int>(e.loops.size());
  ++f.iteration;
  if (!f.generic && f.iteration < f.run->walked) {
    startIteration(e, f);
    return;
  }
  if (!f.generic && f.run->count.hi > f.run->walked && (f.run->summarised || outerGeneric)) {
    f.generic = true;
    startIteration(e, f);
    return;
  }
  if (!f.run->summarised || outerGeneric) {
    leaveLoop(e);
    return;
  }
  f.generic = false;
  if (++f.run->exited == f.run->members)
    finishRun(*f.run);
  e.arrived = true; // until the others have left too
  e.pc = f.end;
}

bool Walk::endLoop(EngineWalk &e) {
  if (!e.arrived) {
    ++e.seq;
    LoopFrame &f = e.loops.back();
    if (f.run->summarised && !generic(e))
      endIteration(e, f);
    if (f.cond >= 0)
      testCondition(e, f, whoIs(e.core, e.engine, f.end), static_cast<size_t>(f.iteration) + 1);
    nextIteration(e);
    return true;
  }
  if (e.loops.back().run->exited < e.loops.back().run->members)
    return false;
  leaveLoop(e);
  return true;
}

void Walk::leaveLoop(EngineWalk &e) {
  LoopFrame f = std::move(e.loops.back());
  e.loops.pop_back();
  e.arrived = false;
  if (f.run->summarised && f.run->count.lo < f.run->walked) {
    keepWhatTheLoopTaught(e, f); // the loop may not have run
    e.accumulator &= f.accumulatorBefore;
  }
  const bool walkedAll = !f.run->summarised && !generic(e);
  if (!walkedAll) {
    for (int reg : registersWritten(e.core, e.engine, f.begin, f.end)) {
      RegisterValue &r = e.regs[reg];
      const bool undefined = r.undefined || (f.run->count.lo < 1 && f.undefinedBefore[reg]);
      r = RegisterValue::any();
      r.undefined = undefined;
      for (Motion &m : r.motion)
        m.kind = Motion::Unknown;
    }
    if (f.run->count.lo < f.run->walked && e.residentSet != f.residentBefore)
      e.residentSet = -2; // not known
  }
  e.pc = f.end + 1;
}

// ---- L7: what a loop that may not run teaches ------------------------------------------------------------------

// An engine and the queues it issues to.
std::vector<uint32_t> Walk::componentsOf(uint32_t engine) const {
  std::vector<uint32_t> out{engine};
  for (size_t q = 0; q < queueOwner.size(); ++q)
    if (queueOwner[q] == engine)
      out.push_back(static_cast<uint32_t>(program.cores * kNumEngines + q));
  return out;
}

bool Walk::touchesMemory(int core, Engine e, uint32_t begin, uint32_t end) const {
  const Stream &s = program.stream(core, e);
  for (uint32_t i = begin; i < end; ++i)
    for (const Slot &slot : program.opcodes[s.instrs[i].opcode]->slots)
      if (isTensorSlot(slot.kind))
        return true;
  return false;
}

// Does this engine, at the end of its iteration, know of everything that each component of the group did in it?
void Walk::endIteration(EngineWalk &e, LoopFrame &f) {
  LoopRun &run = *f.run;
  const size_t n = static_cast<size_t>(f.iteration);
  for (uint32_t c : componentsOf(e.comp)) {
    std::vector<uint32_t> &after = run.accessAfter[c];
    after.resize(n + 1, run.accessBefore[c]);
    after[n] = lastAccess[c];
  }
  for (uint32_t other : run.engines) {
    const EngineWalk &w = engines[other];
    const LoopFrame *frame = nullptr;
    for (const LoopFrame &x : w.loops)
      if (x.run == f.run)
        frame = &x;
    const bool finished = other == e.comp || (run.accessAfter.count(other) && run.accessAfter[other].size() > n);
    const bool done = finished || (frame && frame->iteration == f.iteration && !w.arrived &&
                                   !touchesMemory(w.core, w.engine, w.pc, frame->end));
    for (uint32_t c : componentsOf(other)) {
      if (c == e.comp)
        continue;
      const uint32_t last =
          finished && run.accessAfter.count(c) && run.accessAfter[c].size() > n ? run.accessAfter[c][n] : lastAccess[c];
      if (!done || !e.knows.knows(c, last))
        f.uncovered.insert(c);
    }
  }
}

// For a component of the group whose accesses before the loop were known before it, and whose accesses in each iteration were
// known at the end of that iteration, everything is known after any number of iterations. The rest may not have been learnt.
void Walk::keepWhatTheLoopTaught(EngineWalk &e, const LoopFrame &f) {
  const std::shared_ptr<const Clock> learnt = e.knows.share();
  e.knows.replace(f.knowledgeBefore);
  for (uint32_t engine : f.run->engines)
    for (uint32_t c : componentsOf(engine)) {
      const auto before = f.run->accessBefore.find(c);
      const uint32_t last = before == f.run->accessBefore.end() ? 0 : before->second;
      if (c != e.comp && !f.uncovered.count(c) && (*f.knowledgeBefore)[c] >= last)
        e.knows.join(c, (*learnt)[c]);
    }
}

// All engines have left a summarised loop.
void Walk::finishRun(LoopRun &run) {
  std::erase_if(uncertainRuns, [&run](const auto &r) { return r.get() == &run; });
  for (const auto &[semaphore, net] : run.net)
    if (net != 0)
      fail("LOOP-BALANCE", run.firstWho, -1,
           format("the iterations of %s add to semaphore `%s` %lld more than they consume",
                  run.group.empty() ? "this loop" : ("group `" + run.group + "`").c_str(),
                  program.semaphores[semaphore].name.c_str(), (long long)net),
           std::to_string(net), "0");
  for (const auto &[semaphore, yes] : run.plainWaits)
    if (run.produced.count(semaphore))
      fail("LOOP-BALANCE", run.firstWho, -1,
           "semaphore `" + program.semaphores[semaphore].name +
               "` is added to in the loop and waited on there without consuming");
  checkLoopOrder(run);
  const bool certain = run.count.lo >= run.walked;
  if (certain)
    return;
  for (const LoggedWrite &w : run.writes)
    w.map->visit(w.lo, w.hi, w.mask, [&](Cell &c) {
      c.content = 0;
      if (w.undefine)
        c.defined = false;
      if (w.notMatmul)
        c.matmul = false;
    });
  for (const auto &[semaphore, before] : run.semaphoresBefore)
    semaphores[semaphore].forget(before);
}

// In any iterations. Every access stays inside its object, and one that never moves where it was seen.
bool Walk::mayOverlap(const LoopAccess &a, const LoopAccess &b) const {
  if (a.object == b.object || a.object.kind == ObjectKind::Tensor || b.object.kind == ObjectKind::Tensor)
    return a.object == b.object;
  const Allocation &x = program.allocations[a.object.index], &y = program.allocations[b.object.index];
  auto bytes = [](const LoopAccess &l, const Allocation &in) {
    const bool known = l.still && l.lateSeq;
    return std::pair(known ? l.lo : in.byteOffset, known ? l.hi : in.byteOffset + in.bytesPerPartition());
  };
  const auto [xlo, xhi] = bytes(a, x);
  const auto [ylo, yhi] = bytes(b, y);
  return x.partition < y.partition + y.partitions() && y.partition < x.partition + x.partitions() && xlo < yhi && ylo < xhi;
}

// Iterations further apart than the walked ones: ordered, or never on the same bytes.
void Walk::checkLoopOrder(LoopRun &run) {
  if (!run.beyond)
    return;
  std::map<ByteMap *, std::vector<const LoopAccess *>> byObject;
  for (const auto &[key, a] : run.accesses)
    byObject[a.map].push_back(&a);
  const uint32_t firstQueue = program.cores * kNumEngines;
  for (const auto &[map, list] : byObject)
    for (size_t i = 0; i < list.size(); ++i)
      for (size_t k = i; k < list.size(); ++k) {
        const LoopAccess &a = *list[i], &b = *list[k];
        if ((!a.write && !b.write) || (a.comp == b.comp && a.comp < firstQueue) || !mayOverlap(a, b))
          continue;
        const bool sameMotion = a.byteMotion == b.byteMotion && a.partitionMotion == b.partitionMotion &&
                                a.byteMotion.kind != Motion::Unknown && a.partitionMotion.kind != Motion::Unknown;
        const bool bounded = a.earlySeq && b.earlySeq && a.lateKnowledge.base && b.lateKnowledge.base &&
                             a.lateKnowledge.knows(b.comp, b.earlySeq) && b.lateKnowledge.knows(a.comp, a.earlySeq);
        if (sameMotion && bounded)
          continue;
        // Each follows the other's accesses of the iteration before, and in one iteration their order is fixed.
        const bool inOrder = a.previousSeq && b.previousSeq && a.lateSeq && b.lateSeq &&
                             a.lateKnowledge.knows(b.comp, b.previousSeq) && b.lateKnowledge.knows(a.comp, a.previousSeq) &&
                             (i == k ? a.lateTimes == 1
                                     : a.lateKnowledge.knows(b.comp, b.lateSeq) || b.lateKnowledge.knows(a.comp, a.lateSeq));
        if (inOrder)
          continue;
        const int64_t width = std::max(a.hi, b.hi) - std::min(a.lo, b.lo);
        const bool apart = sameMotion && a.byteMotion.kind == Motion::Affine && std::abs(a.byteMotion.step) >= width &&
                           a.partitionMotion.kind == Motion::Fixed;
        const bool disjoint = sameMotion && a.byteMotion.kind == Motion::Fixed && a.partitionMotion.kind == Motion::Fixed &&
                              (a.hi <= b.lo || b.hi <= a.lo);
        if (apart || disjoint)
          continue;
        fail("LOOP-ORDER", b.who, b.slot,
             sameMotion
                 ? "in later iterations nothing orders it after another access to the same memory"
                 : "it moves through memory differently from another access to the same memory, iteration by iteration",
             {}, {}, {"the other: " + reporter.describe(ref(a.who))});
      }
}

// ---- branches -----------------------------------------------------------------------------------------------

void Walk::branch(EngineWalk &e, const Decoded &d) {
  const uint32_t target = static_cast<uint32_t>(d.values[d.def->slot("target")].integer);
  const int condSlot = d.def->slot("cond");
  const std::string_view cond = d.def->slots[condSlot].names->names[d.values[condSlot].integer];
  const RegisterValue a = e.regs[d.values[d.def->slot("a")].integer];
  const Value &bv = d.values[d.def->slot("b")];
  const RegisterValue b = bv.kind == Value::Register ? e.regs[bv.integer] : RegisterValue::constant(bv.integer);
  const Stream &s = program.stream(e.core, e.engine);
  if (!d.updates.empty())
    fireUpdates(e.loops, d, snapshot(e));
  if (target <= d.index) {
    fail("CONTROL-FORM", who(d), -1, "it jumps backwards; a loop is written with loop and end_loop");
    e.pc = d.index + 1;
    return;
  }
  for (uint32_t i = d.index + 1; i < target && i < s.instrs.size(); ++i) {
    const Unit u = program.opcodes[s.instrs[i].opcode]->unit;
    if (s.instrs[i].numWaits || s.instrs[i].numUpdates || (u != Unit::Compute && u != Unit::Register)) {
      fail("CONTROL-FORM", who(d), -1, "it may skip instructions that synchronise, move data by DMA or control the flow", {},
           {}, {"the first of them: " + reporter.describe(InstrRef(e.core, e.engine, i))});
      break;
    }
  }
  if (cond != "always" && (a.undefined || b.undefined))
    fail("UNDEFINED-CONTROL", who(d), -1, "the branch depends on an undefined value");
  if (e.maybeUntil)
    fail("CONTROL-FORM", who(d), -1, "it is inside what another branch may skip");
  if (cond == "always") {
    e.pc = target;
    return;
  }
  e.regsAtBranch = e.regs;
  e.maybeUntil = std::max(e.maybeUntil, target);
  e.pc = d.index + 1;
}

} // namespace glia::flow
