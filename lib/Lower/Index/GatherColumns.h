// Gathers along the last dimension: rows on partitions, indices along them.
#pragma once
#include "IndexForm.h"

namespace glia::emit {

// x[..., i], with the same indices for all rows or indices of each row's own (batching dimensions).
struct ColumnGather {
  struct Row {
    int64_t count, data, index, other; // steps in the data, the indices and the result
  };
  std::vector<Row> rows;
  int64_t length = 0;  // of the last dimension
  int64_t columns = 0; // indices per row
  Dims index, other;   // of these, in the indices and in the result
  int64_t rowCount() const;
};

// nullopt: the gather has another form, or a row does not fit on chip.
std::optional<ColumnGather> columnGatherOf(const IndexForm &f, DType t);
void emitColumnGather(KernelBuilder &k, const ColumnGather &c, const Tile &data, const Tile &indices, const Tile &out);

} // namespace glia::emit
