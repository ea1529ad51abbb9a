// Loops and branches of the walk (docs/ordering.md, L1 to L8). Loops whose count is known and small are walked one
// iteration at a time. The engines of the others wait at the beginning for each other; then the loop is proved by an
// invariant (LoopProof.cpp).
#include "Walk.h"
#include "glia/ISA/Control.h"

#include <algorithm>
#include <utility>

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

static bool isZero(const RegisterValue &v) { return v.lo == 0 && v.hi == 0; }
static bool isNotZero(const RegisterValue &v) { return v.lo > 0 || v.hi < 0 || (v.modulus > 1 && v.residue != 0); }

bool Walk::enterLoop(EngineWalk &e, const Decoded &d) {
  if (e.arrived)
    return false; // others have still to come
  const bool open = isWhile(*d.def);
  const Value &countValue = d.values[d.def->slot(open ? "cond" : "count")];
  const RegisterValue now =
      countValue.kind == Value::Register ? e.regs[countValue.integer] : RegisterValue::constant(countValue.integer);
  RegisterValue count = now;
  if (open) // any number of iterations; how it starts may be known
    count = isZero(now) ? RegisterValue::constant(0) : RegisterValue::range(isNotZero(now) ? 1 : 0, INT32_MAX);
  LoopFrame f;
  f.begin = d.index;
  f.end = static_cast<uint32_t>(d.values[d.def->slot("end")].integer);
  (open ? f.cond : f.iv) = d.values[d.def->slot(open ? "cond" : "iv")].integer;
  const std::string &group = program.strings[d.values[d.def->slot("group")].integer];
  ++state.numbers[e.stream];
  if (now.undefined)
    fail("UNDEFINED-CONTROL", who(d), -1,
         open ? "the condition of the loop is an undefined value" : "the trip count is an undefined value");

  std::shared_ptr<LoopRun> run;
  if (group.empty()) {
    run = std::make_shared<LoopRun>();
  } else {
    const std::pair<std::string, uint32_t> key{group, e.groups.come(groups.at(group).number)};
    std::shared_ptr<LoopRun> &slot = state.runs[key];
    run = slot ? std::make_shared<LoopRun>(*slot)
               : std::make_shared<LoopRun>(); // states share what they have seen, not what comes
    slot = run;
  }
  if (run->arrived.empty()) {
    run->group = group;
    run->members = group.empty() ? 1 : groups.at(group).members;
    run->count = count;
    run->compared = now;
    run->open = open;
    run->firstWho = who(d);
    run->walked = count.isConstant() && count.lo <= largestWalkedCount;
    if (group.empty() && !run->walked && bodySynchronises(e.core, e.engine, d.index, f.end))
      fail("LOOP-GROUP", who(d), -1,
           "its body uses semaphores or barriers, its iterations are not all walked, and it names no group");
  } else if (run->open != open) { // they have no iterations in common
    failForGood("LOOP-GROUP", who(d), "group `" + group + "` has a loop that counts and one that tests a condition");
    return false;
  } else if (!sameValue(run->compared, now)) {
    fail("LOOP-GROUP", who(d), -1,
         std::string(open ? "its condition" : "its trip count") +
             " does not come from the same source as that of the other engines of group `" + group + "`",
         {}, {}, {"the other: " + reporter.describe(ref(run->firstWho))});
  }
  run->arrived.push_back(e.number);
  if (static_cast<int>(run->arrived.size()) == run->members && !group.empty())
    state.runs.erase({group, e.groups.last(groups.at(group).number)});

  if (run->walked)
    loopsWalked.insert(who(d));
  f.proved = !run->walked;
  f.outerStream = e.stream;
  f.count = run->walked ? std::max<int64_t>(count.lo, 0) : 0;
  e.loops.push_back(f);
  if (run->walked) {
    if (f.count > 0)
      startIteration(e, e.loops.back());
    else
      leaveLoop(e);
    return true;
  }
  e.arrived = true;
  e.pc = f.begin;
  if (static_cast<int>(run->arrived.size()) < run->members)
    return false;
  state.ready.push_back(run);
  return true;
}

void Walk::changeStream(EngineWalk &e, uint32_t stream) {
  if (e.stream == stream)
    return;
  e.knows.join(e.stream, state.numbers[e.stream]);
  e.stream = stream;
}

void Walk::startIteration(EngineWalk &e, LoopFrame &f) {
  if (f.iv >= 0)
    e.regs.change(f.iv) = RegisterValue::constant(f.iteration);
  e.pc = f.begin + 1;
}

bool Walk::endLoop(EngineWalk &e) {
  ++state.numbers[e.stream];
  LoopFrame &f = e.loops.back();
  if (f.proved)
    e.ended = true;
  else if (++f.iteration < f.count)
    startIteration(e, f);
  else
    leaveLoop(e);
  return true;
}

