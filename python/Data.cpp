// Targets, instructions and rules as plain Python data.
#include "Bindings.h"
#include "glia/ISA/Instruction.h"
#include "glia/Target/Title.h"
#include "glia/Verify/RuleBook.h"

namespace nb = nanobind;

namespace glia {

static const char *originName(Origin o) {
  static const char *const names[] = {"documented", "derived", "assumed"};
  return names[static_cast<int>(o)];
}

static nb::dict targetData(const Target &t) {
  nb::dict out, values;
  out["name"] = t.name;
  out["title"] = titleOf(t);
  out["summary"] = t.summary;
  for (const auto &[key, v] : t.values) {
    nb::dict entry;
    entry["value"] = v.number;
    entry["origin"] = originName(v.origin);
    entry["source"] = v.source;
    entry["unit"] = v.unit;
    values[key.c_str()] = entry;
  }
  out["values"] = values;
  nb::list sets;
  for (const ActivationSet &s : t.activationSets) {
    nb::dict entry;
    entry["name"] = s.name;
    entry["functions"] = nb::cast(s.functions);
    entry["origin"] = originName(s.origin);
    entry["source"] = s.source;
    sets.append(entry);
  }
  out["activation_sets"] = sets;
  return out;
}

static const char *slotKindName(SlotKind k) {
  static const char *const names[] = {"in",         "out",  "inout", "opt_in", "opt_out", "scalar",  "opt_scalar",
                                      "float",      "int",  "enum",  "flag",   "small",   "reg_out", "reg_in",
                                      "reg_or_int", "ints", "text",  "label",  "queue"};
  return names[static_cast<int>(k)];
}

static nb::dict instructionData(const InstrDef &d) {
  nb::dict out;
  out["name"] = d.name;
  out["summary"] = d.summary;
  out["source"] = d.source;
  out["feature"] = d.feature;
  nb::list engines, slots, rules;
  for (int e = 0; e < kNumEngines; ++e)
    if (d.runsOn(static_cast<Engine>(e)))
      engines.append(name(static_cast<Engine>(e)));
  for (const Slot &s : d.slots) {
    nb::dict slot;
    slot["name"] = s.name;
    slot["kind"] = slotKindName(s.kind);
    slot["doc"] = s.doc;
    if (s.names) {
      nb::list names;
      for (std::string_view n : s.names->names)
        names.append(n);
      slot["choices"] = names;
    }
    if (s.hasDefault) {
      if (s.kind == SlotKind::Float || s.kind == SlotKind::Scalar)
        slot["default"] = s.defaultFloat;
      else
        slot["default"] = s.defaultInt;
    }
    slots.append(slot);
  }
  for (std::string_view r : d.rules)
    rules.append(r);
  out["engines"] = engines;
  out["slots"] = slots;
  out["rules"] = rules;
  return out;
}

void bindData(nb::module_ &m) {
  m.def("builtin_targets", &builtinTargets);
  m.def("target", [](std::string_view nameOrPath) { return targetData(*loadTarget(nameOrPath)); });
  m.def("instructions", [] {
    nb::list out;
    for (const InstrDef *d : allInstructions())
      out.append(instructionData(*d));
    return out;
  });
  m.def("rules", [] {
    nb::list out;
    for (const Rule &r : allRules()) {
      nb::dict entry;
      entry["id"] = r.id;
      entry["sentence"] = r.sentence;
      entry["targets"] = r.targets;
      entry["source"] = r.source;
      entry["advice"] = r.advice;
      entry["bad"] = r.bad;
      entry["good"] = r.good;
      out.append(entry);
    }
    return out;
  });
}

} // namespace glia
