#include "StackedBody.h"
#include "Lower/Rows/RowsPlan.h"
#include "glia/Lower/Family.h"

#include "mlir/IR/IRMapping.h"

namespace glia::emit {

namespace {

bool isNumber(mlir::Value v, double n) { return splatOf(v) == n; }

std::vector<int64_t> behindFirst(llvm::ArrayRef<int64_t> dims, bool withFirst) {
  std::vector<int64_t> out;
  if (withFirst)
    out.push_back(0);
  for (int64_t d : dims)
    out.push_back(d + 1);
  return out;
}

} // namespace

std::optional<bool> isBackward(const CountedLoop &loop, mlir::Value index) {
  const mlir::Value counter = loop.op->getRegion(1).front().getArgument(loop.counter);
  if (index == counter)
    return false;
  // c - counter, also as (c - counter) - d.
  double last = 0;
  for (mlir::Operation *op = index.getDefiningOp(); op && opName(op) == "subtract"; op = index.getDefiningOp()) {
    const std::optional<double> from = splatOf(op->getOperand(0)), by = splatOf(op->getOperand(1));
    if (from && op->getOperand(1) == counter)
      return last + *from == static_cast<double>(loop.count - 1) ? std::optional(true) : std::nullopt;
    if (!by)
      return std::nullopt;
    last -= *by;
    index = op->getOperand(0);
  }
  return std::nullopt;
}

std::optional<CountedLoop> countedLoop(mlir::Operation *loop) {
  if (opName(loop) != "while")
    return std::nullopt;
  mlir::Block &cond = loop->getRegion(0).front(), &body = loop->getRegion(1).front();
  auto compare = cond.getTerminator()->getOperand(0).getDefiningOp<graph::CompareOp>();
  if (!compare || compare->getBlock() != &cond || compare.getComparisonDirection() != graph::ComparisonDirection::LT)
    return std::nullopt;
  const auto counter = llvm::dyn_cast<mlir::BlockArgument>(compare->getOperand(0));
  const std::optional<double> count = splatOf(compare->getOperand(1));
  if (!counter || counter.getOwner() != &cond || !count || !llvm::isa<mlir::IntegerType>(elementOf(counter)) ||
      typeOf(counter).getRank() != 0)
    return std::nullopt;
  const unsigned i = counter.getArgNumber();
  mlir::Operation *next = body.getTerminator()->getOperand(i).getDefiningOp();
  if (!isNumber(loop->getOperand(i), 0) || !next || opName(next) != "add" || next->getBlock() != &body)
    return std::nullopt;
  const mlir::Value x = next->getOperand(0), y = next->getOperand(1), c = body.getArgument(i);
  if (!(x == c && isNumber(y, 1)) && !(y == c && isNumber(x, 1)))
    return std::nullopt;
  CountedLoop out{loop, i, static_cast<int64_t>(*count), false};
  bool forward = false, backward = false;
  for (mlir::Operation &op : body)
    if (opName(&op) == "dynamic_slice" || opName(&op) == "dynamic_update_slice")
      if (const std::optional<bool> b = isBackward(out, op.getOperand(opName(&op) == "dynamic_slice" ? 1 : 2)))
        (*b ? backward : forward) = true;
  out.backward = backward && !forward;
  return out;
}

StackedBody::StackedBody(GraphBuilder &g, const CountedLoop &loop) : g(g), loop(loop) {
  mlir::Block &body = loop.op->getRegion(1).front();
  const mlir::Value counter = body.getArgument(loop.counter);
  mlir::Value iterations = g.iota(mlir::RankedTensorType::get({loop.count}, elementOf(counter)), 0);
  if (loop.backward)
    iterations = g.subtract(g.number(static_cast<double>(loop.count - 1), iterations), iterations);
  known[counter] = {iterations, true};
  for (mlir::BlockArgument a : body.getArguments()) // what the loop does not change
    if (body.getTerminator()->getOperand(a.getArgNumber()) == a)
      known[a] = {loop.op->getOperand(a.getArgNumber()), false};
}

void StackedBody::set(mlir::Value inBody, Stacked s) {
  known[inBody] = s;
  unknown.clear(); // more follows from it
}

mlir::RankedTensorType StackedBody::stackedType(mlir::Value inBody) const {
  std::vector<int64_t> shape{loop.count};
  llvm::append_range(shape, typeOf(inBody).getShape());
  return mlir::RankedTensorType::get(shape, elementOf(inBody));
}

// [count, shape]; a scalar is repeated over the shape.
mlir::Value StackedBody::spread(const Stacked &s, llvm::ArrayRef<int64_t> shape) {
  std::vector<int64_t> to{loop.count};
  llvm::append_range(to, shape);
  const mlir::RankedTensorType own = typeOf(s.value), type = mlir::RankedTensorType::get(to, own.getElementType());
  if (own == type)
    return s.value;
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < own.getRank(); ++d)
    dims.push_back(s.perStep ? d : d + 1);
  return g.broadcast(s.value, dims, type);
}

