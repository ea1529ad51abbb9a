// Conditions on the place as bounds of the columns of each row, which one instruction of Vector keeps while it takes scores from PSUM and finds
// the largest of them.
#pragma once
#include "KeptPlaces.h"

#include <map>

namespace glia::emit {

class PlaceBounds {
public:
  PlaceBounds(KernelBuilder &k, std::vector<PlaceCondition> keep) : k(k), keep(std::move(keep)) {}
  // One or two conditions, each of which is a bound of the columns, on a target that has the instruction.
  static bool suits(const Target &target, const std::vector<PlaceCondition> &keep);
  // `data`, of rows and columns from these on, where all conditions hold; elsewhere the lowest number. The largest of each row as in
  // KernelBuilder::scalarReduce.
  void select(const Tile &dst, const Tile &data, int64_t row, int64_t column, const Tile &result, bool goesOn);

private:
  KernelBuilder &k;
  const std::vector<PlaceCondition> keep;
  std::map<std::pair<int64_t, int64_t>, Tile> bounds; // by what a partition adds, and that of the first

  Tile bound(int64_t perRow, int64_t first);
};

} // namespace glia::emit
