// Windows that grow from one end to the other: running sums, products, maxima. One instruction scans a row (Lower/Scan/ScanKernel.h); where it
// would not be exact, from the end to the beginning, and where rows are few, they are cut into segments (Lower/Scan/FoldSegments.h). Rows are
// all other dimensions.
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
