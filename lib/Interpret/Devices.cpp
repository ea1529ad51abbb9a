// Exchange between devices, of which there is one here: number 0, alone in its group.
#include "Interpret/Rules.h"

namespace glia::interp {

namespace {

void requireAlone(const Call &c) {
  const std::optional<Tensor> groups = c.elements("replica_groups");
  if (!groups || (groups->shape.size() != 2 && groups->count() > 0))
    c.fail("groups of devices that are not a table of numbers");
  if (groups->count() == 0) // all devices together
    return;
  bool found = false;
  for (int64_t row = 0, width = groups->shape[1]; row < groups->shape[0]; ++row) {
    int64_t members = 0;
    for (int64_t i = row * width; i < (row + 1) * width; ++i) {
      members += asInt(groups->at(i)) >= 0; // short groups are filled up with -1
      found |= asInt(groups->at(i)) == 0;
    }
    if (members > 1)
      c.fail("an exchange between several devices");
  }
  if (!found)
    c.fail("an exchange that device 0 has no part in");
}

void same(Call &c) {
  requireAlone(c);
  if (c.operandCount() != c.resultCount())
    c.fail("a root that is computed");
  for (size_t i = 0; i < c.resultCount(); ++i) {
    if (c.resultType(i).shape != c.tensor(i).shape)
      c.fail("one device gives as much as it takes");
    c.set(i, c.tensor(i));
  }
}

void permute(Call &c) {
  const Shape pairs = c.intsOr("source_target_pairs", 0, 0);
  c.set(0, c.fresh(0));
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs[i] != 0 || pairs[i + 1] != 0)
      c.fail("an exchange between several devices");
    else
      c.set(0, c.tensor(0));
}

void number(Call &c) { c.set(0, Tensor::scalar(c.resultType(0).element, 0)); }

constexpr Rule kRules[] = {
    {"stablehlo.all_reduce", same},           {"stablehlo.all_gather", same},
    {"stablehlo.all_to_all", same},           {"stablehlo.reduce_scatter", same},
    {"stablehlo.collective_broadcast", same}, {"stablehlo.collective_reduce", same},
    {"stablehlo.cross-replica-sum", same},    {"stablehlo.collective_permute", permute},
    {"stablehlo.partition_id", number},       {"stablehlo.replica_id", number},
};

} // namespace

std::span<const Rule> deviceRules() { return kRules; }

} // namespace glia::interp
