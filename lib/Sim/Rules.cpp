#include "Rules.h"
#include "glia/ISA/Control.h"

namespace glia::sim {

void requireRegisters(const Program &program, const StreamState &s, const Prepared &x, EngineDefined &engine) {
  const uint64_t defined = engine.regs;
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
      engine.regs |= uint64_t{1} << x.d.values[i].integer; // the loop counts in it
    else if (!always)
      need(x.d.values[i].integer, "UNDEFINED-CONTROL",
           branch      ? "the condition of a branch"
           : cond >= 0 ? "the condition of a loop"
                       : "the count of a loop");
  }
}

void requireTable(const Program &program, const StreamState &s, const Prepared &x) {
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

void requireApart(const Program &program, const Memory &memory, const Prepared &x) {
  const std::vector<Exec::Operand> &operands = x.operands;
  const std::vector<Slot> &slots = x.d.def->slots;
  for (size_t w = 0; w < slots.size(); ++w) {
    // Rows that indices pick are compared when they are touched.
    auto tensor = [&](size_t slot) { return x.d.values[slot].kind == Value::Tensor && static_cast<int>(slot) != x.indexed; };
    if (!isWritten(slots[w].kind) || !tensor(w))
      continue;
    const Region &dst = operands[w].region;
    const int m = memory.place(dst.object, x.d.core).memory;
    for (size_t o = 0; o < slots.size(); ++o) {
      const bool otherWritten = isWritten(slots[o].kind);
      if (o == w || !tensor(o) || (otherWritten && o < w) || memory.place(operands[o].region.object, x.d.core).memory != m)
        continue;
      const Region &src = operands[o].region;
      if ((!otherWritten && identical(dst, src)) || !overlap(dst, src))
        continue;
      faultAt(program, x.id, "OPERAND-OVERLAP",
              format("`%s` (%s) and `%s` (%s) share bytes and are not the same", program.objectName(dst.object).c_str(),
                     std::string(slots[w].name).c_str(), program.objectName(src.object).c_str(),
                     std::string(slots[o].name).c_str()));
    }
  }
}

void requireApartExchange(const Program &program, const Memory &memory, const Prepared &x) {
  const Region &src = x.operands[x.d.def->slot("src")].region, &dst = x.operands[x.d.def->slot("dst")].region;
  if (memory.place(src.object, x.d.core).memory == memory.place(dst.object, x.d.core).memory && overlap(src, dst))
    faultAt(program, x.id, "OPERAND-OVERLAP", "what is received would overwrite what is sent");
}

void undefinedOutput(const Program &program, const Tensor &t, int64_t element, bool written, const InstrId *writer) {
  const std::string what = format("element %lld of output `%s` is ", (long long)element, t.name.c_str()) +
                           (written ? "computed from bytes that were never written" : "never written");
  if (writer)
    faultAt(program, *writer, "UNDEFINED-OUTPUT", what);
  Diagnostic d;
  d.code = written ? "UNDEFINED-OUTPUT" : "OUTPUT-UNWRITTEN";
  d.message = what;
  d.context = "end of the run";
  d.advice = "Write every byte of the output.";
  throw Fault{std::move(d)};
}

} // namespace glia::sim
