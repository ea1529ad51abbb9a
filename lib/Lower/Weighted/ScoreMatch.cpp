#include "ScoreMatch.h"
#include "Graph/Analysis/GraphFacts.h"
#include "Lower/Rows/RowsPlan.h"

#include "mlir/IR/TypeUtilities.h"

#include <algorithm>
#include <cmath>

namespace glia::emit {

namespace {

bool isFloatTensor(mlir::Value v) {
  return llvm::isa<mlir::FloatType>(llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType());
}

bool isLeast(mlir::Value v) {
  const std::optional<double> n = splatOf(v);
  return n && *n < -3e38;
}

} // namespace

// The operation whose values these are, in whatever order, type and number of repetitions. What stands between goes into the group.
mlir::Operation *ScoreMatcher::made(mlir::Value v) {
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
mlir::Value ScoreMatcher::source(mlir::Value v) {
  mlir::Operation *op = made(v);
  return op ? op->getResult(0) : nullptr;
}

// From what is exponentiated to the scores. Of several ways the first that ends with a contraction.
bool ScoreMatcher::before(mlir::Value v) {
  constexpr int kMostTried = 100; // operations
  mlir::Operation *op = v.getDefiningOp();
  if (!op || !isFloatTensor(v) || ++tried > kMostTried)
    return false;
  const llvm::StringRef name = opName(op);
  m.ops.insert(op);
  if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op)) {
    m.scores = dot;
    return stepsFit() && conditionsFit();
  }
  if (isAlias(op))
    return before(aliasOf(v));
  if ((name == "convert" && keepsDigits(op)) || name == "transpose")
    return before(op->getOperand(0));
  if (name == "negate")
    return after({ScoreStep::Scale, -1, {}, false, v, {}, {}}, op->getOperand(0));
  if (name == "tanh")
    return after({ScoreStep::Function, 0, "tanh", false, v, {}, {}}, op->getOperand(0));
  if (name == "select")
    return either(op, 1) || either(op, 2);
  return combined(op, 0) || combined(op, 1);
}

// A step, and what leads to the operand that hangs on the scores. Nothing has happened if that fails.
bool ScoreMatcher::after(ScoreStep step, mlir::Value operand) {
  const MatchedScores was = m;
  m.steps.push_back(std::move(step));
  if (before(operand))
    return true;
  m = was;
  return false;
}

// The scores are operand `mine` of an operation of two.
bool ScoreMatcher::combined(mlir::Operation *op, unsigned mine) {
  const llvm::StringRef name = opName(op);
  const mlir::Value v = op->getResult(0), score = op->getNumOperands() == 2 ? op->getOperand(mine) : nullptr;
  const std::string_view alu = name == "add" || name == "subtract" || name == "multiply" ? std::string_view(name)
                               : name == "maximum"                                       ? "max"
                               : name == "minimum"                                       ? "min"
                                                                                         : "";
  if (!score || (alu.empty() && name != "divide") || shapeOf(score) != shapeOf(v))
    return false;
  const mlir::Value other = op->getOperand(1 - mine);
  const std::optional<double> number = splatOf(other);
  if (number && (name == "multiply" || (name == "divide" && mine == 0)))
    return after({ScoreStep::Scale, name == "multiply" ? *number : 1 / *number, {}, false, v, {}, {}}, score);
  if (name == "divide")
    return false;
  ScoreStep step{ScoreStep::Combine, number.value_or(0), alu, mine == 1 && name == "subtract", v, {}, {}};
  const llvm::SetVector<mlir::Operation *> had = m.beside;
  if (!number)
    step.beside = productOf(other, m.beside);
  if (after(std::move(step), score))
    return true;
  m.beside = had;
  return false;
}

// The scores are operand `mine` of a choice between them and a number.
bool ScoreMatcher::either(mlir::Operation *op, unsigned mine) {
  const std::optional<double> number = splatOf(op->getOperand(3 - mine));
  if (!number || shapeOf(op->getOperand(0)) != shapeOf(op->getResult(0)))
    return false;
  const MatchedScores was = m;
  if (masked(op->getOperand(0), {}, mine == 2, *number, op->getResult(0)) && before(op->getOperand(mine)))
    return true;
  m = was;
  return false;
}

