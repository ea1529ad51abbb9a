#include "IndexCondition.h"
#include "glia/Graph/Graph.h"

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
    if (name == "compare") {
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
        if (!seenThrough(op, v, c.factors))
          return std::nullopt;
    }
    if (out)
      ops.insert(op);
    return out;
  }

private:
  llvm::SetVector<mlir::Operation *> &ops;
  Conditions none;

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
    if (!type.isInteger(32))
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
      if (!in || !seenThrough(op, v, in->factors))
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

  // The factors of a broadcast, transposed or reshaped value, from those of what it is made of.
  static bool seenThrough(mlir::Operation *op, mlir::Value result, std::vector<int64_t> &factors) {
    std::vector<int64_t> out(shapeOf(result).size(), 0);
    if (isAlias(op)) {
      const std::vector<int64_t> from = shapeOf(aliasOf(result)), to = shapeOf(result);
      size_t i = 0;
      for (size_t d = 0; d < to.size(); ++d) {
        if (to[d] == 1)
          continue;
        while (i < from.size() && from[i] == 1)
          ++i;
        if (i == from.size() || from[i] != to[d])
          return false;
        out[d] = factors[i++];
      }
    } else if (auto broadcast = llvm::dyn_cast<graph::BroadcastInDimOp>(op)) {
      const std::vector<int64_t> from = shapeOf(op->getOperand(0));
      for (size_t i = 0; i < from.size(); ++i)
        if (from[i] != 1)
          out[static_cast<size_t>(broadcast.getBroadcastDimensions()[i])] = factors[i];
    } else {
      const auto order = llvm::cast<graph::TransposeOp>(op).getPermutation();
      for (size_t d = 0; d < out.size(); ++d)
        out[d] = factors[static_cast<size_t>(order[d])];
    }
    factors = std::move(out);
    return true;
  }
};

} // namespace

std::optional<std::vector<IndexCondition>> conditionsOf(mlir::Value v, llvm::SetVector<mlir::Operation *> &ops) {
  return Reader(ops).conditions(v);
}

} // namespace glia::emit
