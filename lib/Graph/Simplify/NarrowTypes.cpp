#include "NarrowTypes.h"
#include "Graph/Analysis/ConstantElements.h"
#include "Graph/Analysis/Refusal.h"
#include "Graph/Analysis/ValueRanges.h"
#include "glia/Lower/Family.h"
#include "glia/Support/Diagnostic.h"

#include "llvm/ADT/DenseSet.h"

#include <cmath>

namespace glia::emit {

namespace {

// The 64-bit element type of a value; null if it is another.
mlir::Type wideType(mlir::Type type) {
  const auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  const mlir::Type t = tensor ? tensor.getElementType() : mlir::Type();
  return t && (t.isF64() || (llvm::isa<mlir::IntegerType>(t) && llvm::cast<mlir::IntegerType>(t).getWidth() == 64))
             ? t
             : mlir::Type();
}
mlir::Type narrowed(mlir::Type wide) {
  if (wide.isF64())
    return mlir::Float32Type::get(wide.getContext());
  const auto i = llvm::cast<mlir::IntegerType>(wide);
  return mlir::IntegerType::get(wide.getContext(), 32, i.getSignedness());
}
mlir::Type narrowedTensor(mlir::Type type) {
  const mlir::Type wide = wideType(type);
  return wide ? mlir::RankedTensorType::get(llvm::cast<mlir::RankedTensorType>(type).getShape(), narrowed(wide)) : type;
}

std::string textOf(mlir::Type t) {
  std::string text;
  llvm::raw_string_ostream(text) << t;
  return text;
}

// Operations whose meaning does not depend on the width of their integers, as long as operands and results fit.
constexpr llvm::StringLiteral kInteger[] = {"constant",
                                            "iota",
                                            "convert",
                                            "add",
                                            "subtract",
                                            "multiply",
                                            "divide",
                                            "remainder",
                                            "negate",
                                            "abs",
                                            "sign",
                                            "maximum",
                                            "minimum",
                                            "clamp",
                                            "select",
                                            "compare",
                                            "and",
                                            "or",
                                            "xor",
                                            "not",
                                            "shift_left",
                                            "reshape",
                                            "transpose",
                                            "slice",
                                            "broadcast_in_dim",
                                            "concatenate",
                                            "pad",
                                            "reverse",
                                            "gather",
                                            "scatter",
                                            "dynamic_slice",
                                            "dynamic_update_slice",
                                            "reduce",
                                            "reduce_window",
                                            "shift_right_logical",
                                            "shift_right_arithmetic",
                                            "optimization_barrier",
                                            "while",
                                            "broadcast"};
// ... and those that give one of their operands' floats, or a function of it that f32 holds.
constexpr llvm::StringLiteral kFloat[] = {"constant",
                                          "convert",
                                          "compare",
                                          "select",
                                          "negate",
                                          "abs",
                                          "sign",
                                          "maximum",
                                          "minimum",
                                          "clamp",
                                          "floor",
                                          "ceil",
                                          "round_nearest_even",
                                          "reshape",
                                          "transpose",
                                          "slice",
                                          "reverse",
                                          "broadcast_in_dim",
                                          "concatenate",
                                          "pad",
                                          "gather",
                                          "dynamic_slice",
                                          "dynamic_update_slice",
                                          "optimization_barrier",
                                          "round_nearest_afz",
                                          "is_finite",
                                          "broadcast"};

class Narrowing {
public:
  explicit Narrowing(mlir::func::FuncOp main) : main(main), ops(programOps(main)) {}

  void run() {
    const bool any = llvm::any_of(ops, [](mlir::Operation *op) { return isWide(op); });
    for (mlir::BlockArgument a : main.getBody().getArguments())
      if (wideType(a.getType()))
        refuse(a.getLoc(), "argument " + std::to_string(a.getArgNumber()) + " has type " + textOf(a.getType()),
               "Give it as " + textOf(narrowedTensor(a.getType())) +
                   "; whether its values fit is known to the caller only.");
    mlir::Operation *end = main.getBody().front().getTerminator();
    for (unsigned i = 0; i < end->getNumOperands(); ++i)
      if (const mlir::Type t = end->getOperand(i).getType(); wideType(t))
        refuse(end->getOperand(i).getLoc(), "result " + std::to_string(i) + " has type " + textOf(t),
               "Convert it to " + textOf(narrowedTensor(t)) + " in the graph.");
    if (any)
      for (mlir::Operation *op : ops)
        visit(op);
    if (!refused.empty())
      throw Error(std::move(refused));
    if (!any)
      return;
    for (mlir::Operation *op : ops)
      rewrite(op);
    for (mlir::Operation *op : ops)
      replaceByNumber(op);
  }

private:
  mlir::func::FuncOp main;
  std::vector<mlir::Operation *> ops;
  ValueRanges ranges;
  llvm::DenseSet<mlir::Value> exact; // f64 values that f32 holds
  std::vector<Diagnostic> refused;

