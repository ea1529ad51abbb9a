// Who turns blocks of an operand on targets where the Tensor engine does it by products and Vector in pieces of 32 x 32: whoever is done
// first, as the work comes in program order. While there is nothing to multiply yet Tensor turns; behind products, Vector keeps ahead.
#pragma once
#include "glia/Target/Target.h"

namespace glia::emit {

class TurnShares {
public:
  explicit TurnShares(const Target &t);
  // A product of so many columns that was written, and sums of so many columns that left PSUM.
  void multiplied(int64_t columns, bool wide);
  void left(int64_t columns);
  // What follows cannot be turned before now: there is no room for it.
  void meet();
  // A piece that Vector turns in `pieces` instructions, and Tensor in `products` of at most 128 columns each, `columns` of which
  // together pass Scalar and leave PSUM. Whether Tensor does.
  bool tensorTurns(int64_t pieces, int64_t products, int64_t columns);
  // Columns that leave PSUM turned: whether Scalar takes them.
  bool scalarTakes(int64_t columns);

private:
  double pieceNs, turnNs, weightsNs, vectorNs, scalarNs, floor, tensorNs, passes; // the last five: of a column
  double tensor = 0, vector = 0, scalar = 0;                                      // until when each has work
};

} // namespace glia::emit
