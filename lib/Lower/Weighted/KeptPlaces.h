// Where conditions on the place of a score hold: for whole blocks of columns nowhere or everywhere, on their border here and there.
#pragma once
#include "Graph/Analysis/IndexCondition.h"
#include "glia/Lower/KernelBuilder.h"

namespace glia::emit {

struct PlaceCondition { // holds where row * r + column * c + constant >= 0
  int64_t r, c, constant;
};

// Of conditions over the dimensions of the scores; nullopt if they are of others than these two.
std::optional<std::vector<PlaceCondition>> placesOf(const std::vector<IndexCondition> &conditions, int row, int column);

enum class Holds : uint8_t { Nowhere, Somewhere, Everywhere };

// Columns that are looked at together.
struct ColumnPart {
  int64_t from, count;
  Holds holds;
};

class KeptPlaces {
public:
  explicit KeptPlaces(std::vector<PlaceCondition> keep) : conditions(std::move(keep)) {}
  Holds holds(int64_t row, int64_t rows, int64_t column, int64_t n) const;
  // Those of the columns [from, to) that count for some of the rows, in order, and at most so many together.
  std::vector<ColumnPart> partsOf(int64_t row, int64_t rows, int64_t from, int64_t to, int64_t most) const;
  // Of rows and columns from these on, in SBUF: a number where a condition does not hold.
  void keep(KernelBuilder &k, const Tile &x, int64_t row, int64_t column, double number) const;

private:
  std::vector<PlaceCondition> conditions;
};

} // namespace glia::emit