  static bool isWide(mlir::Operation *op) {
    return llvm::any_of(op->getResultTypes(), wideType) || llvm::any_of(op->getOperandTypes(), wideType);
  }

  void refuse(mlir::Location loc, std::string message, std::string advice) {
    refused.push_back(
        refusalAt(loc, "GRAPH-TYPE", std::move(message) + ", which the device does not hold", std::move(advice)));
  }

  bool fits(mlir::Value v) const {
    const mlir::Type wide = wideType(v.getType());
    if (!wide)
      return true;
    return wide.isF64() ? exact.contains(v) : ranges.fitsWord(v);
  }

  void visit(mlir::Operation *op) {
    ranges.visit(op);
    if (!isWide(op))
      return;
    for (mlir::Value v : op->getResults())
      if (v.getType() != narrowedTensor(v.getType()) && wideType(v.getType()).isF64() && holdsNarrow(op))
        exact.insert(v);
    const std::string name = op->getName().getStringRef().str();
    const bool operandsFit = llvm::all_of(op->getOperands(), [&](mlir::Value v) { return fits(v); });
    if (!operandsFit)
      return; // said where they are made
    const bool floats = llvm::any_of(op->getOperandTypes(), [](mlir::Type t) { return wideType(t) && wideType(t).isF64(); });
    const bool known = floats ? llvm::is_contained(kFloat, opName(op))
                              : llvm::is_contained(kInteger, opName(op)) || !llvm::any_of(op->getOperandTypes(), wideType);
    for (mlir::Value v : op->getResults())
      if (!fits(v)) {
        refuse(
            op->getLoc(), "`" + name + "` gives " + textOf(v.getType()),
            wideType(v.getType()).isF64()
                ? "Compute in f32: only f64 values that are copies of narrower ones are narrowed."
                : "Compute in i32: it is narrowed only where its range is proved to fit, from constants, counts and types.");
        return;
      }
    if (!known)
      refuse(op->getLoc(), "`" + name + "` takes 64-bit operands", "Use 32-bit types.");
  }

  // Whether f64 results are values of f32.
  bool holdsNarrow(mlir::Operation *op) const {
    if (opName(op) == "constant") {
      const std::optional<Elements> e = elementsOf(op);
      if (!e)
        return false;
      return llvm::all_of(
          e->values, [](const Number &n) { return std::isnan(n.f) || static_cast<double>(static_cast<float>(n.f)) == n.f; });
    }
    if (!llvm::is_contained(kFloat, opName(op)))
      return false;
    for (mlir::Value v : op->getOperands()) {
      const mlir::Type t = elementOf(v);
      if (t.isF64() && !exact.contains(v))
        return false;
      if (opName(op) != "convert" || isFloatType(t))
        continue;
      const std::optional<Range> r = ranges.of(v);
      if (!r || !r->within(-(1 << 24), 1 << 24))
        return false;
    }
    return true;
  }

  // What can only be one number is that number: the upper half of an index.
  void replaceByNumber(mlir::Operation *op) {
    if (op->getNumResults() != 1 || opName(op) == "constant" || elementsOf(op->getResult(0)) == 0)
      return;
    mlir::Value v = op->getResult(0);
    if (const auto t = llvm::dyn_cast<mlir::IntegerType>(elementOf(v)); !t || t.getWidth() != 32)
      return;
    if (const std::optional<Range> r = ranges.of(v); r && r->low == r->high) {
      GraphBuilder g(op);
      v.replaceAllUsesWith(g.number(static_cast<double>(r->low), v));
    }
  }

  static void rewrite(mlir::Operation *op) {
    if (opName(op) == "constant" && wideType(op->getResult(0).getType())) {
      const auto type = llvm::cast<mlir::RankedTensorType>(narrowedTensor(op->getResult(0).getType()));
      const auto value = llvm::cast<mlir::DenseElementsAttr>(op->getAttr("value"));
      mlir::DenseElementsAttr made;
      if (wideType(value.getType()).isF64()) {
        std::optional<Elements> e = elementsOf(op);
        e->type = type;
        made = attributeOf(*e);
      } else {
        made = value.mapValues(type.getElementType(), [](const llvm::APInt &n) { return n.trunc(32); });
      }
      op->setAttr("value", made);
    }
    for (mlir::Value v : op->getResults())
      v.setType(narrowedTensor(v.getType()));
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &block : region) {
        for (mlir::Value v : block.getArguments())
          v.setType(narrowedTensor(v.getType()));
        if (opName(op) != "while" && opName(op) != "if" && opName(op) != "case")
          for (mlir::Operation &inner : block)
            rewrite(&inner);
      }
  }
};

} // namespace

void narrowTypes(mlir::func::FuncOp main) { Narrowing(main).run(); }

} // namespace glia::emit