void Walk::leaveLoop(EngineWalk &e) {
  changeStream(e, e.loops.back().outerStream);
  e.pc = e.loops.back().end + 1;
  e.loops.pop_back();
}

// ---- branches -----------------------------------------------------------------------------------------------

// 1: taken, 0: not taken, -1: not known.
static int decide(std::string_view cond, const RegisterValue &a, const RegisterValue &b) {
  if (a.undefined || b.undefined)
    return -1;
  const bool below = a.hi<b.lo, above = a.lo> b.hi, equal = sameValue(a, b);
  auto yes = [](bool certain, bool never) { return certain ? 1 : never ? 0 : -1; };
  if (cond == "lt")
    return yes(below, equal || a.lo >= b.hi);
  if (cond == "le")
    return yes(equal || a.hi <= b.lo, above);
  if (cond == "ge")
    return yes(equal || a.lo >= b.hi, below);
  if (cond == "gt")
    return yes(above, equal || a.hi <= b.lo);
  const int same = equal ? 1 : below || above ? 0 : -1;
  return cond == "eq" ? same : cond == "ne" && same >= 0 ? 1 - same : -1;
}

// Both ways of a branch meet here.
void Walk::endMaybe(EngineWalk &e) {
  if (!e.maybeUntil || e.pc < e.maybeUntil)
    return;
  for (int r = 0; r < Registers::kCount; ++r)
    e.regs.change(r) = join(e.regs[r], e.regsAtBranch[r]);
  e.maybeUntil = 0;
}

// What the way taken says of the register that was compared with a number.
static void refine(RegisterValue &a, std::string_view cond, const RegisterValue &b, bool taken) {
  if (!b.isConstant() || a.undefined)
    return;
  const int64_t v = b.lo;
  const bool less = cond == "lt" || cond == "le", more = cond == "gt" || cond == "ge";
  int64_t lo = a.lo, hi = a.hi;
  if (less || more) {
    const bool below = less == taken;                               // a < v or a <= v
    const bool withEqual = (cond == "le" || cond == "ge") == taken; // v itself
    (below ? hi : lo) = below ? std::min(hi, withEqual ? v : v - 1) : std::max(lo, withEqual ? v : v + 1);
  } else if ((cond == "eq") == taken) {
    lo = std::max(lo, v), hi = std::min(hi, v);
  } else {
    lo += lo == v, hi -= hi == v;
  }
  if (lo <= hi)
    a.lo = lo, a.hi = hi;
}

// Where all ways from a branch meet, with the branches that follow at once. `atMost`: where the ways meet that it lies in, which is as far
// as those are walked.
Walk::WaysMeet Walk::whereWaysMeet(int core, Engine engine, uint32_t index, uint32_t target, uint32_t atMost) {
  const Stream &s = program.stream(core, engine);
  Decoded d;
  WaysMeet out;
  for (uint32_t i = index + 1; i < target && i < s.instrs.size(); ++i) {
    const InstrDef &def = *program.opcodes[s.instrs[i].opcode];
    const bool computes = def.unit == Unit::Compute || def.unit == Unit::Register;
    const bool plain = computes || (def.name == "branch" && !s.instrs[i].numUpdates);
    if (!plain || s.instrs[i].numWaits) {
      out.forbidden = i;
      return out;
    }
    out.signals |= s.instrs[i].numUpdates > 0;
    out.computations += def.unit == Unit::Compute;
    if (def.name == "branch") {
      ++out.branches;
      decode(program, core, engine, i, d);
      target = std::max(target, static_cast<uint32_t>(d.values[def.slot("target")].integer));
    }
  }
  out.at = target;
  constexpr int kMostBranches = 6;
  if (target >= s.instrs.size() || target >= atMost || program.opcodes[s.instrs[target].opcode]->name != "branch" ||
      s.instrs[target].numWaits || s.instrs[target].numUpdates || out.branches >= kMostBranches)
    return out;
  decode(program, core, engine, target, d);
  const WaysMeet next =
      whereWaysMeet(core, engine, target, static_cast<uint32_t>(d.values[d.def->slot("target")].integer), atMost);
  if (next.at == UINT32_MAX || next.signals || out.branches + next.branches > kMostBranches)
    return out;
  out.at = next.at;
  out.branches += next.branches;
  return out;
}

