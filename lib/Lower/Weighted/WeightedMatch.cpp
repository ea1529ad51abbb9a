#include "WeightedMatch.h"
#include "Graph/Analysis/GraphFacts.h"
#include "Lower/Rows/RowsPlan.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>

namespace glia::emit {

namespace {

constexpr int kOne = -1, kSpread = -2; // a dimension of size 1; one along which a value is repeated

using Place = std::vector<int>;

class Matcher {
public:
  Matcher(graph::DotGeneralOp result, unsigned side) {
    m.result = result;
    m.side = side;
  }

  std::optional<WeightedMean> run() {
    const mlir::Value weights = m.result->getOperand(m.side);
    mlir::Operation *divide = made(weights);
    if (!divide || opName(divide) != "divide")
      return std::nullopt;
    mlir::Operation *e = made(divide->getOperand(0)), *total = made(divide->getOperand(1));
    if (!e || opName(e) != "exponential" || !total || opName(total) != "reduce")
      return std::nullopt;
    mlir::Operation *below = made(e->getOperand(0));
    if (!below || opName(below) != "subtract")
      return std::nullopt;
    mlir::Operation *most = made(below->getOperand(1));
    const mlir::Value x = below->getOperand(0);
    if (most && opName(most) == "maximum") // not below the least number
      for (unsigned i : {0u, 1u})
        if (isLeast(most->getOperand(i))) {
          m.ops.insert(most);
          most = made(most->getOperand(1 - i));
          break;
        }
    if (!most || opName(most) != "reduce" || !before(x) || !reduces(most, "max", x) ||
        !reduces(total, "add", e->getResult(0)))
      return std::nullopt;
    for (mlir::Operation *op : {divide, e, total, below, most, m.result.getOperation()})
      m.ops.insert(op);
    if (!placesFit(weights, divide, below) || !alone())
      return std::nullopt;
    return std::move(m);
  }

private:
  WeightedMean m;
  llvm::DenseMap<mlir::Value, Place> places;

  static bool isFloatTensor(mlir::Value v) {
    return llvm::isa<mlir::FloatType>(llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType());
  }

  // Roundings to 16 bits may be left out, to fewer not.
  static bool keepsDigits(mlir::Operation *convert) {
    return llvm::all_of(llvm::ArrayRef<mlir::Type>{convert->getOperand(0).getType(), convert->getResult(0).getType()},
                        [](mlir::Type t) { return mlir::getElementTypeOrSelf(t).getIntOrFloatBitWidth() >= 16; });
  }

  static bool isLeast(mlir::Value v) {
    const std::optional<double> n = splatOf(v);
    return n && *n < -3e38;
  }

  // The operation whose values these are, in whatever order, type and number of repetitions. What stands between goes into the group.
  mlir::Operation *made(mlir::Value v) {
    mlir::Operation *op = v.getDefiningOp();
    while (op && isFloatTensor(v)) {
      const llvm::StringRef name = opName(op);
      if (!(name == "convert" && keepsDigits(op)) && name != "transpose" && name != "broadcast_in_dim" && !isAlias(op))
        break;
      m.ops.insert(op);
      v = isAlias(op) ? aliasOf(v) : op->getOperand(0);
      op = v.getDefiningOp();
    }
    return op && isFloatTensor(v) ? op : nullptr;
  }
  mlir::Value source(mlir::Value v) {
    mlir::Operation *op = made(v);
    return op ? op->getResult(0) : nullptr;
  }

  // From the scores to what is exponentiated.
  bool before(mlir::Value v) {
    for (;;) {
      mlir::Operation *op = v.getDefiningOp();
      if (!op || !isFloatTensor(v))
        return false;
      const llvm::StringRef name = opName(op);
      m.ops.insert(op);
      if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op)) {
        m.scores = dot;
        return m.scale > 0 && std::isfinite(m.scale) && conditionsFit();
      }
      if ((name == "convert" && keepsDigits(op)) || name == "transpose" || isAlias(op)) {
        v = isAlias(op) ? aliasOf(v) : op->getOperand(0);
      } else if (name == "multiply" || name == "divide") {
        unsigned number = 1;
        std::optional<double> n = splatOf(op->getOperand(1));
        if (!n && name == "multiply") {
          number = 0;
          n = splatOf(op->getOperand(0));
        }
        if (!n)
          return false;
        m.scale *= name == "multiply" ? *n : 1 / *n;
        v = op->getOperand(1 - number);
      } else if (name == "select" && !chosen) {
        const std::optional<double> other = splatOf(op->getOperand(2));
        std::optional<std::vector<IndexCondition>> keep =
            other && *other < 0x1p127 && shapeOf(op->getOperand(0)) == shapeOf(v) ? conditionsOf(op->getOperand(0), m.counts)
                                                                                  : std::nullopt;
        if (!keep)
          return false;
        chosen = v;
        m.keep = std::move(*keep);
        m.masked = *other * m.scale; // what was multiplied behind the choice
        v = op->getOperand(1);
      } else {
        return false;
      }
    }
  }
  mlir::Value chosen; // the result of the select

  // Conditions over the dimensions of the scores: each of one row and one column, a step at a time.
  bool conditionsFit() {
    const mlir::Value root = m.scores->getResult(0);
    Place whole;
    for (size_t d = 0; d < shapeOf(root).size(); ++d)
      whole.push_back(static_cast<int>(d));
    places[root] = whole;
    if (!chosen)
      return true;
    const std::optional<Place> at = placeOf(chosen.getDefiningOp()->getOperand(1));
    if (!at)
      return false;
    for (IndexCondition &c : m.keep) {
      IndexCondition there;
      there.constant = c.constant;
      there.factors.assign(whole.size(), 0);
      for (size_t d = 0; d < c.factors.size(); ++d)
        if (c.factors[d] && (*at)[d] >= 0)
          there.factors[static_cast<size_t>((*at)[d])] = c.factors[d];
      c = std::move(there);
    }
    return true;
  }

