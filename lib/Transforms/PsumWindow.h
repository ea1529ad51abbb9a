// A loop whose iterator moves over a PSUM tensor: every iteration works on a window of its own.
//
// While windows are open, operands of the tensor are taken relative to the window. It is in the same state at the start of every
// iteration, because the iterations' windows are apart and before the loop the tensor held one thing wherever they go.
#pragma once
#include "PsumContents.h"

namespace glia::nisa {

class PsumWindow {
public:
  // Opens windows over the tensors of `s` for which this is true. trips: of the loop, INT64_MAX if not known.
  PsumWindow(PsumContents &contents, mlir::Operation *loop, int64_t trips, PsumStates &s);
  ~PsumWindow();
  PsumWindow(const PsumWindow &) = delete;
  // At the start of the next iteration its own window is as it was before the loop.
  void moveOn(PsumStates &s) const;
  // `end` held one window after an iteration; now it holds the tensor after the loop.
  void close(const PsumStates &before, PsumStates &end);

private:
  struct View { // how a loop uses one tensor
    mlir::Value tensor, iterator;
    bool moves = true;                                 // every operand adds the iterator, with one scale
    int64_t scale = 0, lo = INT64_MAX, hi = INT64_MIN; // bytes of the first window
    int32_t first = INT32_MAX, last = 0;               // partitions
    void add(Instr i, int slot, mlir::Value it);
    bool apart() const { return hi - lo <= std::abs(scale); }
    Touched window() const { return {first, last - first, {{lo, hi}}}; }
    Touched passed(int64_t trips) const; // by all windows
  };
  struct Opened {
    int number;
    View view;
    PsumState before;
  };
  PsumContents &contents;
  const int64_t trips;
  std::vector<Opened> opened;
  void open(int number, const View &view, PsumStates &s);
};

} // namespace glia::nisa
