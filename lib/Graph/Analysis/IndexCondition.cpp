#include "IndexCondition.h"
#include "ConstantElements.h"
#include "GraphFacts.h"
#include "glia/Graph/Graph.h"

#include "mlir/IR/TypeUtilities.h"

#include <algorithm>

namespace glia::emit {

namespace {

using Conditions = std::vector<IndexCondition>;

constexpr int64_t kFar = int64_t{1} << 30; // counts and sums of them stay within 32 bits

class Reader {
public:
  explicit Reader(llvm::SetVector<mlir::Operation *> &ops) : ops(ops) {}

  std::optional<Conditions> conditions(mlir::Value v) {
    mlir::Operation *op = v.getDefiningOp();
    if (!op)
      return std::nullopt;
    std::optional<Conditions> out;
    const llvm::StringRef name = opName(op);
    if (name == "constant") {
      out = band(v);
    } else if (name == "compare") {
      out = compared(llvm::cast<graph::CompareOp>(op));
    } else if (name == "and") {
      out = conditions(op->getOperand(0));
      std::optional<Conditions> more = out ? conditions(op->getOperand(1)) : std::nullopt;
      if (!more)
        return std::nullopt;
      out->insert(out->end(), more->begin(), more->end());
    } else if (name == "select" && splatOf(op->getOperand(1)) == 1.0 && splatOf(op->getOperand(2)) == 0.0) {
      out = conditions(op->getOperand(0));
    } else if (name == "broadcast_in_dim" || name == "transpose" || isAlias(op)) {
      out = conditions(isAlias(op) ? aliasOf(v) : op->getOperand(0));
      for (IndexCondition &c : out ? *out : none)
        if (!factorsThrough(op, v, c.factors))
          return std::nullopt;
    }
    if (out && name != "constant")
      ops.insert(op);
    return out;
  }

private:
  llvm::SetVector<mlir::Operation *> &ops;
  Conditions none;

  // A matrix of which a band is true: from a diagonal, or a column, to another one.
  static std::optional<Conditions> band(mlir::Value v) {
    const std::vector<int64_t> shape = shapeOf(v);
    std::vector<int64_t> sizes; // without those of 1
    for (int64_t n : shape)
      if (n != 1)
        sizes.push_back(n);
    const std::optional<Elements> truth = sizes.size() == 2 ? elementsOf(v.getDefiningOp()) : std::nullopt;
    if (!truth)
      return std::nullopt;
    const int64_t rows = sizes[0], columns = sizes[1];
    std::vector<std::pair<int64_t, int64_t>> runs; // of each row; equal: nothing
    for (int64_t i = 0; i < rows; ++i) {
      int64_t from = columns, to = 0, count = 0;
      for (int64_t j = 0; j < columns; ++j)
        if (truth->at(i * columns + j).i != 0) {
          from = std::min(from, j);
          to = j + 1;
          ++count;
        }
      if (count != std::max<int64_t>(0, to - from))
        return std::nullopt;
      runs.push_back({from, to});
    }
    for (int64_t slope : {1, 0}) {
      std::optional<int64_t> first, end; // of row 0
      for (int64_t i = 0; i < rows; ++i) {
        const auto [from, to] = runs[static_cast<size_t>(i)];
        if (from < to && from > 0)
          first = from - slope * i;
        if (from < to && to < columns)
          end = to - slope * i;
      }
      bool fits = true;
      for (int64_t i = 0; i < rows && fits; ++i) {
        const auto [from, to] = runs[static_cast<size_t>(i)];
        const int64_t a = first ? std::clamp<int64_t>(*first + slope * i, 0, columns) : 0,
                      b = end ? std::clamp<int64_t>(*end + slope * i, 0, columns) : columns;
        fits = from < to ? a == from && b == to : a >= b;
      }
      if (!fits)
        continue;
      Conditions out;
      const auto condition = [&](int64_t row, int64_t column, int64_t constant) {
        IndexCondition c{std::vector<int64_t>(shape.size(), 0), constant};
        size_t at = 0;
        for (size_t d = 0; d < shape.size(); ++d)
          if (shape[d] != 1)
            c.factors[d] = at++ == 0 ? row : column;
        out.push_back(std::move(c));
      };
      if (first)
        condition(-slope, 1, -*first);
      if (end)
        condition(slope, -1, *end - 1);
      return out;
    }
    return std::nullopt;
  }

  std::optional<Conditions> compared(graph::CompareOp op) {
    using Direction = graph::ComparisonDirection;
    std::optional<IndexCondition> a = sum(op->getOperand(0)), b = a ? sum(op->getOperand(1)) : std::nullopt;
    if (!b)
      return std::nullopt;
    const Direction d = op.getComparisonDirection();
    if (d == Direction::EQ || d == Direction::NE)
      return std::nullopt;
    if (d == Direction::LE || d == Direction::LT)
      std::swap(a, b);
    for (size_t i = 0; i < a->factors.size(); ++i)
      a->factors[i] -= b->factors[i];
    a->constant -= b->constant + (d == Direction::GT || d == Direction::LT);
    return Conditions{*a};
  }