mlir::Value StackedBody::perStep(const Stacked &s) {
  llvm::ArrayRef<int64_t> shape = typeOf(s.value).getShape();
  return spread(s, s.perStep ? shape.drop_front() : shape);
}

mlir::Value StackedBody::reversed(mlir::Value stacked) {
  return g.make("reverse", {stacked}, stacked.getType(), {g.b.getNamedAttr("dimensions", g.b.getDenseI64ArrayAttr({0}))});
}

std::optional<StackedBody::Stacked> StackedBody::of(mlir::Value v) {
  if (const auto it = known.find(v); it != known.end())
    return it->second;
  if (v.getParentBlock() != &loop.op->getRegion(1).front())
    return Stacked{v, false};
  if (unknown.contains(v) || !llvm::isa<mlir::RankedTensorType>(v.getType()))
    return std::nullopt;
  std::optional<Stacked> made = make(v);
  if (made)
    known[v] = *made;
  else
    unknown.insert(v);
  return made;
}

std::optional<StackedBody::Stacked> StackedBody::make(mlir::Value v) {
  mlir::Operation *op = v.getDefiningOp();
  if (!op || op->getNumResults() != 1)
    return std::nullopt;
  if (auto slice = llvm::dyn_cast<graph::DynamicSliceOp>(op))
    if (std::optional<Stacked> s = element(slice))
      return s;
  static constexpr llvm::StringLiteral kOthers[] = {"constant",  "iota",   "reshape", "broadcast_in_dim",
                                                    "transpose", "reduce", "slice",   "dot_general"};
  if (!isPointwise(opName(op)) && !llvm::is_contained(kOthers, opName(op)))
    return std::nullopt;
  if (opName(op) == "reduce" && (op->getNumOperands() != 2 || readBy(op).size() != 2))
    return std::nullopt;
  llvm::SmallVector<Stacked> in;
  bool perStep = false;
  for (mlir::Value x : op->getOperands()) {
    const std::optional<Stacked> s = of(x);
    if (!s)
      return std::nullopt;
    in.push_back(*s);
    perStep |= s->perStep;
  }
  if (perStep)
    return raised(op, in);
  mlir::IRMapping map;
  for (auto [x, s] : llvm::zip(op->getOperands(), in))
    map.map(x, s.value);
  return Stacked{g.b.clone(*op, map)->getResult(0), false};
}

// Row t, or the last row minus t, of a tensor that the loop does not change.
std::optional<StackedBody::Stacked> StackedBody::element(graph::DynamicSliceOp op) {
  const mlir::Value x = op->getOperand(0);
  const std::optional<Stacked> from = of(x);
  if (!from || from->perStep || typeOf(x).getRank() == 0 || typeOf(x).getDimSize(0) != loop.count ||
      typeOf(op->getResult(0)).getShape().front() != 1 ||
      typeOf(op->getResult(0)).getShape().drop_front() != typeOf(x).getShape().drop_front())
    return std::nullopt;
  const std::optional<bool> backward = isBackward(loop, op->getOperand(1));
  if (!backward) // other starts are clamped to 0: the other dimensions are whole
    return std::nullopt;
  return Stacked{
      g.reshape(*backward != loop.backward ? reversed(from->value) : from->value, stackedType(op->getResult(0)).getShape()),
      true};
}