  // Reduces all columns of `v`, from a start that changes nothing.
  bool reduces(mlir::Operation *op, std::string_view how, mlir::Value v) {
    std::string why;
    const std::optional<Reduction> r = reductionOf(op, why);
    if (!r || r->op != how || !(r->identity || (how == "max" && r->start < -3e38)))
      return false;
    // The sum may be of wider numbers than what is divided.
    return source(op->getOperand(0)) == source(v);
  }

  // Where each dimension of a value stands in the scores.
  std::optional<Place> placeOf(mlir::Value v) {
    if (const auto it = places.find(v); it != places.end())
      return it->second;
    mlir::Operation *op = v.getDefiningOp();
    if (!op || !m.ops.contains(op))
      return std::nullopt;
    const llvm::StringRef name = opName(op);
    mlir::Value in = isAlias(op) ? aliasOf(v) : op->getOperand(0);
    for (mlir::Value o : op->getOperands()) // the operand that hangs on the scores
      if (isPointwise(name) && o.getDefiningOp() && m.ops.contains(o.getDefiningOp()) && !splatOf(o)) {
        in = o;
        break;
      }
    const std::optional<Place> from = placeOf(in);
    if (!from)
      return std::nullopt;
    const std::vector<int64_t> before = shapeOf(in), after = shapeOf(v);
    Place to;
    if (isAlias(op)) {
      const std::optional<std::vector<int>> kept = keptDims(before, after);
      if (!kept)
        return std::nullopt;
      for (int i : *kept)
        to.push_back(i < 0 ? kOne : (*from)[static_cast<size_t>(i)]);
    } else if (name == "broadcast_in_dim") {
      for (int64_t n : after)
        to.push_back(n == 1 ? kOne : kSpread);
      const auto dims = llvm::cast<graph::BroadcastInDimOp>(op).getBroadcastDimensions();
      for (size_t i = 0; i < before.size(); ++i)
        if (before[i] != 1)
          to[static_cast<size_t>(dims[i])] = (*from)[i];
    } else if (name == "transpose") {
      for (int64_t d : llvm::cast<graph::TransposeOp>(op).getPermutation())
        to.push_back((*from)[static_cast<size_t>(d)]);
    } else if (name == "reduce") {
      std::string why;
      const std::optional<Reduction> r = reductionOf(op, why);
      for (size_t d = 0; d < before.size(); ++d)
        if (!llvm::is_contained(r->dims, static_cast<int64_t>(d)))
          to.push_back((*from)[d]);
    } else if (before == after) {
      to = *from;
    } else {
      return std::nullopt;
    }
    for (size_t d = 0; d < after.size(); ++d)
      if (after[d] == 1)
        to[d] = kOne;
    places[v] = to;
    return to;
  }

  // The contracted dimensions of the weights are the columns. One number per row stands beside each of its columns.
  bool placesFit(mlir::Value weights, mlir::Operation *divide, mlir::Operation *below) {
    const std::optional<Place> at = placeOf(weights);
    if (!at)
      return false;
    m.place = *at;
    const auto n = m.result.getDotDimensionNumbers();
    llvm::DenseSet<int> columns;
    for (int64_t d : m.side ? n.getRhsContractingDimensions() : n.getLhsContractingDimensions())
      if ((*at)[static_cast<size_t>(d)] >= 0)
        columns.insert((*at)[static_cast<size_t>(d)]);
    for (mlir::Operation *op : m.ops)
      if (opName(op) == "reduce" && !reducesColumns(op, columns))
        return false;
    for (mlir::Operation *op : {divide, below}) {
      const std::optional<Place> full = placeOf(op->getOperand(0)), row = placeOf(op->getOperand(1));
      if (!full || !row)
        return false;
      for (size_t d = 0; d < full->size(); ++d)
        if ((*full)[d] >= 0 && (*row)[d] != (columns.contains((*full)[d]) ? kSpread : (*full)[d]))
          return false;
    }
    return llvm::none_of(*at, [](int d) { return d == kSpread; });
  }

  bool reducesColumns(mlir::Operation *op, const llvm::DenseSet<int> &columns) {
    std::string why;
    const std::optional<Reduction> r = reductionOf(op, why);
    const std::optional<Place> from = placeOf(op->getOperand(0));
    if (!from)
      return false;
    size_t found = 0;
    for (int64_t d : r->dims)
      if ((*from)[static_cast<size_t>(d)] == kSpread)
        return false;
      else if (const int p = (*from)[static_cast<size_t>(d)]; p >= 0) {
        if (!columns.contains(p))
          return false;
        ++found;
      }
    return found == columns.size();
  }

  // Nobody else needs what is not stored, the values neither.
  bool alone() const {
    if (m.ops.contains(m.result->getOperand(1 - m.side).getDefiningOp()))
      return false;
    for (mlir::Operation *op : m.ops)
      if (op != m.result->getResult(0).getDefiningOp() &&
          !llvm::all_of(op->getUsers(), [&](mlir::Operation *u) { return m.ops.contains(u); }))
        return false;
    return true;
  }
};

} // namespace

std::optional<WeightedMean> matchWeightedMean(graph::DotGeneralOp result) {
  for (unsigned side : {0u, 1u})
    if (std::optional<WeightedMean> m = Matcher(result, side).run())
      return m;
  return std::nullopt;
}

} // namespace glia::emit
