// How windows are laid out on chip: which dimensions are rows, one per partition, which lie along a partition, and how much
// of these at a time.
#pragma once
#include "WindowShape.h"

namespace glia::emit {

struct WindowPlan {
  std::vector<WindowDim> rows; // windows here are one load per tap
  std::vector<WindowDim> free; // windows here are strided views
  std::vector<int64_t> box;    // outputs of each free dimension at a time
  int64_t rowCount() const;
  int64_t rowTaps() const;
};

// nullopt: a window that does not fit. bytesIn, bytesOut: what an element on chip takes, of the input and of the output,
// with everything made of it.
std::optional<WindowPlan> planWindows(std::vector<WindowDim> dims, int64_t elementBytes, int64_t bytesIn, int64_t bytesOut,
                                      bool windowsOnRows);

// Boxes of at most `box` over `counts`, slowest dimension first: where each starts and how much it has.
void forEachBox(const std::vector<int64_t> &counts, const std::vector<int64_t> &box,
                llvm::function_ref<void(const std::vector<int64_t> &from, const std::vector<int64_t> &count)> body);
// Indices below `counts` in row-major order.
void forEachIndex(const std::vector<int64_t> &counts, llvm::function_ref<void(const std::vector<int64_t> &)> body);

// Rows [from, from + count) of a tile, `step` apart in HBM.
struct RowRun {
  int64_t from = 0, count = 1, at = 0, step = 0;
};
// Of `rows` rows those that have a place, as few runs as possible.
std::vector<RowRun> rowRuns(int64_t rows, llvm::function_ref<std::optional<int64_t>(int64_t row)> placeOf);
// Loads them; other rows of the tile stay as they are. `at` counts from the origin of `hbm`.
void loadRuns(KernelBuilder &k, const Tile &flat, const Tile &hbm, const std::vector<RowRun> &runs, const Dims &cols);

} // namespace glia::emit