// The number stands where the mask is false, or, `reversed`, where it is true: conditions on the place, or a tensor of truth values.
// `path` leads from the mask to what is seen beside the scores.
bool ScoreMatcher::masked(mlir::Value mask, std::vector<mlir::Value> path, bool reversed, double number, mlir::Value v) {
  mlir::Operation *op = mask.getDefiningOp();
  const llvm::StringRef name = op ? opName(op) : "";
  if (name == "not") {
    m.beside.insert(op);
    return masked(op->getOperand(0), path, !reversed, number, v);
  }
  if (isPlace(mask, path, reversed, number, v))
    return true;
  if (name == (reversed ? "or" : "and")) {
    m.beside.insert(op);
    return masked(op->getOperand(0), path, reversed, number, v) && masked(op->getOperand(1), path, reversed, number, v);
  }
  if (name == "broadcast_in_dim" || name == "transpose" || (op && isAlias(op))) {
    m.beside.insert(op);
    path.push_back(mask);
    return masked(isAlias(op) ? aliasOf(mask) : op->getOperand(0), path, reversed, number, v);
  }
  llvm::SetVector<mlir::Operation *> ops;
  if (name == "constant" && conditionsOf(mask, ops)) // which is no tensor in HBM (WeightedFamily::writesConstant)
    return false;
  TensorView view{mask, contiguous(shapeOf(mask))};
  for (mlir::Value at : llvm::reverse(path)) {
    const std::optional<TensorView> seen = seenThrough(at.getDefiningOp(), at, view);
    if (!seen)
      return false;
    view = *seen;
  }
  m.steps.push_back({ScoreStep::Choose, number, {}, reversed, v, {1, {view}}, {}});
  return true;
}

// Where the mask holds depends on the place alone, and what stands elsewhere is one number at the end.
bool ScoreMatcher::isPlace(mlir::Value mask, const std::vector<mlir::Value> &path, bool reversed, double number,
                           mlir::Value v) {
  double scale = 1; // of the steps behind
  for (const ScoreStep &s : m.steps) {
    if (s.kind != ScoreStep::Scale && s.at != v)
      return false;
    scale *= s.kind == ScoreStep::Scale ? s.number : 1;
  }
  llvm::SetVector<mlir::Operation *> ops;
  std::optional<std::vector<IndexCondition>> keep =
      number < 0x1p127 && (!m.chosen || m.chosen == v) ? conditionsOf(mask, ops) : std::nullopt;
  if (!keep || (reversed && keep->size() != 1))
    return false;
  for (IndexCondition &c : *keep) {
    for (mlir::Value at : llvm::reverse(path))
      if (!factorsThrough(at.getDefiningOp(), at, c.factors))
        return false;
    if (!reversed)
      continue;
    for (int64_t &f : c.factors) // the opposite
      f = -f;
    c.constant = -c.constant - 1;
  }
  m.chosen = v;
  m.keep.insert(m.keep.end(), keep->begin(), keep->end());
  m.masked = number * scale;
  m.beside.insert(ops.begin(), ops.end());
  return true;
}

// In the order in which they happen; a factor at the end is the scale.
bool ScoreMatcher::stepsFit() {
  size_t last = 0;
  while (last < m.steps.size() && m.steps[last].kind == ScoreStep::Scale)
    m.scale *= m.steps[last++].number;
  if (m.scale < 0) // not monotone: a step like others
    m.scale = 1;
  else
    m.steps.erase(m.steps.begin(), m.steps.begin() + static_cast<long>(last));
  std::reverse(m.steps.begin(), m.steps.end());
  const auto usable = [](double n) { return n != 0 && std::isfinite(n); };
  return m.scale > 0 && usable(m.scale) &&
         llvm::all_of(m.steps, [&](const ScoreStep &s) { return s.kind != ScoreStep::Scale || usable(s.number); });
}

