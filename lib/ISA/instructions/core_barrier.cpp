#include "glia/ISA/Check.h"
#include "glia/ISA/Cost.h"
#include "glia/Support/Diagnostic.h"

namespace glia {

enum { NAME };

// The simulators pair the two cores' barriers themselves (Unit::Barrier): no `execute`.
INSTRUCTION(core_barrier, "The issuing engine waits until the other core's barrier of the same name is reached as often.") {
  def.source("nki.isa API reference, core_barrier; pairing by name and count chosen (docs/ordering.md, C1)")
      .everyEngine()
      .needs("lnc2")
      .unit(Unit::Barrier)
      .flow(Flow::None)
      .slot("name", SlotKind::Text, "the barrier; the n-th of this name on one core meets the n-th on the other");
  def.rules({"LNC2-CORES"}).check([](Check &c) {
    if (c.cores != 2)
      c.fail("LNC2-CORES", NAME, "a barrier needs two cores", format("%d", c.cores), "2");
  });
  def.cost([](const CostQuery &q) { return q.sequencer(); });
}

} // namespace glia
