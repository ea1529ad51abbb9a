// The instruction set as a page and as JSON: dialects, signatures and documentation are derived from it.
#include "glia/ISA/Instruction.h"
#include "glia/Runtime/Docs.h"

#include <nlohmann/json.hpp>
#include <set>

namespace glia {

namespace {

using Json = nlohmann::ordered_json;

// Index = value of the enumeration.
constexpr std::string_view kSlotKinds[] = {
    "in",   "out",    "inout", "optional in", "optional out", "scalar",      "optional scalar", "float",
    "int",  "choice", "flag",  "small",       "register out", "register in", "register or int", "ints",
    "text", "label",  "queue"};
constexpr std::string_view kUnits[] = {"compute", "register", "control", "dma", "exchange", "barrier"};

std::string_view kindName(SlotKind k) { return kSlotKinds[static_cast<int>(k)]; }
bool isOptional(SlotKind k) { return k == SlotKind::OptIn || k == SlotKind::OptOut || k == SlotKind::OptScalar; }

// A default as it is written in assembly; empty if there is none.
std::string defaultText(const Slot &s) {
  if (!s.hasDefault)
    return {};
  if (s.kind == SlotKind::Enum && s.names)
    return std::string(s.names->names[static_cast<size_t>(s.defaultInt)]);
  if (s.kind == SlotKind::Float || s.kind == SlotKind::Scalar)
    return Json(s.defaultFloat).dump();
  if (s.kind == SlotKind::Text)
    return "\"\"";
  if (s.kind == SlotKind::Ints)
    return "[]";
  return std::to_string(s.defaultInt);
}

std::vector<std::string> enginesOf(const InstrDef &d) {
  std::vector<std::string> out;
  for (int i = 0; i < kNumEngines; ++i)
    if (d.runsOn(static_cast<Engine>(i)))
      out.emplace_back(name(static_cast<Engine>(i)));
  return out;
}

std::string joined(const std::vector<std::string> &list) {
  std::string out;
  for (const std::string &s : list)
    out += (out.empty() ? "" : ", ") + s;
  return out;
}

// "trn2, trn3" for a feature; "all" for none.
std::string targetsWith(std::string_view feature) {
  if (feature.empty())
    return "all";
  std::vector<std::string> out;
  for (const std::string &t : builtinTargets())
    if (loadTarget(t)->has(feature))
      out.push_back(t);
  return out.empty() ? "none" : joined(out);
}

std::string cell(std::string_view text) {
  std::string out;
  for (char c : text)
    out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string slotType(const Slot &s) {
  return s.kind == SlotKind::Enum ? "choice of " + std::string(s.names->type) : std::string(kindName(s.kind));
}

std::string section(const InstrDef &d) {
  std::string out = "## " + std::string(d.name) + "\n\n" + std::string(d.summary) + "\n\n";
  out += "- Engines: " + joined(enginesOf(d)) + "\n- Targets: " + targetsWith(d.feature) + "\n";
  for (const EngineNeed &n : d.engineNeeds)
    out += "- On " + std::string(name(n.engine)) + ": " + targetsWith(n.feature) + "\n";
  out += "- Unit: " + std::string(kUnits[static_cast<int>(d.unit)]) + "\n- Source: " + std::string(d.source) + "\n";
  if (!d.rules.empty()) {
    out += "- Rules besides the general ones:";
    for (std::string_view r : d.rules)
      out += " " + std::string(r);
    out += "\n";
  }
  if (!d.slots.empty()) {
    out += "\n| operand | kind | default | meaning |\n|---|---|---|---|\n";
    for (const Slot &s : d.slots)
      out += "| " + std::string(s.name) + " | " + slotType(s) + " | " + cell(defaultText(s)) + " | " + cell(s.doc) + " |\n";
  }
  return out + "\n";
}

Json slotJson(const Slot &s) {
  Json j = {{"name", s.name},
            {"kind", kindName(s.kind)},
            {"doc", s.doc},
            {"tensor", isTensorSlot(s.kind)},
            {"written", isWritten(s.kind)},
            {"optional", isOptional(s.kind) || s.hasDefault}};
  if (s.names) {
    j["type"] = s.names->type;
    j["choices"] = Json::array();
    for (std::string_view n : s.names->names)
      j["choices"].push_back(n);
  }
  if (s.hasDefault)
    j["default"] = defaultText(s);
  return j;
}

} // namespace

std::string isaMarkdown() {
  std::string out =
      "# Instructions\n\nMade by `glia isa --markdown` from the definitions in lib/ISA/instructions; do not edit.\n\n"
      "Every tensor operand obeys the general rules on operands (docs/rules.md); each instruction may add its own. A number "
      "in place of a `scalar` is an fp32 immediate, a tensor there has one element per partition.\n\n"
      "| instruction | engines | targets | meaning |\n|---|---|---|---|\n";
  std::set<const EnumNames *> choices;
  for (const InstrDef *d : allInstructions()) {
    out += "| [" + std::string(d->name) + "](#" + std::string(d->name) + ") | " + joined(enginesOf(*d)) + " | " +
           targetsWith(d->feature) + " | " + cell(d->summary) + " |\n";
    for (const Slot &s : d->slots)
      if (s.names)
        choices.insert(s.names);
  }
  out += "\n";
  for (const InstrDef *d : allInstructions())
    out += section(*d);
  out += "## Choices\n\n| type | names |\n|---|---|\n";
  std::set<std::pair<std::string_view, std::string>> rows; // sorted by name, not by address
  for (const EnumNames *e : choices) {
    std::string names;
    for (std::string_view n : e->names)
      names += (names.empty() ? "" : ", ") + std::string(n);
    rows.emplace(e->type, names);
  }
  for (const auto &[type, names] : rows)
    out += "| " + std::string(type) + " | " + names + " |\n";
  return out;
}

std::string isaJson() {
  Json all = Json::array();
  for (const InstrDef *d : allInstructions()) {
    Json j = {{"name", d->name},          {"summary", d->summary},
              {"source", d->source},      {"unit", kUnits[static_cast<int>(d->unit)]},
              {"engines", enginesOf(*d)}, {"feature", d->feature}};
    j["engine_features"] = Json::object();
    for (const EngineNeed &n : d->engineNeeds)
      j["engine_features"][std::string(name(n.engine))] = n.feature;
    j["operands"] = Json::array();
    for (const Slot &s : d->slots)
      j["operands"].push_back(slotJson(s));
    j["rules"] = Json::array();
    for (std::string_view r : d->rules)
      j["rules"].push_back(r);
    all.push_back(std::move(j));
  }
  return Json{{"instructions", all}}.dump(1) + "\n";
}

} // namespace glia
