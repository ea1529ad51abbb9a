#include "glia/ISA/Cost.h"

namespace glia {

static const EnumNames &conditions() {
  static constexpr std::string_view kNames[] = {"always", "lt", "le", "eq", "ne", "ge", "gt"};
  static constexpr EnumNames kEnum{"condition", kNames};
  return kEnum;
}

// Interpreted by the simulators, as Unit::Control is: no `execute`.
INSTRUCTION(branch,
            "Continues at `target` if a is less than, equal to ... b (signed 32 bits), else with the next instruction.") {
  def.source("architecture guides and KLR Operators.lean: compare-branch with always, lt, le, eq, ne, ge, gt against a "
             "number or a "
             "register; signedness assumed")
      .everyEngine()
      .unit(Unit::Control)
      .flow(Flow::None)
      .choice("cond", conditions(), "always, lt, le, eq, ne, ge, gt")
      .slot("a", SlotKind::RegIn, "first value (any register if the condition is always)")
      .slot("b", SlotKind::RegOrInt, "second value")
      .orElse(0)
      .slot("target", SlotKind::Label, "where to go on; behind this instruction");
  def.cost([](const CostQuery &q) { return q.sequencer(); });
}

} // namespace glia
