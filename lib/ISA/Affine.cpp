#include "glia/ISA/Affine.h"
#include "glia/Support/Diagnostic.h"

namespace glia {

static constexpr size_t kMaxPairs = 4;

void checkAffine(Check &c, int patternSlot, int like) {
  const std::span<const uint32_t> list = c.list(patternSlot);
  if (list.size() % 2 != 0 || list.empty() || list.size() > 2 * kMaxPairs)
    return c.fail("IOTA-PATTERN", patternSlot, format("the pattern has %zu numbers", list.size()),
                  format("%zu", list.size()), "2, 4, 6 or 8: pairs of step and count");
  const int64_t elements = c.operand(like).elements();
  int64_t product = 1;
  for (size_t i = 1; i < list.size(); i += 2) {
    if (static_cast<int32_t>(list[i]) < 1 || list[i] > elements)
      return c.fail("IOTA-PATTERN", patternSlot,
                    format("a count of %d for %lld elements", static_cast<int32_t>(list[i]), (long long)elements),
                    format("%d", static_cast<int32_t>(list[i])), format("1 to %lld", (long long)elements));
    product *= list[i];
    if (product > elements)
      break;
  }
  if (product != elements)
    c.fail("IOTA-PATTERN", patternSlot,
           format("the counts multiply to %lld%s and `%s` has %lld elements per partition", (long long)product,
                  product > elements ? " or more" : "", std::string(c.operand(like).objectName).c_str(),
                  (long long)elements),
           format("%lld", (long long)product), format("%lld", (long long)elements));
}

std::vector<int32_t> affineRow(Exec &x, int patternSlot, int32_t offset) {
  const std::span<const uint32_t> list = x.list(patternSlot);
  std::vector<int32_t> values{offset};
  for (size_t d = 0; d + 1 < list.size(); d += 2) { // slowest first: each pair expands what is there
    std::vector<int32_t> next;
    next.reserve(values.size() * list[d + 1]);
    for (int32_t v : values)
      for (uint32_t i = 0; i < list[d + 1]; ++i)
        next.push_back(wrapAdd(v, wrapMul(static_cast<int32_t>(list[d]), static_cast<int32_t>(i))));
    values = std::move(next);
  }
  return values;
}

} // namespace glia
