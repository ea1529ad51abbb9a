#include "glia/ISA/Cost.h"
#include "glia/ISA/Exec.h"

namespace glia {

INSTRUCTION(nop, "Does nothing; carries waits and updates.") {
  def.source("profile schema reference, opcodes NOP and EVENT_SEMAPHORE")
      .everyEngine()
      .unit(Unit::Register)
      .flow(Flow::None);
  def.execute([](Exec &) {});
  def.cost([](const CostQuery &q) { return q.sequencer(); });
}

} // namespace glia
