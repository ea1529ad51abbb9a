// Where windows lie: per dimension, which outputs a tap of the window reaches, and where in the input. Padding and holes of
// a dilated base are never visited, so nothing is padded.
#pragma once
#include "Lower/Rows/RowsView.h"
#include "glia/Lower/Family.h"

namespace glia::emit {

// Outputs from, from + step ... (count of them) read inputs at, at + stride ...
struct TapRun {
  int64_t from = 0, step = 1, count = 0, at = 0, stride = 1;
};

struct WindowDim {
  int64_t in = 1, out = 1;
  int64_t size = 1, stride = 1, dilation = 1, base = 1, low = 0;
  int64_t inStride = 1, outStride = 1; // elements in HBM

  bool isPlain() const { return size == 1 && stride == 1 && base == 1 && low == 0 && in == out; }
  // The outputs [from, to) that tap `t` reaches inside the input.
  TapRun run(int64_t t, int64_t from, int64_t to) const;
  bool reachesAll(int64_t t) const;
  bool isPadded() const; // some output has a tap outside the input
  // The inputs [first, last) that outputs [from, to) read; last <= first: none.
  std::pair<int64_t, int64_t> inputs(int64_t from, int64_t to) const;
  int64_t mostInputs(int64_t outputs) const; // that so many adjacent outputs read
};

// The dimensions of a reduce_window or select_and_scatter: `out` has one element per window. Plain neighbours are one
// dimension.
std::vector<WindowDim> windowDims(mlir::Operation *op, mlir::Value in, mlir::Value out);

} // namespace glia::emit
