// Scatters of whole rows, all updates at once.
#pragma once
#include "Lower/Rows/Combine.h"
#include "IndexForm.h"

namespace glia::emit {

// Data of `rows` x `width`, one update row per place; indices choose the row.
struct RowScatter {
  int64_t rows = 0, width = 0, places = 0;
  struct Component {
    int64_t at = 0, most = 0, scale = 0; // where in an index vector; the last row along its dimension; rows per index
  };
  std::vector<Component> components;
  Dims index, other;        // of the places, in the indices and in the updates
  std::vector<int64_t> own; // rows per index of a batch dimension
};
// nullopt: windows that are not whole rows.
std::optional<RowScatter> rowScatterOf(const IndexForm &f);

// Sums: a matrix of ones and zeros times the updates. What is not finite is counted apart, so that it stays where it
// belongs.
bool sumsWell(const RowScatter &s, const Combiner &c);
// Data and updates without a handle are the numbers beside them.
void scatterSums(KernelBuilder &k, const RowScatter &s, DType type, const Tile &data, double splatData, const Tile &indices,
                 const Tile &updates, double splat, const Tile &out);

// Replacement: for each row the last update that goes there, then a gather of the updates over the rows.
bool replacesWell(const RowScatter &s);
void scatterReplacing(KernelBuilder &k, const RowScatter &s, const Tile &data, const Tile &indices, const Tile &updates,
                      const Tile &out);

} // namespace glia::emit
