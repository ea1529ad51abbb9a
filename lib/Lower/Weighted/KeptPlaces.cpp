#include "KeptPlaces.h"
#include "Lower/Contract/OperandPanels.h"

#include <algorithm>

namespace glia::emit {

std::optional<std::vector<PlaceCondition>> placesOf(const std::vector<IndexCondition> &conditions, int row, int column) {
  std::vector<PlaceCondition> out;
  for (const IndexCondition &c : conditions) {
    PlaceCondition k{0, 0, c.constant};
    for (int d = 0; d < static_cast<int>(c.factors.size()); ++d) {
      const int64_t factor = c.factors[static_cast<size_t>(d)];
      if (factor != 0 && d != row && d != column)
        return std::nullopt;
      if (factor != 0)
        (d == column ? k.c : k.r) = factor;
    }
    out.push_back(k);
  }
  return out;
}

Holds KeptPlaces::holds(int64_t row, int64_t rows, int64_t column, int64_t n) const {
  Holds out = Holds::Everywhere;
  for (const PlaceCondition &c : conditions) {
    const int64_t a = c.r * row, b = c.r * (row + rows - 1), d = c.c * column, e = c.c * (column + n - 1);
    if (std::max(a, b) + std::max(d, e) + c.constant < 0)
      return Holds::Nowhere;
    if (std::min(a, b) + std::min(d, e) + c.constant < 0)
      out = Holds::Somewhere;
  }
  return out;
}

std::vector<ColumnPart> KeptPlaces::partsOf(int64_t row, int64_t rows, int64_t from, int64_t to, int64_t most) const {
  std::vector<ColumnPart> out;
  for (int64_t c = from; c < to; c += kContract) {
    const int64_t n = std::min(kContract, to - c);
    const Holds here = holds(row, rows, c, n);
    if (here == Holds::Nowhere)
      continue;
    if (!out.empty() && out.back().holds == here && out.back().from + out.back().count == c && out.back().count + n <= most)
      out.back().count += n;
    else
      out.push_back({c, n, here});
  }
  return out;
}

void KeptPlaces::keep(KernelBuilder &k, const Tile &x, int64_t row, int64_t column, double number) const {
  for (const PlaceCondition &c : conditions)
    k.choose(x, {static_cast<int32_t>(c.c), static_cast<int32_t>(x.elements())},
             static_cast<int32_t>(c.r * row + c.c * column + c.constant), static_cast<int32_t>(c.r), number);
}

} // namespace glia::emit
