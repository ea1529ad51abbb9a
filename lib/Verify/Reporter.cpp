#include "glia/Verify/Reporter.h"
#include "glia/Verify/RuleBook.h"

#include <algorithm>

namespace glia {

static const InstrOrigin &originOf(const Program &p, const InstrRef &i) {
  return p.origins[p.stream(i.core, i.engine).instrs[i.index].origin];
}

bool Reporter::wants(std::string_view rule) const {
  return options.only.empty() || std::find(options.only.begin(), options.only.end(), rule) != options.only.end();
}

std::string Reporter::describe(const InstrRef &i, bool place) const {
  const Stream &s = program.stream(i.core, i.engine);
  std::string out = format("core %d %s instruction %u: %s", i.core, std::string(name(i.engine)).c_str(), i.index,
                           std::string(program.opcodes[s.instrs[i.index].opcode]->name).c_str());
  if (!place)
    return out;
  const InstrOrigin &o = originOf(program, i);
  if (o.kernel)
    out += ", kernel " + program.strings[o.kernel];
  if (o.operation)
    out += ", operation " + program.strings[o.operation];
  if (o.file)
    out += format(", %s:%u", program.strings[o.file].c_str(), o.line);
  return out;
}

std::string Reporter::operand(const Decoded &d, int slot) const {
  if (slot < 0)
    return {};
  const Value &v = d.values[slot];
  const std::string slotName(d.def->slots[slot].name);
  return v.kind == Value::Tensor ? "`" + program.objectName(v.access.object) + "` (" + slotName + ")" : "`" + slotName + "`";
}

void Reporter::keep(std::string_view rule, Diagnostic d) {
  if (full()) {
    ++left;
    return;
  }
  d.code = rule;
  if (const Rule *r = findRule(rule))
    d.advice = r->advice;
  kept.push_back(std::move(d));
}

void Reporter::fail(std::string_view rule, const InstrRef &at, int slot, std::string what, std::string value,
                    std::string limit, std::vector<std::string> notes) {
  ++total;
  if (!wants(rule) || (lastRule == rule && lastAt == at && lastSlot == slot))
    return;
  lastRule = rule;
  lastAt = at;
  lastSlot = slot;
  Diagnostic d;
  d.message = std::move(what);
  d.value = std::move(value);
  d.limit = std::move(limit);
  d.notes = std::move(notes);
  const InstrOrigin &o = originOf(program, at);
  if (o.kernel)
    d.context = "kernel " + program.strings[o.kernel] + ", ";
  if (o.operation)
    d.context += "operation " + program.strings[o.operation] + ", ";
  d.context += describe(at, false);
  d.place = {program.strings[o.file], o.line, 0};
  keep(rule, std::move(d));
}

void Reporter::failProgram(std::string_view rule, std::string what, std::string value, std::string limit,
                           std::vector<std::string> notes) {
  ++total;
  if (!wants(rule))
    return;
  Diagnostic d;
  d.message = std::move(what);
  d.value = std::move(value);
  d.limit = std::move(limit);
  d.notes = std::move(notes);
  keep(rule, std::move(d));
}

void Reporter::forget() {
  kept.clear();
  total = left = 0;
  lastSlot = -2;
}

std::vector<Diagnostic> Reporter::take() {
  if (left && !kept.empty())
    kept.back().notes.push_back(format("%llu more are not shown", static_cast<unsigned long long>(left)));
  left = 0;
  return std::move(kept);
}

} // namespace glia