// The iterations are a batch, or more rows of the left operand if the right one is always the same.
std::optional<StackedBody::Stacked> StackedBody::products(graph::DotGeneralOp op, llvm::ArrayRef<Stacked> in,
                                                          mlir::RankedTensorType type) {
  const auto n = op.getDotDimensionNumbers();
  const bool rows = !in[1].perStep && n.getLhsBatchingDimensions().empty();
  const auto behind = [&](llvm::ArrayRef<int64_t> dims, bool batch) {
    return rows && batch ? std::vector<int64_t>() : behindFirst(dims, batch);
  };
  mlir::IRMapping map;
  map.map(op->getOperand(0), perStep(in[0]));
  map.map(op->getOperand(1), rows ? in[1].value : perStep(in[1]));
  mlir::Operation *copy = g.b.clone(*op, map);
  copy->setAttr("dot_dimension_numbers",
                graph::DotDimensionNumbersAttr::get(g.b.getContext(), behind(n.getLhsBatchingDimensions(), true),
                                                    behind(n.getRhsBatchingDimensions(), true),
                                                    behind(n.getLhsContractingDimensions(), false),
                                                    rows ? std::vector<int64_t>(n.getRhsContractingDimensions())
                                                         : behind(n.getRhsContractingDimensions(), false)));
  copy->getResult(0).setType(type);
  return Stacked{copy->getResult(0), true};
}

// The operation on all iterations.
std::optional<StackedBody::Stacked> StackedBody::raised(mlir::Operation *op, llvm::ArrayRef<Stacked> in) {
  const mlir::Value result = op->getResult(0);
  const mlir::RankedTensorType type = stackedType(result);
  if (auto reduce = llvm::dyn_cast<graph::ReduceOp>(op)) {
    if (in[1].perStep)
      return std::nullopt;
    mlir::IRMapping map;
    map.map(op->getOperand(0), perStep(in[0]));
    map.map(op->getOperand(1), in[1].value);
    mlir::Operation *copy = g.b.clone(*op, map);
    copy->setAttr("dimensions", g.b.getDenseI64ArrayAttr(behindFirst(reduce.getDimensions(), false)));
    copy->getResult(0).setType(type);
    return Stacked{copy->getResult(0), true};
  }
  if (isPointwise(opName(op))) {
    for (mlir::Value x : op->getOperands())
      if (typeOf(x).getRank() != 0 && typeOf(x).getShape() != typeOf(result).getShape())
        return std::nullopt;
    mlir::IRMapping map;
    for (auto [x, s] : llvm::zip(op->getOperands(), in))
      map.map(x, spread(s, typeOf(result).getShape()));
    mlir::Operation *copy = g.b.clone(*op, map);
    copy->getResult(0).setType(type);
    return Stacked{copy->getResult(0), true};
  }
  if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op))
    return products(dot, in, type);
  const mlir::Value x = perStep(in[0]);
  if (opName(op) == "reshape")
    return Stacked{g.reshape(x, type.getShape()), true};
  if (auto b = llvm::dyn_cast<graph::BroadcastInDimOp>(op))
    return Stacked{g.broadcast(x, behindFirst(b.getBroadcastDimensions(), true), type), true};
  if (auto t = llvm::dyn_cast<graph::TransposeOp>(op))
    return Stacked{g.transpose(x, behindFirst(t.getPermutation(), true)), true};
  if (auto s = llvm::dyn_cast<graph::SliceOp>(op)) {
    const auto with = [&](llvm::ArrayRef<int64_t> numbers, int64_t first) {
      std::vector<int64_t> out{first};
      llvm::append_range(out, numbers);
      return g.b.getDenseI64ArrayAttr(out);
    };
    return Stacked{g.make("slice", {x}, type,
                          {g.b.getNamedAttr("start_indices", with(s.getStartIndices(), 0)),
                           g.b.getNamedAttr("limit_indices", with(s.getLimitIndices(), loop.count)),
                           g.b.getNamedAttr("strides", with(s.getStrides(), 1))}),
                   true};
  }
  return std::nullopt;
}

} // namespace glia::emit