  // A value as a sum of indices and a number.
  std::optional<IndexCondition> sum(mlir::Value v) {
    IndexCondition out;
    const std::vector<int64_t> shape = shapeOf(v);
    const auto type = llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType();
    if (!type.isSignlessInteger(32)) // unsigned ones wrap
      return std::nullopt;
    out.factors.assign(shape.size(), 0);
    if (const std::optional<double> number = splatOf(v)) {
      out.constant = static_cast<int64_t>(*number);
      return inside(out, shape);
    }
    mlir::Operation *op = v.getDefiningOp();
    if (!op)
      return std::nullopt;
    const llvm::StringRef name = opName(op);
    if (auto iota = llvm::dyn_cast<graph::IotaOp>(op)) {
      out.factors[static_cast<size_t>(iota.getIotaDimension())] = 1;
    } else if (name == "add" || name == "subtract") {
      const std::optional<IndexCondition> a = sum(op->getOperand(0)), b = a ? sum(op->getOperand(1)) : std::nullopt;
      if (!b)
        return std::nullopt;
      const int64_t sign = name == "add" ? 1 : -1;
      for (size_t i = 0; i < shape.size(); ++i)
        out.factors[i] = a->factors[i] + sign * b->factors[i];
      out.constant = a->constant + sign * b->constant;
    } else if (name == "broadcast_in_dim" || name == "transpose" || isAlias(op)) {
      std::optional<IndexCondition> in = sum(isAlias(op) ? aliasOf(v) : op->getOperand(0));
      if (!in || !factorsThrough(op, v, in->factors))
        return std::nullopt;
      out = std::move(*in);
    } else {
      return std::nullopt;
    }
    ops.insert(op);
    return inside(out, shape);
  }

  static std::optional<IndexCondition> inside(const IndexCondition &c, const std::vector<int64_t> &shape) {
    int64_t most = std::abs(c.constant);
    for (size_t i = 0; i < shape.size() && most < kFar; ++i)
      most += std::abs(c.factors[i]) * shape[i];
    return most < kFar ? std::optional(c) : std::nullopt;
  }
};

} // namespace

bool isConstantCondition(mlir::Value v) {
  mlir::Operation *from = v.getDefiningOp();
  llvm::SetVector<mlir::Operation *> ops;
  return from && opName(from) == "constant" && mlir::getElementTypeOrSelf(v.getType()).isInteger(1) && conditionsOf(v, ops);
}

bool factorsThrough(mlir::Operation *op, mlir::Value result, std::vector<int64_t> &factors) {
  std::vector<int64_t> out(shapeOf(result).size(), 0);
  if (isAlias(op)) {
    const std::optional<std::vector<int>> kept = keptDims(shapeOf(aliasOf(result)), shapeOf(result));
    if (!kept)
      return false;
    for (size_t d = 0; d < out.size(); ++d)
      if (const int i = (*kept)[d]; i >= 0)
        out[d] = factors[static_cast<size_t>(i)];
  } else if (auto broadcast = llvm::dyn_cast<graph::BroadcastInDimOp>(op)) {
    const std::vector<int64_t> from = shapeOf(op->getOperand(0));
    for (size_t i = 0; i < from.size(); ++i)
      if (from[i] != 1)
        out[static_cast<size_t>(broadcast.getBroadcastDimensions()[i])] = factors[i];
  } else if (auto transpose = llvm::dyn_cast<graph::TransposeOp>(op)) {
    const auto order = transpose.getPermutation();
    for (size_t d = 0; d < out.size(); ++d)
      out[d] = factors[static_cast<size_t>(order[d])];
  } else {
    return false;
  }
  factors = std::move(out);
  return true;
}

std::optional<double> shareOf(const std::vector<IndexCondition> &conditions, const std::vector<int64_t> &shape) {
  std::vector<size_t> dims;
  for (size_t d = 0; d < shape.size(); ++d)
    if (llvm::any_of(conditions, [&](const IndexCondition &c) { return c.factors[d] != 0; }))
      dims.push_back(d);
  if (dims.size() > 2)
    return std::nullopt;
  const auto size = [&](size_t i) { return i < dims.size() ? shape[dims[i]] : 1; };
  const auto factor = [&](const IndexCondition &c, size_t i) { return i < dims.size() ? c.factors[dims[i]] : 0; };
  double count = 0;
  for (int64_t i = 0; i < size(0); ++i) {
    int64_t from = 0, to = size(1); // where all of them hold
    for (const IndexCondition &c : conditions) {
      const int64_t start = c.constant + factor(c, 0) * i, step = factor(c, 1);
      if (step == 0)
        to = start < 0 ? from : to;
      else if (step > 0)
        from = std::max(from, start >= 0 ? 0 : (-start + step - 1) / step);
      else
        to = std::min(to, start < 0 ? 0 : start / -step + 1);
    }
    count += static_cast<double>(std::max<int64_t>(0, to - from));
  }
  return count / std::max(1.0, static_cast<double>(size(0) * size(1)));
}

std::optional<std::vector<IndexCondition>> conditionsOf(mlir::Value v, llvm::SetVector<mlir::Operation *> &ops) {
  return Reader(ops).conditions(v);
}

} // namespace glia::emit
