// Loops of a stream: each loop has its end_loop, they nest, and their labels name each other. Everything after relies on it.
#include "StaticParts.h"
#include "glia/ISA/Control.h"

namespace glia {

void checkLoops(const Program &p, int core, Engine engine, Reporter &r) {
  const Stream &s = p.stream(core, engine);
  std::vector<std::pair<uint32_t, uint32_t>> open; // loop, the end_loop it names
  Decoded d;
  for (uint32_t i = 0; i < s.instrs.size(); ++i) {
    const InstrDef &def = *p.opcodes[s.instrs[i].opcode];
    const bool begins = beginsLoop(def), ends = endsLoop(def);
    if (!begins && !ends)
      continue;
    decode(p, core, engine, i, d);
    if (begins) {
      open.push_back({i, static_cast<uint32_t>(d.values[def.slot("end")].integer)});
    } else if (open.empty()) {
      r.fail("CONTROL-FORM", d, -1, "this end_loop has no loop");
    } else {
      const uint32_t begin = static_cast<uint32_t>(d.values[def.slot("begin")].integer);
      if (begin != open.back().first || open.back().second != i)
        r.fail("CONTROL-FORM", d, -1, "this end_loop and the loop before it do not name each other", std::to_string(begin),
               std::to_string(open.back().first), {"the loop: " + r.describe({core, engine, open.back().first})});
      open.pop_back();
    }
  }
  for (const auto &[loop, end] : open)
    r.fail("CONTROL-FORM", {core, engine, loop}, -1, "this loop has no end_loop");
}

} // namespace glia
