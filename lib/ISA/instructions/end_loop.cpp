#include "glia/ISA/Cost.h"

namespace glia {

// Interpreted by the simulators, see loop.cpp.
INSTRUCTION(end_loop, "Ends the body of a loop or a while: the next iteration starts, or the instructions after it.") {
  def.source("dynamic loops deep dive for the existence of hardware loops; form chosen (docs/ordering.md, L1 and L8)")
      .everyEngine()
      .unit(Unit::Control)
      .flow(Flow::None)
      .slot("begin", SlotKind::Label, "the matching loop or while");
  def.cost([](const CostQuery &q) { return q.sequencer(); });
}

} // namespace glia
