#include "PlaceBounds.h"
#include "Lower/Contract/OperandPanels.h"

namespace glia::emit {

bool PlaceBounds::suits(const Target &target, const std::vector<PlaceCondition> &keep) {
  return target.has("range_select") && !keep.empty() && keep.size() <= 2 &&
         llvm::all_of(keep, [](const PlaceCondition &c) { return c.c == 1 || c.c == -1; });
}

Tile PlaceBounds::bound(int64_t perRow, int64_t first) {
  auto [it, fresh] = bounds.try_emplace({perRow, first});
  if (fresh) {
    const Tile count = k.sbuf(DType::I32, kContract, {1});
    it->second = k.sbuf(DType::F32, kContract, {1});
    k.iota(count, {0, 1}, static_cast<int32_t>(first), static_cast<int32_t>(perRow));
    k.move(it->second, count);
  }
  return it->second;
}

// Columns count from the bound of the first row by the first condition: then bounds are the same for all blocks of rows of a band.
void PlaceBounds::select(const Tile &dst, const Tile &data, int64_t row, int64_t column, const Tile &result, bool goesOn) {
  // column <= r row + constant, or column >= -(r row + constant)
  const auto limit = [&](const PlaceCondition &c) { return -c.c * (c.r * row + c.constant); };
  const int64_t origin = limit(keep[0]);
  const auto side = [&](const PlaceCondition &c) {
    return KernelBuilder::Bound{c.c < 0 ? "less_equal" : "greater_equal",
                                bound(-c.c * c.r, limit(c) - origin).rows(0, dst.partitions)};
  };
  k.rangeSelect(dst, data, side(keep.front()), side(keep.back()), column - origin, result, goesOn);
}

} // namespace glia::emit
