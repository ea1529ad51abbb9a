// How a dot_general is cut: which operand's rows go on the partitions, what stays on chip while the rest streams past it.
#pragma once
#include "Epilogue.h"
#include "OperandPanels.h"
#include "glia/Graph/Graph.h"

namespace glia::emit {

inline constexpr int64_t kRowBlock = 128, kColumnBlock = 512; // of one product; a bank of PSUM holds its columns
inline constexpr int64_t kBanks = 4;
inline constexpr int64_t kMostProducts = 20'000; // that are written out
inline int64_t productsOf(int64_t rows, int64_t columns, int64_t contract) {
  return (rows + kRowBlock - 1) / kRowBlock * ((columns + kColumnBlock - 1) / kColumnBlock) *
         ((contract + kContract - 1) / kContract);
}

// A dot_general seen as products of matrices: the dimensions of its result are those of the batch, then rows, then columns.
struct DotSizes {
  size_t batchDims = 0, rowDims = 0;
  int64_t batches = 1, rows = 1, columns = 1, contract = 1;
};
DotSizes sizesOf(graph::DotGeneralOp op);

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
  bool nextBeside = false;      // there is room for two panels
  int64_t together = 1;         // batches at a time
  int64_t piece = 0;            // blocks of the contraction at a time; 0: all
  int64_t depth = 0;            // the same of what passes by only, while the sums with all of what stays grow

  // More instructions than one wants to compile: a run-time loop over what is largest.
  enum Loops : uint8_t { None, Batches, Rows, Columns } loop = None;
  bool ahead = false; // in the loop, the next panel of what stays is loaded and turned while this one is multiplied

  // An operand that lies the wrong way and is loaded more than once is turned once: before, or when it passes by for the first time.
  bool turnLeft = false, turnRight = false, asItPasses = false;
  bool inTwoPasses = false; // then the first two of them turn it, and store a half each
  bool firstApart = false;  // of a loop: what passes the first panel is turned meanwhile, before the loop
};

// `strides` are those of the epilogue's tensors (Epilogue::strides), `reserved` the bytes per partition that it needs. `made` makes the
// rows of the left operand, if it is no tensor.
ContractPlan planContraction(const Target &t, graph::DotGeneralOp op, const Tile *lhs, const Tile *rhs,
                             const std::vector<std::vector<int64_t>> &strides, int64_t reserved, MadeRows *made = nullptr);

// The same for a kernel that has whole rows of the result on chip. Bytes per partition, of 128 rows:
struct WholeRowsNeed {
  int64_t result; // of the contraction
  int64_t behind; // values of the operations behind it
  int64_t least() const { return result + behind; }
};
inline constexpr int64_t kWholeRowsBudget = 153'600; // bytes per partition; every target has them
WholeRowsNeed wholeRowsNeed(const RowsPlan &rows, DType type);
// Either all columns stay (panel) and rows pass by (chunk), or the other way round. `strides` are those of the result.
ContractPlan planForWholeRows(const Target &t, graph::DotGeneralOp op, const Tile *lhs, const Tile *rhs,
                              const std::vector<int64_t> &strides, const WholeRowsNeed &need);

} // namespace glia::emit
