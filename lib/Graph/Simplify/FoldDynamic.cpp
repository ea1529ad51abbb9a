#include "FoldDynamic.h"
#include "Graph/Analysis/ConstantElements.h"
#include "FoldConstants.h"
#include "glia/Lower/Family.h"

#include "mlir/IR/Verifier.h"

namespace glia::emit {

namespace {

using Value = mlir::Value;
using Numbers = std::optional<std::vector<int64_t>>;

Numbers numbersOf(Value v) {
  mlir::Operation *op = v.getDefiningOp();
  const std::optional<Elements> e = op ? elementsOf(op) : std::nullopt;
  if (!e)
    return std::nullopt;
  std::vector<int64_t> out;
  for (int64_t i = 0; i < e->type.getNumElements(); ++i)
    out.push_back(e->at(i).i);
  return out;
}

// False if it is known to say another shape.
bool mayBe(Value sizes, Value result) {
  const Numbers n = numbersOf(sizes);
  return !n || llvm::ArrayRef(*n) == typeOf(result).getShape();
}

// Of the first operand along the attribute `dimension`; nullopt if there is no such dimension.
std::optional<int64_t> sizeAlong(mlir::Operation *op) {
  const int64_t dim = op->getAttrOfType<mlir::IntegerAttr>("dimension").getInt();
  const mlir::RankedTensorType type = typeOf(op->getOperand(0));
  return dim >= 0 && dim < type.getRank() ? std::optional(type.getDimSize(static_cast<unsigned>(dim))) : std::nullopt;
}

class Static {
public:
  explicit Static(mlir::Operation *op) : op(op), g(op) {}

  // The value in other words; null if it cannot be said.
  Value make() {
    const llvm::StringRef name = opName(op);
    const Value result = op->getResult(0);
    if (name == "dynamic_reshape")
      return mayBe(op->getOperand(1), result) ? made("reshape", 1, {}) : Value();
    if (name == "dynamic_broadcast_in_dim")
      return mayBe(op->getOperand(1), result) ? made("broadcast_in_dim", 1, {}, {"broadcast_dimensions"}) : Value();
    if (name == "dynamic_iota")
      return mayBe(op->getOperand(0), result) ? made("iota", 0, {}, {"iota_dimension"}) : Value();
    if (name == "real_dynamic_slice")
      return slice();
    if (name == "dynamic_pad")
      return made("pad", 2, {"edge_padding_low", "edge_padding_high", "interior_padding"});
    if (name == "dynamic_gather")
      return made("gather", 2, {"slice_sizes"}, {"dimension_numbers", "indices_are_sorted"});
    if (name == "dynamic_conv")
      return convolution();
    if (name == "set_dimension_size") {
      const Numbers size = numbersOf(op->getOperand(1));
      const std::optional<int64_t> whole = sizeAlong(op);
      return size && whole && (*size)[0] == *whole && op->getOperand(0).getType() == result.getType() ? op->getOperand(0)
                                                                                                      : Value();
    }
    return {};
  }

private:
  mlir::Operation *op;
  GraphBuilder g;

  // An operation of the first operands, with the others as attributes; null if one is not known, or they do not fit its types.
  Value made(llvm::StringRef name, unsigned operands, llvm::ArrayRef<llvm::StringRef> numbers,
             llvm::ArrayRef<llvm::StringRef> kept = {}) {
    llvm::SmallVector<mlir::NamedAttribute> attributes;
    for (auto [i, attribute] : llvm::enumerate(numbers)) {
      const Numbers n = numbersOf(op->getOperand(operands + static_cast<unsigned>(i)));
      if (!n)
        return {};
      attributes.push_back(g.b.getNamedAttr(attribute, g.b.getDenseI64ArrayAttr(*n)));
    }
    for (llvm::StringRef attribute : kept)
      if (mlir::Attribute value = op->getAttr(attribute))
        attributes.push_back(g.b.getNamedAttr(attribute, value));
    return valid(g.make(name, op->getOperands().take_front(operands), op->getResult(0).getType(), attributes));
  }
  Value valid(Value v) {
    const mlir::ScopedDiagnosticHandler quiet(g.b.getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
    if (mlir::succeeded(mlir::verify(v.getDefiningOp())))
      return v;
    v.getDefiningOp()->erase();
    return {};
  }

  Value slice() {
    const Value x = op->getOperand(0), starts = op->getOperand(1);
    const Numbers start = numbersOf(starts), step = numbersOf(op->getOperand(3));
    if (start)
      return made("slice", 1, {"start_indices", "limit_indices", "strides"});
    const int64_t rank = typeOf(x).getRank();
    if (!step || llvm::any_of(*step, [](int64_t s) { return s != 1; }) || typeOf(starts).getNumElements() != rank)
      return {};
    llvm::SmallVector<Value> operands{x};
    for (int64_t d = 0; d < rank; ++d)
      operands.push_back(g.reshape(g.slice(starts, {d}, {d + 1}), {}));
    return valid(g.make("dynamic_slice", operands, op->getResult(0).getType(),
                        {g.b.getNamedAttr("slice_sizes", g.b.getDenseI64ArrayAttr(typeOf(op->getResult(0)).getShape()))}));
  }

  Value convolution() {
    const Numbers padding = numbersOf(op->getOperand(2));
    if (!padding || padding->size() % 2)
      return {};
    llvm::SmallVector<mlir::NamedAttribute> attributes;
    for (const mlir::NamedAttribute &a : op->getAttrs())
      attributes.push_back(a);
    const auto type = mlir::RankedTensorType::get({static_cast<int64_t>(padding->size() / 2), 2}, g.b.getI64Type());
    attributes.push_back(g.b.getNamedAttr("padding", mlir::DenseIntElementsAttr::get(type, *padding)));
    return valid(g.make("convolution", op->getOperands().take_front(2), op->getResult(0).getType(), attributes));
  }
};

bool isDynamic(mlir::Operation *op) {
  static constexpr llvm::StringLiteral kNames[] = {"dynamic_reshape", "dynamic_broadcast_in_dim", "dynamic_iota",
                                                   "dynamic_pad",     "real_dynamic_slice",       "dynamic_gather",
                                                   "dynamic_conv",    "set_dimension_size"};
  return llvm::is_contained(kNames, opName(op));
}

// Gives whether anything became static.
bool foldAll(mlir::func::FuncOp main) {
  bool changed = false;
  for (mlir::Operation *op : programOps(main))
    if (isDynamic(op))
      if (const Value v = Static(op).make()) {
        op->getResult(0).replaceAllUsesWith(v);
        op->erase();
        changed = true;
      }
  return changed;
}

} // namespace

void foldDynamic(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main))
    if (opName(op) == "get_dimension_size")
      if (const std::optional<int64_t> size = sizeAlong(op)) {
        GraphBuilder g(op);
        op->getResult(0).replaceAllUsesWith(g.number(static_cast<double>(*size), op->getResult(0)));
        op->erase();
      }
  while (llvm::any_of(programOps(main), isDynamic)) { // sizes may be made of what was static too late
    foldConstants(main);
    if (!foldAll(main))
      return;
  }
}

} // namespace glia::emit