// Whether every path from the branch to where its ways meet makes the same additions, by instructions that are as many (L6).
bool Walk::waysSignalAlike(int core, Engine engine, uint32_t index, uint32_t meet) {
  constexpr size_t kMostAdditions = 64; // each lets numbers leap by the length of the ways: a walk does not use them up
  using Additions = std::vector<std::pair<int64_t, int64_t>>; // semaphore and value; -1 behind each instruction that adds
  const Stream &s = program.stream(core, engine);
  std::map<uint32_t, Additions> before; // by instruction, as far as paths come to it
  Decoded d;
  bool alike = true;
  auto comes = [&](uint32_t to, const Additions &made) {
    alike = alike && before.try_emplace(to, made).first->second == made;
  };
  before[index];
  for (uint32_t i = index; i < meet && i < s.instrs.size() && alike; ++i) {
    const auto here = before.find(i);
    if (here == before.end())
      continue; // no path
    Additions made = here->second;
    decode(program, core, engine, i, d);
    if (i > index && !d.updates.empty()) {
      for (const SyncOp &op : d.updates)
        made.emplace_back(op.semaphore, op.value);
      made.emplace_back(-1, 0);
    }
    if (made.size() > kMostAdditions)
      return false;
    if (d.def->name != "branch") {
      comes(i + 1, made);
      continue;
    }
    comes(static_cast<uint32_t>(d.values[d.def->slot("target")].integer), made);
    const int cond = d.def->slot("cond");
    if (d.def->slots[cond].names->names[d.values[cond].integer] != "always")
      comes(i + 1, made);
  }
  return alike;
}

void Walk::nextNumber(EngineWalk &e, const Decoded &d) {
  uint32_t &number = state.numbers[e.stream];
  ++number;
  if (e.signals.width && !d.updates.empty()) // a way has fewer instructions than the width
    number = e.signals.base + e.signals.width * ++e.signals.made;
}

void Walk::branch(EngineWalk &e, const Decoded &d) {
  const uint32_t index = d.index, target = static_cast<uint32_t>(d.values[d.def->slot("target")].integer);
  const int condSlot = d.def->slot("cond"), compared = d.values[d.def->slot("a")].integer;
  const std::string_view cond = d.def->slots[condSlot].names->names[d.values[condSlot].integer];
  const RegisterValue a = e.regs[compared];
  const Value &bv = d.values[d.def->slot("b")];
  const RegisterValue b = bv.kind == Value::Register ? e.regs[bv.integer] : RegisterValue::constant(bv.integer);
  if (!d.updates.empty())
    fireUpdates(d, snapshot(e));
  if (target <= index) {
    fail("CONTROL-FORM", who(d), -1, "it jumps backwards; a loop is written with loop and end_loop");
    e.pc = index + 1;
    return;
  }
  const WaysMeet ways = whereWaysMeet(e.core, e.engine, index, target, e.waysMeet);
  const uint32_t meet = ways.at;
  const bool signals = meet != UINT32_MAX && ways.signals;
  if (meet == UINT32_MAX)
    fail("CONTROL-FORM", who(d), -1, "it may skip instructions that wait, move data by DMA or control the flow", {}, {},
         {"the first of them: " + reporter.describe(InstrRef(e.core, e.engine, ways.forbidden))});
  if (signals && !waysSignalAlike(e.core, e.engine, index, meet))
    return failForGood("CONTROL-FORM", who(d), "not all its ways make the same additions to semaphores, in the same order");
  if (cond != "always" && (a.undefined || b.undefined))
    fail("UNDEFINED-CONTROL", who(d), -1, "the branch depends on an undefined value");
  const int taken = cond == "always" ? 1 : decide(cond, a, b);
  if (taken >= 0 || meet == UINT32_MAX) {
    e.pc = taken == 1 ? target : index + 1;
    return;
  }
  // What it skips is walked as what may have happened. That says less of several things that happen together than one of them can say of
  // the others.
  const bool together = ways.branches == 1 && ways.computations > 1;
  joined |= together;
  if (ways.branches == 1 && !(waysApart && together)) {
    e.regsAtBranch = e.regs;
    e.maybeUntil = target;
    e.pc = index + 1;
    return;
  }
  // Each way by itself, up to where they meet.
  const uint32_t number = e.number, around = std::exchange(e.waysMeet, meet);
  const bool first = signals && !e.signals.width; // not within such ways
  if (first)
    e.signals = {state.numbers[e.stream], meet - index, 0};
  const State before = state;
  std::vector<State> ends;
  ++exploring;
  for (bool way : {true, false}) {
    state = before;
    EngineWalk &mine = state.engines[number];
    refine(mine.regs.change(compared), cond, b, way);
    mine.pc = way ? target : index + 1;
    while (state.engines[number].pc < meet && !stopped && !reporter.full())
      if (++steps; !step(state.engines[number]))
        break;
    endMaybe(state.engines[number]);
    ends.push_back(std::move(state));
  }
  --exploring;
  state = std::move(ends[0]);
  EngineWalk &mine = state.engines[number];
  const EngineWalk &other = ends[1].engines[number];
  for (int r = 0; r < Registers::kCount; ++r)
    mine.regs.change(r) = join(mine.regs[r], other.regs[r]);
  for (size_t c = 0; c < components; ++c)
    state.numbers[c] = std::max(state.numbers[c], ends[1].numbers[c]);
  joinInto(state, ends[1]);
  mine.waysMeet = around;
  if (first)
    mine.signals = {};
}

} // namespace glia::flow
