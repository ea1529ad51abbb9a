// The two steps of select_and_scatter on one tile: which tap of each window is chosen, and the source to where it points.
#pragma once
#include "Lower/Rows/Combine.h"
#include "WindowShape.h"

namespace glia::emit {

// The comparison that keeps the element chosen before: name of alu_op; empty if there is none, and why.
std::string_view keepingComparison(mlir::Operation *selectAndScatter, std::string &why);
// The windows [first, last) of a dimension that reach into elements [from, to).
std::pair<int64_t, int64_t> windowsAt(const WindowDim &d, int64_t from, int64_t to);

class SelectTaps {
public:
  using Counts = std::vector<int64_t>;
  // Windows over `free`, the dimensions along a partition; `rowTaps` times as many in all.
  SelectTaps(KernelBuilder &k, mlir::Operation *op, const std::vector<WindowDim> &free, int64_t rowTaps = 1);

  int64_t none() const { return nothing; } // the number of no tap
  DType type() const { return nothing == 255 ? DType::U8 : DType::U16; }
  int64_t taps() const; // along a partition

  // The numbers of the chosen taps: none yet.
  Tile begin(int64_t rows, const Counts &windows);
  // All taps along the partition, numbered from `first`. `outside`: one per partition, not 0 where the row is in the
  // padding; may have no handle.
  void choose(const Tile &x, const Counts &firstIn, const Counts &firstWindow, const Counts &windows, int64_t first,
              const Tile &outside);
  // Elements [from, from + count) of the result get the source of the windows whose chosen tap points there.
  void send(const Tile &sum, const Tile &given, const Tile &which, const Counts &from, const Counts &count,
            const Counts &firstWindow, const Counts &windows, int64_t first);

private:
  KernelBuilder &k;
  const std::vector<WindowDim> &free;
  Combiner c;
  std::string_view keeps;
  Counts sizes;
  int64_t last, nothing; // the last tap of all; what stands for none
  Tile best, which;
};

} // namespace glia::emit
