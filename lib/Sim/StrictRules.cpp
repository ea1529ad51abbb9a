// Faults that depend on the machine's state: registers in addresses, activation tables, engines that share a memory, outputs.
#include "Strict.h"
#include "glia/ISA/Control.h"

namespace glia::sim {

void Strict::beforeRegisters(const StreamState &s, const Prepared &x) {
  const uint64_t defined = engines[streamIndex(s)].regs;
  const InstrDef &def = *x.d.def;
  if (x.dynamic.empty() && def.unit != Unit::Control)
    return;
  auto need = [&](int reg, const char *rule, const char *use) {
    if (!(defined >> reg & 1))
      faultAt(program, x.id, rule, format("register r%d holds undefined bytes and is used as %s", reg, use));
  };
  for (int slot : x.dynamic)
    if (x.d.values[slot].kind == Value::Tensor) {
      const Pattern &p = program.patterns[x.d.values[slot].access.pattern];
      for (int i = 0; i < p.numDynamic; ++i)
        need(p.dynamic[i].reg, "UNDEFINED-ADDRESS", "an address");
    }
  if (def.unit != Unit::Control)
    return;
  const int cond = def.slot("cond");
  const bool branch = cond >= 0 && def.slots[cond].names;
  const bool always = branch && def.slots[cond].names->names[x.d.values[cond].integer] == "always";
  if (endsLoop(def)) // tests the register of its while
    for (const StreamState::Loop &loop : s.loops)
      if (loop.end == s.pc && loop.n == StreamState::Loop::kOpen)
        need(loop.reg, "UNDEFINED-CONTROL", "the condition of a loop");
  for (size_t i = 0; i < def.slots.size(); ++i) {
    if (x.d.values[i].kind != Value::Register)
      continue;
    if (def.slots[i].kind == SlotKind::RegOut)
      engines[streamIndex(s)].regs |= uint64_t{1} << x.d.values[i].integer; // the loop counts in it
    else if (!always)
      need(x.d.values[i].integer, "UNDEFINED-CONTROL",
           branch      ? "the condition of a branch"
           : cond >= 0 ? "the condition of a loop"
                       : "the count of a loop");
  }
}

void Strict::checkTables(const StreamState &s, const Prepared &x) {
  const int slot = x.d.def->slot("fn");
  if (slot < 0 || !x.d.def->slots[slot].names)
    return;
  const Target &t = *program.target;
  const std::string fn(x.d.def->slots[slot].names->names[x.d.values[slot].integer]);
  const int set = t.activationSet(fn), now = s.state.activationSet;
  if (set >= 0 && set != now)
    faultAt(program, x.id, "ACT-TABLE-RESIDENT",
            format("`%s` needs the activation set `%s`, and %s", fn.c_str(), t.activationSets[set].name.c_str(),
                   now < 0 || now >= static_cast<int>(t.activationSets.size())
                       ? "none is resident"
                       : ("`" + t.activationSets[now].name + "` is resident").c_str()));
}

void Strict::countTables(const StreamState &s, const Prepared &x) {
  if (x.d.def->name != "act_table_load")
    return;
  std::set<int> &sets = loadedSets[s.core];
  sets.insert(s.state.activationSet);
  const int max = program.target->maxActivationSets;
  if (static_cast<int>(sets.size()) > max)
    faultAt(program, x.id, "ACT-TABLE-COUNT", format("the program loads more than %d activation sets", max), {},
            std::to_string(sets.size()), std::to_string(max));
}

// M1 and M2: two engines that the target does not let work on a memory at the same time must be ordered, whatever they touch.
void Strict::checkSerial(const StreamState &s, const Prepared &x) {
  struct Pair {
    Space space;
    Engine a, b;
  };
  static constexpr Pair kPairs[] = {{Space::Sbuf, Engine::Vector, Engine::GpSimd},
                                    {Space::Psum, Engine::Vector, Engine::Scalar}};
  if (x.d.def->unit != Unit::Compute)
    return;
  for (const Pair &pair : kPairs) {
    if ((s.engine != pair.a && s.engine != pair.b) || concurrent[static_cast<int>(pair.space)])
      continue;
    bool touches = false;
    for (const Value &v : x.d.values)
      touches |= v.kind == Value::Tensor && program.space(v.access.object) == pair.space;
    if (!touches)
      continue;
    const Engine peer = s.engine == pair.a ? pair.b : pair.a;
    auto &last = lastTouch[s.core][static_cast<int>(pair.space)];
    const Serial &other = last[static_cast<int>(peer)];
    const Clock &clock = clocks[streamIndex(s)];
    if (other.time > clock[s.core * kNumEngines + static_cast<int>(peer)])
      faultAt(program, x.id, "ENGINE-SERIAL",
              format("%s and %s both touch %s and are not ordered", describe(program, x.id, false).c_str(),
                     describe(program, other.by, false).c_str(), std::string(name(pair.space)).c_str()),
              {"the other instruction: " + describe(program, other.by)});
    last[static_cast<int>(s.engine)] = {clock[streamIndex(s)], x.id};
  }
}

void Strict::checkOutputs() {
  for (uint32_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor &t = program.tensors[i];
    if (t.kind != TensorKind::Output)
      continue;
    const int m = memory.place({ObjectKind::Tensor, i}, 0).memory;
    const int64_t at = definedness.firstUndefined(m);
    if (at < 0)
      continue;
    const int64_t element = at / sizeOf(t.dtype);
    if (const Touch *w = shadows[m].lastWrite(0, at))
      faultAt(program, w->by, "UNDEFINED-OUTPUT",
              format("element %lld of output `%s` is computed from bytes that were never written", (long long)element,
                     t.name.c_str()));
    Diagnostic d{"OUTPUT-UNWRITTEN",
                 format("element %lld of output `%s` is never written", (long long)element, t.name.c_str()),
                 {},
                 "end of the run",
                 {},
                 {},
                 "Write every byte of the output.",
                 {},
                 Severity::Error};
    throw Fault{std::move(d)};
  }
}

// For the bound on shadow memory.
void Strict::account() {
  result.shadowBytes = definedness.memory();
  for (size_t m = 0; m < shadows.size(); ++m) {
    result.shadowBytes += shadows[m].memory();
    result.bytesTouched += readOnlyUsed[m] ? memory.memories[m].bytes : shadows[m].bytesTouched();
  }
  for (const SemaphoreClock &s : semaphores)
    result.shadowBytes += s.memory();
}

} // namespace glia::sim
