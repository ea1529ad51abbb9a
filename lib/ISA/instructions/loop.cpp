#include "glia/ISA/Cost.h"

namespace glia {

// The simulators keep the program counter and interpret Unit::Control themselves, so there is no `execute`: `count` is read
// once; count <= 0 continues after the matching end_loop; `iv` counts 0, 1, 2 ...
INSTRUCTION(loop, "Repeats the instructions up to the matching end_loop; the register counts 0, 1, 2 ...") {
  def.source("dynamic loops deep dive for the existence of hardware loops; form chosen (docs/ordering.md, L1 and L2)")
      .everyEngine()
      .unit(Unit::Control)
      .flow(Flow::None)
      .slot("iv", SlotKind::RegOut, "register that counts the iterations")
      .slot("count", SlotKind::RegOrInt, "number of iterations, read when the loop starts; 0 or less skips the body")
      .slot("group", SlotKind::Text, "loops of other engines with this name run in step with it")
      .orElse(0)
      .slot("end", SlotKind::Label, "the matching end_loop");
  def.cost([](const CostQuery &q) { return q.sequencer(); });
}

} // namespace glia
