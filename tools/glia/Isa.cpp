#include "Tool.h"
#include "glia/ISA/Instruction.h"
#include "glia/Runtime/Docs.h"
#include "glia/Support/Text.h"

namespace glia::tool {

static std::string str(std::string_view s) { return std::string(s); }

// In the order of SlotKind.
static constexpr const char *kKinds[] = {
    "in",   "out",    "inout", "optional in", "optional out", "scalar",   "optional scalar", "float",
    "int",  "choice", "flag",  "0..255",      "register out", "register", "register or int", "list",
    "text", "label",  "queue"};

static std::string page(const InstrDef &d) {
  std::string out = str(d.name) + ": " + str(d.summary) + "\n  engines:";
  for (int e = 0; e < kNumEngines; ++e)
    if (d.runsOn(static_cast<Engine>(e)))
      out += " " + str(name(static_cast<Engine>(e)));
  out += "\n";
  if (!d.feature.empty())
    out += "  needs: " + str(d.feature) + "\n";
  for (const EngineNeed &n : d.engineNeeds)
    out += "  on " + str(name(n.engine)) + " needs: " + str(n.feature) + "\n";
  for (const Slot &s : d.slots) {
    out += format("  %-18s %-16s %s", str(s.name).c_str(), kKinds[static_cast<int>(s.kind)], str(s.doc).c_str());
    if (s.hasDefault && s.names)
      out += " (default " + str(s.names->names[s.defaultInt]) + ")";
    else if (s.hasDefault && (s.kind == SlotKind::Float || s.kind == SlotKind::Scalar))
      out += format(" (default %g)", s.defaultFloat);
    else if (s.hasDefault && s.kind != SlotKind::Text && s.kind != SlotKind::Ints)
      out += format(" (default %d)", s.defaultInt);
    else if (s.hasDefault)
      out += " (default empty)";
    out += "\n";
    if (s.names) {
      out += "                       ";
      for (std::string_view n : s.names->names)
        out += " " + str(n);
      out += "\n";
    }
  }
  out += "  rules:";
  for (std::string_view r : d.rules)
    out += " " + str(r);
  return out + "\n  source: " + str(d.source) + "\n";
}

void addIsa(Command app, Tool &tool) {
  struct Options {
    std::string name;
    bool json = false, markdown = false;
  };
  auto o = std::make_shared<Options>();
  Command c = app.command("isa", "Lists the instructions, or shows one with its operands and rules");
  Option one = c.option("name", o->name, "An instruction");
  Option json = c.flag("--json", o->json, "The whole instruction set as JSON").excludes(one);
  c.flag("--markdown", o->markdown, "The page docs/isa.md").excludes(one).excludes(json);
  c.footer("Example: glia isa nc_matmul\n         glia isa --json");
  c.callback([o, &tool] {
    tool.command = [o] {
      std::string out;
      if (o->json) {
        out = isaJson() + "\n";
      } else if (o->markdown) {
        out = isaMarkdown();
      } else if (o->name.empty()) {
        for (const InstrDef *d : allInstructions())
          out += format("%-24s %s\n", str(d->name).c_str(), str(d->summary).c_str());
      } else if (const InstrDef *d = findInstruction(o->name)) {
        out = page(*d);
      } else {
        if (const std::string_view why = refusedInstruction(o->name); !why.empty())
          throw Error("ISA-REFUSED", "`" + o->name + "` is not implemented: " + str(why));
        std::vector<std::string_view> known;
        for (const InstrDef *x : allInstructions())
          known.push_back(x->name);
        throw Error("ISA-UNKNOWN", "there is no instruction `" + printable(o->name) + "`",
                    didYouMean(o->name, known, "`glia isa` lists the instructions."));
      }
      write(out);
      return 0;
    };
  });
}

} // namespace glia::tool
