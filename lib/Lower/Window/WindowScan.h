// Windows that grow from one end to the other: running sums, products, maxima. One instruction scans a row; where it would
// not be exact, and from the end to the beginning, rows are combined with themselves, 1, 2, 4 ... further on. Rows are all
// other dimensions.
#pragma once
#include "Lower/Rows/Combine.h"
#include "WindowShape.h"

namespace glia::emit {

struct WindowScan {
  int64_t outer = 1, length = 1, inner = 1; // the scanned dimension stands between them
  bool backward = false;
};

// nullopt: the windows are not of this kind, or too short to be worth it.
std::optional<WindowScan> scanOf(const std::vector<WindowDim> &dims);
void emitScan(KernelBuilder &k, const WindowScan &s, const Combiner &c, double start, const Tile &in, const Tile &out);

} // namespace glia::emit
