#include "glia/ISA/Cost.h"

namespace glia {

// Interpreted by the simulators, see loop.cpp. The register is read here before the first iteration and by the matching end_loop
// before each further one.
INSTRUCTION(
    while, "Repeats the instructions up to the matching end_loop while a register is not 0, tested before each iteration.") {
  def.source("NKI language reference, while loops over a register; form chosen (docs/ordering.md, L8)")
      .everyEngine()
      .unit(Unit::Control)
      .flow(Flow::None)
      .slot("cond", SlotKind::RegIn, "register that is tested; the body sets it anew")
      .slot("group", SlotKind::Text, "loops of other engines with this name run in step with it")
      .orElse(0)
      .slot("end", SlotKind::Label, "the matching end_loop");
  def.cost([](const CostQuery &q) { return q.sequencer(); });
}

} // namespace glia
