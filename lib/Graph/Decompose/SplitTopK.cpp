// Of equal elements the first come first: in a part, and among the parts, which keep their order. So the places among the candidates
// decide between equal ones as the places in the row do.
#include "SplitTopK.h"
#include "Lower/Order/TopK.h"
#include "glia/Lower/Family.h"

#include "llvm/ADT/APFloat.h"

#include <algorithm>

namespace glia::emit {

namespace {

using Value = mlir::Value;

struct Way {
  int64_t parts = 1; // of each row; 1: as it is
  double time = 0;   // cycles
};

double timeOf(mlir::Type element, int64_t rows, int64_t n, int64_t picks) {
  return static_cast<double>((rows + 127) / 128) * pickCycles(element, picks, n);
}

Way bestWay(mlir::Type element, int64_t rows, int64_t n, int64_t picks) {
  constexpr double kBetween = 20'000; // the movement of parts and of places
  Way best{1, timeOf(element, rows, n, picks)};
  for (int64_t parts = 2; parts <= 128 && n / parts >= 2 * picks; parts *= 2) {
    const int64_t m = (n + parts - 1) / parts;
    const double time =
        timeOf(element, rows * parts, m, picks) + kBetween + bestWay(element, rows, parts * picks, picks).time;
    if (time < best.time)
      best = {parts, time};
  }
  return best;
}

struct Picked {
  Value values, places;
};

Picked topK(GraphBuilder &g, Value x, int64_t picks, mlir::Type places) {
  const llvm::ArrayRef<int64_t> shape = typeOf(x).getShape();
  const int64_t out[] = {shape[0], picks};
  mlir::OperationState state(g.loc, "chlo.top_k");
  state.addOperands(x);
  state.addTypes({mlir::RankedTensorType::get(out, elementOf(x)), mlir::RankedTensorType::get(out, places)});
  state.addAttribute("k", g.b.getI64IntegerAttr(picks));
  mlir::Operation *made = g.b.create(state);
  return {made->getResult(0), made->getResult(1)};
}

// Nothing is below it: of floats, in total order, the one whose bits are all ones.
Value lowest(GraphBuilder &g, mlir::Type element) {
  const auto type = mlir::RankedTensorType::get({}, element);
  const unsigned width = element.getIntOrFloatBitWidth();
  if (auto f = llvm::dyn_cast<mlir::FloatType>(element))
    return g.constant(
        mlir::DenseElementsAttr::get(type, llvm::APFloat(f.getFloatSemantics(), llvm::APInt::getAllOnes(width))));
  const bool natural = element.isUnsignedInteger() || width == 1;
  return g.constant(
      mlir::DenseElementsAttr::get(type, natural ? llvm::APInt::getMinValue(width) : llvm::APInt::getSignedMinValue(width)));
}

// Of [rows, n].
Picked picked(GraphBuilder &g, Value x, int64_t picks, mlir::Type places) {
  const int64_t rows = typeOf(x).getDimSize(0), n = typeOf(x).getDimSize(1),
                parts = bestWay(elementOf(x), rows, n, picks).parts;
  if (parts == 1)
    return topK(g, x, picks, places);
  const int64_t m = (n + parts - 1) / parts;
  if (parts * m > n)
    x = g.pad(x, lowest(g, elementOf(x)), {0, 0}, {0, parts * m - n});
  const Picked each = topK(g, g.reshape(x, {rows * parts, m}), picks, places);
  const Value in = g.reshape(each.places, {rows, parts, picks});
  const Value first = g.multiply(g.iota(typeOf(in), 1), g.number(static_cast<double>(m), in));
  const Value at = g.reshape(g.add(in, first), {rows, parts * picks});
  const Picked best = picked(g, g.reshape(each.values, {rows, parts * picks}), picks, places);
  return {best.values, takenAlongLast(g, at, best.places)};
}

} // namespace

Value takenAlongLast(GraphBuilder &g, Value x, Value at) {
  const int64_t rank = typeOf(x).getRank();
  std::vector<int64_t> batch;
  for (int64_t d = 0; d + 1 < rank; ++d)
    batch.push_back(d);
  const auto numbers =
      graph::GatherDimensionNumbersAttr::get(g.b.getContext(), {}, {rank - 1}, batch, batch, {rank - 1}, rank);
  return g.make(
      "gather", {x, at}, withElement(at, elementOf(x)),
      {g.b.getNamedAttr("dimension_numbers", numbers),
       g.b.getNamedAttr("slice_sizes", g.b.getDenseI64ArrayAttr(std::vector<int64_t>(static_cast<size_t>(rank), 1)))});
}

bool splitTopK(mlir::Operation *op) {
  const Value x = op->getOperand(0);
  const mlir::RankedTensorType type = typeOf(x), out = typeOf(op->getResult(0));
  const int64_t n = type.getShape().back(), rows = type.getNumElements() / n, picks = out.getShape().back();
  if (picks == 0 || bestWay(type.getElementType(), rows, n, picks).parts == 1)
    return false;
  GraphBuilder g(op);
  const Picked made = picked(g, g.reshape(x, {rows, n}), picks, elementOf(op->getResult(1)));
  op->getResult(0).replaceAllUsesWith(g.reshape(made.values, out.getShape()));
  op->getResult(1).replaceAllUsesWith(g.reshape(made.places, out.getShape()));
  return true;
}

} // namespace glia::emit
