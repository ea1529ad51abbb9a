// Writes the steps between scores and softmax as instructions, rows on partitions.
#pragma once
#include "WeightedPlan.h"

#include <map>

namespace glia::emit {

class ScoreChain {
public:
  // `tensors`: in HBM, of each step those that are beside the scores.
  ScoreChain(KernelBuilder &k, const WeightedMean &m, const WeightedPlan &p, std::vector<std::vector<Tile>> tensors);
  // What is exponentiated is this times what `make` gives: greater than 0.
  double factor() const { return applied ? 1 : rest; }
  // What stands where a condition on the place does not hold, as `make` would give it.
  double masked() const;
  void moved(int reg); // in the run-time loop of the plan
  // `out`, in SBUF, from scores in PSUM: rows and columns from these on.
  void make(const Tile &out, const Tile &scores, int64_t batch, int64_t row, int64_t column);

private:
  struct Kept { // a tile that more than one call needs
    int64_t offset, row;
    Tile tile;
  };
  KernelBuilder &k;
  const WeightedMean &m;
  const WeightedPlan &p;
  std::vector<std::vector<Tile>> tensors;
  std::map<std::pair<size_t, size_t>, Kept> kept; // by step and view
  double rest = 1;                                // factors that are left at the end
  bool applied = false;                           // there, and not by exp

  double unscaled(double number, double scale) const;
  void combine(const Tile &out, const Tile &now, size_t step, double &scale, int64_t batch, int64_t row, int64_t column);
  Tile beside(size_t step, int64_t batch, int64_t row, int64_t n, int64_t column, int64_t count);
  Tile viewed(size_t step, size_t view, int64_t batch, int64_t row, int64_t n, int64_t column, int64_t count);
};

} // namespace glia::emit
