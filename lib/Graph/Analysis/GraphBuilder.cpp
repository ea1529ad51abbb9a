#include "GraphBuilder.h"

#include <functional>

namespace glia::emit {

mlir::RankedTensorType typeOf(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()); }
mlir::Type elementOf(mlir::Value v) { return typeOf(v).getElementType(); }
mlir::RankedTensorType withElement(mlir::Value v, mlir::Type element) {
  return mlir::RankedTensorType::get(typeOf(v).getShape(), element);
}

mlir::Value GraphBuilder::make(llvm::StringRef name, mlir::ValueRange operands, mlir::Type result,
                               llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  const std::string full = name.contains('.') ? name.str() : "stablehlo." + name.str();
  mlir::OperationState state(loc, full, operands, {result}, attributes);
  return b.create(state)->getResult(0);
}

mlir::Value GraphBuilder::constant(mlir::DenseElementsAttr value) {
  return make("constant", {}, value.getType(), {b.getNamedAttr("value", value)});
}

mlir::Value GraphBuilder::number(double value, mlir::RankedTensorType type) {
  const mlir::Type e = type.getElementType();
  if (auto f = llvm::dyn_cast<mlir::FloatType>(e)) {
    llvm::APFloat x(value);
    bool lost;
    x.convert(f.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return constant(mlir::DenseElementsAttr::get(type, x));
  }
  const unsigned width = llvm::cast<mlir::IntegerType>(e).getWidth();
  const llvm::APInt x(64, static_cast<uint64_t>(static_cast<int64_t>(value)));
  return constant(mlir::DenseElementsAttr::get(type, x.zextOrTrunc(width)));
}
mlir::Value GraphBuilder::number(double value, Value like) { return number(value, typeOf(like)); }

mlir::Value GraphBuilder::compare(graph::ComparisonDirection how, Value x, Value y) {
  return make("compare", {x, y}, withElement(x, b.getI1Type()),
              {b.getNamedAttr("comparison_direction", graph::ComparisonDirectionAttr::get(b.getContext(), how))});
}

mlir::Value GraphBuilder::compareTotal(graph::ComparisonDirection how, Value x, Value y) {
  const Value made = compare(how, x, y);
  if (llvm::isa<mlir::FloatType>(elementOf(x)))
    made.getDefiningOp()->setAttr("compare_type",
                                  graph::ComparisonTypeAttr::get(b.getContext(), graph::ComparisonType::TOTALORDER));
  return made;
}

mlir::Value GraphBuilder::convert(Value x, mlir::Type element) {
  return elementOf(x) == element ? x : make("convert", {x}, withElement(x, element));
}
mlir::Value GraphBuilder::bitcast(Value x, mlir::Type element) {
  return elementOf(x) == element ? x : make("bitcast_convert", {x}, withElement(x, element));
}

mlir::Value GraphBuilder::iota(mlir::RankedTensorType type, int64_t dim) {
  return make("iota", {}, type, {b.getNamedAttr("iota_dimension", b.getI64IntegerAttr(dim))});
}
mlir::Value GraphBuilder::broadcast(Value x, llvm::ArrayRef<int64_t> dims, mlir::RankedTensorType type) {
  return make("broadcast_in_dim", {x}, type, {b.getNamedAttr("broadcast_dimensions", b.getDenseI64ArrayAttr(dims))});
}
mlir::Value GraphBuilder::reshape(Value x, llvm::ArrayRef<int64_t> shape) {
  return make("reshape", {x}, mlir::RankedTensorType::get(shape, elementOf(x)));
}

mlir::Value GraphBuilder::transpose(Value x, llvm::ArrayRef<int64_t> permutation) {
  std::vector<int64_t> shape;
  for (int64_t d : permutation)
    shape.push_back(typeOf(x).getDimSize(d));
  return make("transpose", {x}, mlir::RankedTensorType::get(shape, elementOf(x)),
              {b.getNamedAttr("permutation", b.getDenseI64ArrayAttr(permutation))});
}
mlir::Value GraphBuilder::slice(Value x, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high,
                                llvm::ArrayRef<int64_t> step) {
  const std::vector<int64_t> ones(low.size(), 1);
  if (step.empty())
    step = ones;
  std::vector<int64_t> shape;
  for (auto [from, to, by] : llvm::zip(low, high, step))
    shape.push_back((to - from + by - 1) / by);
  if (llvm::ArrayRef<int64_t>(shape) == typeOf(x).getShape())
    return x;
  return make("slice", {x}, mlir::RankedTensorType::get(shape, elementOf(x)),
              {b.getNamedAttr("start_indices", b.getDenseI64ArrayAttr(low)),
               b.getNamedAttr("limit_indices", b.getDenseI64ArrayAttr(high)),
               b.getNamedAttr("strides", b.getDenseI64ArrayAttr(step))});
}
mlir::Value GraphBuilder::slice(Value x, int64_t dim, int64_t low, int64_t high) {
  std::vector<int64_t> to(typeOf(x).getShape()), from(to.size(), 0);
  from[static_cast<size_t>(dim)] = low;
  to[static_cast<size_t>(dim)] = high;
  return slice(x, from, to);
}
mlir::Value GraphBuilder::concatenate(llvm::ArrayRef<Value> parts, int64_t dim) {
  if (parts.size() == 1)
    return parts[0];
  std::vector<int64_t> shape(typeOf(parts[0]).getShape());
  for (Value part : parts.drop_front())
    shape[static_cast<size_t>(dim)] += typeOf(part).getDimSize(dim);
  return make("concatenate", parts, mlir::RankedTensorType::get(shape, elementOf(parts[0])),
              {b.getNamedAttr("dimension", b.getI64IntegerAttr(dim))});
}

mlir::Value GraphBuilder::pad(Value x, Value with, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high,
                              llvm::ArrayRef<int64_t> between) {
  std::vector<int64_t> shape(typeOf(x).getShape()), inner(between);
  inner.resize(shape.size(), 0);
  for (size_t d = 0; d < shape.size(); ++d)
    shape[d] += low[d] + high[d] + std::max<int64_t>(shape[d] - 1, 0) * inner[d];
  return make("pad", {x, with}, mlir::RankedTensorType::get(shape, elementOf(x)),
              {b.getNamedAttr("edge_padding_low", b.getDenseI64ArrayAttr(low)),
               b.getNamedAttr("edge_padding_high", b.getDenseI64ArrayAttr(high)),
               b.getNamedAttr("interior_padding", b.getDenseI64ArrayAttr(inner))});
}

mlir::Value GraphBuilder::reduce(llvm::StringRef op, Value x, Value start, llvm::ArrayRef<int64_t> dims) {
  std::vector<int64_t> shape;
  for (int64_t d = 0; d < typeOf(x).getRank(); ++d)
    if (!llvm::is_contained(dims, d))
      shape.push_back(typeOf(x).getDimSize(d));
  mlir::OperationState state(loc, "stablehlo.reduce", {x, start}, {mlir::RankedTensorType::get(shape, elementOf(x))},
                             {b.getNamedAttr("dimensions", b.getDenseI64ArrayAttr(dims))});
  mlir::Region *body = state.addRegion();
  {
    const mlir::OpBuilder::InsertionGuard guard(b);
    const mlir::Type scalar = mlir::RankedTensorType::get({}, elementOf(x));
    mlir::Block *block = b.createBlock(body, {}, {scalar, scalar}, {loc, loc});
    const Value made = make(op, {block->getArgument(0), block->getArgument(1)}, scalar);
    mlir::OperationState end(loc, "stablehlo.return");
    end.addOperands(made);
    b.create(end);
  }
  return b.create(state)->getResult(0);
}

std::vector<mlir::Operation *> programOps(mlir::func::FuncOp main) {
  std::vector<mlir::Operation *> out;
  const std::function<void(mlir::Block &)> visit = [&](mlir::Block &block) {
    for (mlir::Operation &op : block.without_terminator()) {
      out.push_back(&op);
      const llvm::StringRef name = op.getName().stripDialect();
      if (name == "while" || name == "if" || name == "case")
        for (mlir::Region &r : op.getRegions())
          for (mlir::Block &inner : r)
            visit(inner);
    }
  };
  visit(main.getBody().front());
  return out;
}

} // namespace glia::emit
