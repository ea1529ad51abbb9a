#include "glia/ISA/Instruction.h"

#include <algorithm>

namespace glia {

#define GLIA_DECLARE(NAME) const InstrDef &instruction_##NAME();
#define INSTRUCTION_FILE(NAME) GLIA_DECLARE(NAME)
#include "AllInstructions.inc"
#undef INSTRUCTION_FILE

bool isTensorSlot(SlotKind k) { return k <= SlotKind::OptOut; }
bool isWritten(SlotKind k) { return k == SlotKind::Out || k == SlotKind::InOut || k == SlotKind::OptOut; }

int InstrDef::slot(std::string_view slotName) const {
  for (size_t i = 0; i < slots.size(); ++i)
    if (slots[i].name == slotName)
      return static_cast<int>(i);
  return -1;
}

std::span<const InstrDef *const> allInstructions() {
  static const std::vector<const InstrDef *> all = [] {
    std::vector<const InstrDef *> v = {
#define INSTRUCTION_FILE(NAME) &instruction_##NAME(),
#include "AllInstructions.inc"
#undef INSTRUCTION_FILE
    };
    std::sort(v.begin(), v.end(), [](auto *a, auto *b) { return a->name < b->name; });
    return v;
  }();
  return all;
}

const InstrDef *findInstruction(std::string_view name) {
  auto all = allInstructions();
  auto it = std::lower_bound(all.begin(), all.end(), name, [](auto *d, std::string_view n) { return d->name < n; });
  return it != all.end() && (*it)->name == name ? *it : nullptr;
}

std::string_view refusedInstruction(std::string_view name) {
  struct Refused {
    std::string_view name, why;
  };
  static constexpr Refused kRefused[] = {
      {"nc_matmul_mx", "MX types are not implemented"},
      {"quantize_mx", "MX types are not implemented"},
      {"activate2", "no public kernel uses it yet"},
      {"exponential", "no public kernel uses it yet"},
      {"tensor_scalar_cumulative", "no public kernel uses it yet"},
      {"select_reduce", "no public kernel uses it yet"},
      {"sequence_bounds", "no public kernel uses it yet"},
      {"topk", "no public kernel uses it yet"},
      {"rng", "the random number generator of the hardware is not public"},
      {"rand2", "the random number generator of the hardware is not public"},
      {"dropout", "the random number generator of the hardware is not public"},
      {"set_rng_seed", "the random number generator of the hardware is not public"},
      {"rand_set_state", "the random number generator of the hardware is not public"},
      {"rand_get_state", "the random number generator of the hardware is not public"},
      {"all_reduce", "it is `collective` with kind=all_reduce"},
      {"all_gather", "it is `collective` with kind=all_gather"},
      {"reduce_scatter", "it is `collective` with kind=reduce_scatter"},
      {"all_to_all", "it is `collective` with kind=all_to_all"},
      {"collective_permute", "it is `collective` with kind=permute"},
  };
  for (const Refused &r : kRefused)
    if (r.name == name)
      return r.why;
  return {};
}

} // namespace glia
