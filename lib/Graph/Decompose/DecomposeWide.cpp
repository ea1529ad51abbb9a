#include "DecomposeWide.h"
#include "DecomposeWindows.h"
#include "Graph/Analysis/GraphFacts.h"
#include "ReduceTree.h"
#include "Graph/Analysis/ValueRanges.h"

namespace glia::emit {

namespace {

using Value = mlir::Value;
using Values = llvm::SmallVector<Value>;

constexpr int64_t kMostProducts = 1 << 20; // of a dot, all at once
constexpr int64_t kMostTerms = 8192;       // products of bytes, of eight pairs of bytes: their sum fits into 32 bits
constexpr int64_t kMostUpdates = 65536;    // sums of so many 16-bit numbers fit into 32 bits

// Leaves what it is combined with as it is.
bool isNeutral(llvm::StringRef name, Value start) {
  mlir::Operation *made = start.getDefiningOp();
  const auto value = made && opName(made) == "constant" ? llvm::dyn_cast<mlir::DenseIntElementsAttr>(made->getAttr("value"))
                                                        : mlir::DenseIntElementsAttr();
  if (!value)
    return false;
  const llvm::APInt n = *value.value_begin<llvm::APInt>();
  const bool isUnsigned = elementOf(start).isUnsignedInteger();
  if (name == "add" || name == "or" || name == "xor")
    return n.isZero();
  if (name == "multiply")
    return n.isOne();
  if (name == "and")
    return n.isAllOnes();
  if (name == "maximum")
    return isUnsigned ? n.isMinValue() : n.isMinSignedValue();
  return name == "minimum" && (isUnsigned ? n.isMaxValue() : n.isMaxSignedValue());
}

bool writeWindow(graph::ReduceWindowOp op) {
  mlir::Block &body = op->getRegion(0).front();
  const bool neutral =
      op->getNumResults() == 1 && body.getOperations().size() == 2 && isNeutral(opName(&body.front()), op->getOperand(1));
  return (neutral && writeGrowing(op)) || writeOut(op);
}

// Every product, then their sums.
Value dotByProducts(GraphBuilder &g, graph::DotGeneralOp op, int64_t n) {
  const auto numbers = op.getDotDimensionNumbers();
  const mlir::RankedTensorType out = typeOf(op->getResult(0));
  const Value sides[] = {op->getOperand(0), op->getOperand(1)};
  const llvm::ArrayRef<int64_t> batch[] = {numbers.getLhsBatchingDimensions(), numbers.getRhsBatchingDimensions()},
                                contract[] = {numbers.getLhsContractingDimensions(), numbers.getRhsContractingDimensions()};
  std::vector<int64_t> shape(out.getShape());
  for (int64_t d : contract[0])
    shape.push_back(typeOf(sides[0]).getDimSize(static_cast<unsigned>(d)));
  Values factors;
  int64_t next = static_cast<int64_t>(batch[0].size()); // the free dimensions of both sides follow each other
  for (int side = 0; side < 2; ++side) {
    const auto rank = static_cast<size_t>(typeOf(sides[side]).getRank());
    std::vector<int64_t> to(rank);
    for (auto [i, d] : llvm::enumerate(batch[side]))
      to[static_cast<size_t>(d)] = static_cast<int64_t>(i);
    for (int64_t d : freeDims(rank, batch[side], contract[side]))
      to[static_cast<size_t>(d)] = next++;
    for (auto [i, d] : llvm::enumerate(contract[side]))
      to[static_cast<size_t>(d)] = out.getRank() + static_cast<int64_t>(i);
    factors.push_back(g.broadcast(g.convert(sides[side], out.getElementType()), to,
                                  mlir::RankedTensorType::get(shape, out.getElementType())));
  }
  const Value products = g.reshape(g.multiply(factors[0], factors[1]), {out.getNumElements(), n});
  const Values sums =
      folded(g, {products}, [&](mlir::ValueRange a, mlir::ValueRange b) { return Values{g.add(a[0], b[0])}; });
  return g.reshape(sums[0], out.getShape());
}

// A number is the sum of its bytes times 2^(8 i): pairs of bytes that lie equally high are dots of their own.
Value dotByBytes(GraphBuilder &g, graph::DotGeneralOp op) {
  const mlir::RankedTensorType out = typeOf(op->getResult(0));
  const mlir::Type byte = g.b.getIntegerType(8, false), word = g.b.getIntegerType(32, false);
  Values bytes[2];
  for (unsigned side = 0; side < 2; ++side) {
    const Value x = g.convert(op->getOperand(side), out.getElementType());
    for (int i = 0; i < 8; ++i)
      bytes[side].push_back(
          g.convert(g.binary("and", g.binary("shift_right_logical", x, g.number(8 * i, x)), g.number(255, x)), byte));
  }
  Value all;
  for (size_t high = 0; high < 8; ++high) {
    Value sum;
    for (size_t i = 0; i <= high; ++i) {
      const Value part =
          g.make("dot_general", {bytes[0][i], bytes[1][high - i]}, mlir::RankedTensorType::get(out.getShape(), word),
                 {g.b.getNamedAttr("dot_dimension_numbers", op.getDotDimensionNumbers())});
      sum = sum ? g.add(sum, part) : part;
    }
    const Value wide = g.convert(sum, out.getElementType());
    const Value moved = g.binary("shift_left", wide, g.number(8 * static_cast<double>(high), wide));
    all = all ? g.add(all, moved) : moved;
  }
  return all;
}

bool writeDot(graph::DotGeneralOp op) {
  int64_t n = 1;
  for (int64_t d : op.getDotDimensionNumbers().getLhsContractingDimensions())
    n *= typeOf(op->getOperand(0)).getDimSize(static_cast<unsigned>(d));
  const int64_t products = elementsOf(op->getResult(0)) * n;
  if (products == 0 || (products > kMostProducts && n > kMostTerms))
    return false;
  GraphBuilder g(op);
  op->getResult(0).replaceAllUsesWith(products > kMostProducts ? dotByBytes(g, op) : dotByProducts(g, op, n));
  op->erase();
  return true;
}

// What lies where each update goes; something, where that is not inside.
Value gathered(GraphBuilder &g, graph::ScatterOp op, Value from) {
  const auto n = op.getScatterDimensionNumbers();
  const mlir::RankedTensorType updates = typeOf(op->getOperand(2));
  std::vector<int64_t> sizes(static_cast<size_t>(typeOf(from).getRank()), 1);
  size_t next = 0;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (!llvm::is_contained(n.getInsertedWindowDims(), static_cast<int64_t>(d)) &&
        !llvm::is_contained(n.getInputBatchingDims(), static_cast<int64_t>(d)))
      sizes[d] = updates.getDimSize(static_cast<unsigned>(n.getUpdateWindowDims()[next++]));
  const auto numbers = graph::GatherDimensionNumbersAttr::get(
      g.b.getContext(), n.getUpdateWindowDims(), n.getInsertedWindowDims(), n.getInputBatchingDims(),
      n.getScatterIndicesBatchingDims(), n.getScatterDimsToOperandDims(), n.getIndexVectorDim());
  return g.make(
      "gather", {from, op->getOperand(1)}, mlir::RankedTensorType::get(updates.getShape(), elementOf(from)),
      {g.b.getNamedAttr("dimension_numbers", numbers), g.b.getNamedAttr("slice_sizes", g.b.getDenseI64ArrayAttr(sizes))});
}

// A sum is four of 16 digits each, which one word holds.
Value scatteredSum(GraphBuilder &g, graph::ScatterOp op) {
  const Value updates = op->getOperand(2);
  Value sum = op->getOperand(0);
  const mlir::Type wide = elementOf(sum), word = g.b.getIntegerType(32, false);
  for (int digit = 0; digit < 4; ++digit) {
    const Value part =
        g.binary("and", g.binary("shift_right_logical", updates, g.number(16 * digit, updates)), g.number(0xffff, updates));
    const Value made = g.convert(scattered(g, op, g.number(0, withElement(sum, word)), g.convert(part, word)), wide);
    sum = g.add(sum, g.binary("shift_left", made, g.number(16 * digit, made)));
  }
  return sum;
}

// The largest, or smallest, high word; and of the elements that have it the low word.
Value scatteredMost(GraphBuilder &g, graph::ScatterOp op, bool largest) {
  const Value operand = op->getOperand(0), updates = op->getOperand(2);
  const mlir::Type wide = elementOf(operand), word = g.b.getIntegerType(32, false);
  const bool isUnsigned = wide.isUnsignedInteger();
  const auto high = [&](Value x) {
    return g.convert(g.binary("shift_right_logical", x, g.number(32, x)), isUnsigned ? word : g.b.getI32Type());
  };
  const Value most = scattered(g, op, high(operand), high(updates));
  const auto low = [&](Value x, Value mostThere) {
    const Value own = g.convert(x, word);
    return g.select(g.compare(graph::ComparisonDirection::EQ, high(x), mostThere), own,
                    g.number(largest ? 0 : UINT32_MAX, own));
  };
  const Value rest = scattered(g, op, low(operand, most), low(updates, gathered(g, op, most)));
  const Value upper = g.convert(most, wide);
  return g.binary("or", g.binary("shift_left", upper, g.number(32, upper)), g.convert(rest, wide));
}

bool writeScatter(graph::ScatterOp op) {
  mlir::Block &body = op->getRegion(0).front();
  if (op->getNumOperands() != 3 || body.getOperations().size() != 2 || elementsOf(op->getOperand(2)) > kMostUpdates)
    return false;
  const llvm::StringRef name = opName(&body.front());
  if (name != "add" && name != "maximum" && name != "minimum")
    return false;
  GraphBuilder g(op);
  op->getResult(0).replaceAllUsesWith(name == "add" ? scatteredSum(g, op) : scatteredMost(g, op, name == "maximum"));
  op->erase();
  return true;
}

} // namespace

Value scattered(GraphBuilder &g, mlir::Operation *op, Value operand, Value updates) {
  mlir::Operation *copy = g.b.clone(*op);
  copy->setOperand(0, operand);
  copy->setOperand(2, updates);
  copy->getResult(0).setType(operand.getType());
  const auto scalar = mlir::RankedTensorType::get({}, elementOf(operand));
  mlir::Block &body = copy->getRegion(0).front();
  for (Value v : body.getArguments())
    v.setType(scalar);
  for (mlir::Operation &inner : body.without_terminator())
    inner.getResult(0).setType(scalar);
  return copy->getResult(0);
}

void decomposeWide(mlir::func::FuncOp main) {
  ValueRanges ranges;
  const auto wide = [&](Value v) { return !ranges.fitsWord(v); };
  for (mlir::Operation *op : programOps(main)) {
    ranges.visit(op);
    if (llvm::none_of(op->getOperands(), wide) && llvm::none_of(op->getResults(), wide))
      continue;
    if (auto reduce = llvm::dyn_cast<graph::ReduceOp>(op))
      writeByTree(reduce);
    else if (auto window = llvm::dyn_cast<graph::ReduceWindowOp>(op))
      writeWindow(window);
    else if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op))
      writeDot(dot);
    else if (auto scatter = llvm::dyn_cast<graph::ScatterOp>(op)) {
      if (wide(op->getOperand(0)) || wide(op->getResult(0))) // not only where they go
        writeScatter(scatter);
    }
  }
}

} // namespace glia::emit
