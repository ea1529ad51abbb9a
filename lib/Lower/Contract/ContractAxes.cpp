#include "ContractAxes.h"

#include <algorithm>

namespace glia::emit {

namespace {

class AxesOf {
public:
  AxesOf(graph::DotGeneralOp op, const Tile *const (&sides)[2], const std::vector<std::vector<int64_t>> &others)
      : op(op), sides(sides), others(others) {}

  DotAxes run() {
    DotAxes a;
    const auto n = op.getDotDimensionNumbers();
    const auto lc = n.getLhsContractingDimensions(), rc = n.getRhsContractingDimensions();
    const auto lb = n.getLhsBatchingDimensions(), rb = n.getRhsBatchingDimensions();
    int d = 0;
    for (size_t i = 0; i < lb.size(); ++i)
      a.batch.push_back(axis(lb[i], rb[i], d++));
    std::vector<ContractAxis> free[2];
    for (int s : {0, 1}) {
      const auto c = s ? rc : lc, b = s ? rb : lb;
      for (int64_t i = 0; i < static_cast<int64_t>(shapeOf(op->getOperand(static_cast<unsigned>(s))).size()); ++i)
        if (!llvm::is_contained(c, i) && !llvm::is_contained(b, i))
          free[s].push_back(s ? axis(-1, i, d++) : axis(i, -1, d++));
    }
    for (size_t i = 0; i < lc.size(); ++i)
      a.contract.push_back(axis(lc[i], rc[i], -1));
    const size_t result = 2 + others.size() - 1; // the last tensor of an epilogue is stored
    a.batch = merged(a.batch, result);
    for (int s : {0, 1})
      free[s] = merged(free[s], result);
    a.contract = merged(a.contract, sides[0] ? 0 : 1);
    // Columns are what lies together in the result; a single column would store single elements.
    const auto adjacent = [&](int s) { return !free[s].empty() && free[s].back().strides[result] == 1; };
    a.rowSide = free[1].empty() || (adjacent(0) && !adjacent(1)) ? 1 : 0;
    a.rows = std::move(free[a.rowSide]);
    a.columns = std::move(free[1 - a.rowSide]);
    return a;
  }

private:
  graph::DotGeneralOp op;
  const Tile *const (&sides)[2];
  const std::vector<std::vector<int64_t>> &others;

  // Strides of dimension l of the left, r of the right and d of the result (-1: not in it).
  ContractAxis axis(int64_t l, int64_t r, int d) const {
    ContractAxis a;
    a.root = d;
    const int64_t at[2] = {l, r};
    for (int s : {0, 1}) {
      const std::vector<int64_t> shape = shapeOf(op->getOperand(static_cast<unsigned>(s)));
      const bool has = at[s] >= 0;
      if (has)
        a.count = shape[static_cast<size_t>(at[s])];
      a.strides.push_back(has && sides[s] ? sides[s]->dims[static_cast<size_t>(at[s])].stride : 0);
    }
    for (const std::vector<int64_t> &o : others)
      a.strides.push_back(d >= 0 ? o[static_cast<size_t>(d)] : 0);
    return a;
  }

  // Sizes of 1 go away; what lies together in every tensor is one. Slowest first, as the tensor `by` lies.
  static std::vector<ContractAxis> merged(std::vector<ContractAxis> axes, size_t by) {
    std::erase_if(axes, [](const ContractAxis &a) { return a.count == 1; });
    std::sort(axes.begin(), axes.end(), [&](const ContractAxis &a, const ContractAxis &b) {
      return a.strides[by] != b.strides[by] ? a.strides[by] > b.strides[by] : a.strides > b.strides;
    });
    std::vector<ContractAxis> out;
    for (ContractAxis &a : axes) {
      bool together = !out.empty();
      for (size_t i = 0; i < a.strides.size() && together; ++i)
        together = out.back().strides[i] == a.strides[i] * a.count;
      if (together) {
        a.count *= out.back().count;
        out.back() = std::move(a);
      } else {
        out.push_back(std::move(a));
      }
    }
    return out;
  }
};

} // namespace

DotSizes sizesOf(graph::DotGeneralOp op) {
  const auto n = op.getDotDimensionNumbers();
  const std::vector<int64_t> lhs = shapeOf(op->getOperand(0)), out = shapeOf(op->getResult(0));
  DotSizes s;
  for (int64_t d : n.getLhsContractingDimensions())
    s.contract *= lhs[static_cast<size_t>(d)];
  s.batchDims = n.getLhsBatchingDimensions().size();
  s.rowDims = lhs.size() - s.batchDims - n.getLhsContractingDimensions().size();
  for (size_t d = 0; d < out.size(); ++d)
    (d < s.batchDims ? s.batches : d < s.batchDims + s.rowDims ? s.rows : s.columns) *= out[d];
  return s;
}

DotAxes axesOf(graph::DotGeneralOp op, const Tile *const (&sides)[2], const std::vector<std::vector<int64_t>> &others) {
  return AxesOf(op, sides, others).run();
}

} // namespace glia::emit