// Conditions over the dimensions of the scores: each of one row and one column, a step at a time.
bool ScoreMatcher::conditionsFit() {
  const mlir::Value root = m.scores->getResult(0);
  Place whole;
  for (size_t d = 0; d < shapeOf(root).size(); ++d)
    whole.push_back(shapeOf(root)[d] == 1 ? kOne : static_cast<int>(d));
  places[root] = whole;
  for (ScoreStep &s : m.steps) {
    if (s.beside.views.empty())
      continue;
    const std::optional<Place> at = placeOf(s.at);
    if (!at)
      return false;
    for (const TensorView &view : s.beside.views) {
      std::vector<int64_t> &strides = s.strides.emplace_back(whole.size(), 0);
      for (size_t d = 0; d < at->size(); ++d)
        if ((*at)[d] >= 0 && view.dims[d].count != 1)
          strides[static_cast<size_t>((*at)[d])] = view.dims[d].stride;
    }
  }
  if (!m.chosen)
    return true;
  const std::optional<Place> at = placeOf(m.chosen);
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

mlir::Operation *ScoreMatcher::largestOf(mlir::Value subtracted, mlir::Value x) {
  mlir::Operation *most = made(subtracted);
  if (most && opName(most) == "maximum") // not below the least number
    for (unsigned i : {0u, 1u})
      if (isLeast(most->getOperand(i))) {
        m.ops.insert(most);
        most = made(most->getOperand(1 - i));
        break;
      }
  return most && opName(most) == "reduce" && before(x) && reduces(most, "max", x) ? most : nullptr;
}

bool ScoreMatcher::reduces(mlir::Operation *op, std::string_view how, mlir::Value v) {
  std::string why;
  const std::optional<Reduction> r = reductionOf(op, why);
  if (!r || r->op != how || !(r->identity || (how == "max" && r->start < -3e38)))
    return false;
  // The sum may be of wider numbers than what is divided.
  return source(op->getOperand(0)) == source(v);
}

std::optional<ScoreMatcher::Place> ScoreMatcher::placeOf(mlir::Value v) {
  if (const auto it = places.find(v); it != places.end())
    return it->second;
  mlir::Operation *op = v.getDefiningOp();
  if (!op || !m.ops.contains(op))
    return std::nullopt;
  mlir::Value in = isAlias(op) ? aliasOf(v) : op->getOperand(0);
  for (mlir::Value o : op->getOperands()) // the operand that hangs on the scores
    if (isPointwise(opName(op)) && o.getDefiningOp() && m.ops.contains(o.getDefiningOp()) && !splatOf(o)) {
      in = o;
      break;
    }
  const std::optional<Place> from = placeOf(in);
  const std::optional<Place> to = from ? placeThrough(op, in, v, *from) : std::nullopt;
  if (to)
    places[v] = *to;
  return to;
}

std::optional<ScoreMatcher::Place> placeThrough(mlir::Operation *op, mlir::Value in, mlir::Value result,
                                                const ScoreMatcher::Place &from) {
  const llvm::StringRef name = opName(op);
  const std::vector<int64_t> before = shapeOf(in), after = shapeOf(result);
  ScoreMatcher::Place to;
  if (isAlias(op)) {
    const std::optional<std::vector<int>> kept = keptDims(before, after);
    if (!kept)
      return std::nullopt;
    for (int i : *kept)
      to.push_back(i < 0 ? ScoreMatcher::kOne : from[static_cast<size_t>(i)]);
  } else if (name == "broadcast_in_dim") {
    for (int64_t n : after)
      to.push_back(n == 1 ? ScoreMatcher::kOne : ScoreMatcher::kSpread);
    const auto dims = llvm::cast<graph::BroadcastInDimOp>(op).getBroadcastDimensions();
    for (size_t i = 0; i < before.size(); ++i)
      if (before[i] != 1)
        to[static_cast<size_t>(dims[i])] = from[i];
  } else if (name == "transpose") {
    for (int64_t d : llvm::cast<graph::TransposeOp>(op).getPermutation())
      to.push_back(from[static_cast<size_t>(d)]);
  } else if (name == "reduce") {
    std::string why;
    const std::optional<Reduction> r = reductionOf(op, why);
    for (size_t d = 0; d < before.size(); ++d)
      if (!llvm::is_contained(r->dims, static_cast<int64_t>(d)))
        to.push_back(from[d]);
  } else if (before == after) {
    to = from;
  } else {
    return std::nullopt;
  }
  for (size_t d = 0; d < after.size(); ++d)
    if (after[d] == 1)
      to[d] = ScoreMatcher::kOne;
  return to;
}

} // namespace glia::emit
