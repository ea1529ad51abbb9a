// How a dot_general is cut: which operand's rows go on the partitions, what stays on chip while the rest streams past it.
#pragma once
#include "Epilogue.h"
#include "OperandPanels.h"
#include "glia/Graph/Graph.h"

namespace glia::emit {

inline constexpr int64_t kRowBlock = 128, kColumnBlock = 512; // of one product; a bank of PSUM holds its columns
inline constexpr int64_t kBanks = 4;

// Dimensions that are run over as one.
struct ContractAxis {
  int root = -1; // the innermost of them in the result; -1: contracted
  int64_t count = 1;
  std::vector<int64_t> strides; // in lhs, in rhs, in the tensors of the epilogue
};

struct ContractPlan {
  std::vector<ContractAxis> batch, rows, columns;
  int64_t batches = 1, nr = 1, nc = 1, nk = 1, blocks = 1; // flat sizes; blocks of 128 contracted elements
  size_t rowSide = 0;                                      // the operand whose rows they are: 0 the left, 1 the right
  PanelSource left, right;                                 // rows x contraction (stationary), columns x contraction (moving)

  // Panels of one side stay while those of the other pass by; or, if even that is too much, the contraction is cut into pieces and
  // four sums grow at a time.
  bool rowsStay = true;
  int64_t panel = 0, chunk = 0; // free elements of what stays, and of what passes
  int64_t together = 1;         // batches at a time
  int64_t piece = 0;            // blocks of the contraction at a time; 0: all

  // More instructions than one wants to compile: a run-time loop over what is largest.
  enum Loops : uint8_t { None, Batches, Rows, Columns } loop = None;
  bool ahead = false; // in the loop, the next panel of what stays is loaded and turned while this one is multiplied

  // An operand that lies the wrong way and is loaded more than once is turned before.
  bool turnLeft = false, turnRight = false;
};

// `strides` are those of the epilogue's tensors (Epilogue::strides), `reserved` the bytes per partition that it needs.
ContractPlan planContraction(const Target &t, graph::DotGeneralOp op, const Tile *lhs, const Tile *rhs,
                             const std::vector<std::vector<int64_t>> &strides, int64_t reserved);

} // namespace glia::emit
