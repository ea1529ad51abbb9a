// select_and_scatter with windows over rows: channels last, few images.
#pragma once
#include "Lower/Rows/Combine.h"
#include "WindowShape.h"

namespace glia::emit {

struct SelectRowLayout {
  std::vector<WindowDim> plain; // dimensions before the rows with windows
  WindowDim over;               // the dimension whose windows go over rows
  std::vector<WindowDim> free;
  std::vector<int64_t> windowBox, box; // windows, and elements of the result, at a time
  int64_t rows() const;                // of windows
};
// nullopt: the windows have another form.
std::optional<SelectRowLayout> rowLayoutOf(mlir::Operation *op, const Combiner &c);
void selectOnRows(KernelBuilder &k, mlir::Operation *op, const SelectRowLayout &l, const Tile &operand, const Tile &source,
                  const Tile &out);

} // namespace glia::emit
