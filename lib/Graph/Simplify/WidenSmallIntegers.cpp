#include "WidenSmallIntegers.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "Graph/Analysis/Refusal.h"
#include "Graph/Decompose/Pairs.h"
#include "glia/Lower/Family.h"

#include "llvm/ADT/DenseMap.h"

namespace glia::emit {

namespace {

using Value = mlir::Value;
constexpr unsigned kHeld = 8; // bits

mlir::IntegerType smallOf(mlir::Type type) {
  const auto i = llvm::dyn_cast<mlir::IntegerType>(mlir::getElementTypeOrSelf(type));
  return i && i.getWidth() > 1 && i.getWidth() < kHeld ? i : mlir::IntegerType();
}
mlir::Type heldAs(mlir::Type type) {
  const auto small = smallOf(type);
  const auto t = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return small && t ? mlir::RankedTensorType::get(t.getShape(),
                                                  mlir::IntegerType::get(type.getContext(), kHeld, small.getSignedness()))
                    : type;
}

// What gives nothing but values that are in range if its operands are.
bool staysInRange(mlir::Operation *op) {
  constexpr llvm::StringLiteral kNames[] = {"constant",
                                            "reshape",
                                            "transpose",
                                            "slice",
                                            "broadcast_in_dim",
                                            "broadcast",
                                            "reverse",
                                            "concatenate",
                                            "pad",
                                            "gather",
                                            "select",
                                            "dynamic_slice",
                                            "dynamic_update_slice",
                                            "maximum",
                                            "minimum",
                                            "clamp",
                                            "and",
                                            "or",
                                            "xor",
                                            "sign",
                                            "remainder",
                                            "sort",
                                            "while",
                                            "if",
                                            "case",
                                            "optimization_barrier",
                                            "all_gather",
                                            "all_to_all",
                                            "collective_permute",
                                            "collective_broadcast"};
  return llvm::is_contained(kNames, opName(op));
}

// A body that is one operation combines as its operation does: the results are brought back to range, once.
bool isOneOperation(mlir::Region &body) { return body.hasOneBlock() && body.front().getOperations().size() == 2; }

class Widening {
public:
  explicit Widening(mlir::func::FuncOp main) : main(main) {}

  void run() {
    std::vector<mlir::Operation *> ops;
    main.walk([&](mlir::Operation *op) {
      if (op != main && touches(op))
        ops.push_back(op);
    });
    if (ops.empty() && llvm::none_of(main.getArgumentTypes(), smallOf))
      return;
    for (mlir::Operation *op : ops)
      check(op);
    if (!refused.empty())
      throw Error(std::move(refused));
    std::vector<mlir::IntegerType> results;
    for (mlir::Type t : main.getResultTypes())
      results.push_back(smallOf(t));
    for (mlir::Operation *op : ops)
      noteTypes(op);
    arguments();
    for (mlir::Operation *op : ops)
      widen(op);
    mlir::Operation *end = main.getBody().front().getTerminator();
    GraphBuilder last(end);
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i])
        end->setOperand(static_cast<unsigned>(i), masked(last, end->getOperand(static_cast<unsigned>(i)), results[i]));
    updateType(main);
  }

private:
  mlir::func::FuncOp main;
  std::vector<Diagnostic> refused;
  struct Types {
    mlir::IntegerType operand;                       // the first
    llvm::SmallVector<mlir::IntegerType, 1> results; // null: not small
  };
  llvm::DenseMap<mlir::Operation *, Types> types;

  static bool touches(mlir::Operation *op) {
    if (llvm::any_of(op->getOperandTypes(), smallOf) || llvm::any_of(op->getResultTypes(), smallOf))
      return true;
    for (mlir::Region &r : op->getRegions())
      for (mlir::Block &b : r)
        if (llvm::any_of(b.getArgumentTypes(), smallOf))
          return true;
    return false;
  }

  void check(mlir::Operation *op) {
    const llvm::StringRef name = opName(op);
    const auto widthOf = [](mlir::Type t) {
      const auto i = llvm::dyn_cast<mlir::IntegerType>(mlir::getElementTypeOrSelf(t));
      return i ? i.getWidth() : 0;
    };
    const bool bits =
        name == "bitcast_convert" && widthOf(op->getOperand(0).getType()) != widthOf(op->getResult(0).getType());
    if (bits || name == "custom_call" || name == "rng_bit_generator" || name == "rng")
      refused.push_back(refusalAt(op->getLoc(), "GRAPH-TYPE",
                                  "stablehlo." + name.str() + " takes or gives integers of 2 or 4 bits" +
                                      (bits ? ", as bits of another type" : ""),
                                  "Use 8-bit integers there, and convert."));
  }

  void noteTypes(mlir::Operation *op) {
    Types &t = types[op];
    if (op->getNumOperands())
      t.operand = smallOf(op->getOperand(0).getType());
    for (mlir::Type r : op->getResultTypes())
      t.results.push_back(smallOf(r));
  }

  // The lower bits, the others 0.
  static Value masked(GraphBuilder &g, Value x, mlir::IntegerType small) {
    return g.binary("and", x, g.number((1 << small.getWidth()) - 1, x));
  }
  // The lower bits, the others like the uppermost of them.
  static Value extended(GraphBuilder &g, Value x, mlir::IntegerType small) {
    const Value by = g.number(kHeld - small.getWidth(), x);
    return g.binary("shift_right_arithmetic", g.binary("shift_left", x, by), by);
  }
  // The lower bits as a number.
  static Value wrapped(GraphBuilder &g, Value x, mlir::IntegerType small) {
    return small.isUnsigned() ? masked(g, x, small) : extended(g, x, small);
  }

  void arguments() {
    mlir::Block &body = main.getBody().front();
    GraphBuilder g(&body.front());
    for (mlir::BlockArgument a : main.getArguments())
      if (const mlir::IntegerType small = smallOf(a.getType())) {
        a.setType(heldAs(a.getType()));
        replaceUses(a, [&] { return wrapped(g, a, small); });
      }
  }

  // Whoever used it before uses what is made of it.
  template <typename F> static void replaceUses(Value v, F make) {
    llvm::SmallVector<mlir::OpOperand *> uses;
    for (mlir::OpOperand &use : v.getUses())
      uses.push_back(&use);
    const Value made = make();
    for (mlir::OpOperand *use : uses)
      use->set(made);
  }

  void widen(mlir::Operation *op) {
    if (auto c = llvm::dyn_cast<graph::ConstantOp>(op))
      c.setValueAttr(constantOf(c.getValue()));
    for (Value r : op->getResults())
      r.setType(heldAs(r.getType()));
    for (mlir::Region &r : op->getRegions())
      for (mlir::Block &b : r)
        for (mlir::BlockArgument a : b.getArguments())
          a.setType(heldAs(a.getType()));
    const Types &small = types[op];
    lookAtBits(op, small.operand);
    mlir::Operation *around = op->getParentOp();
    const bool inBody = !llvm::isa<mlir::func::FuncOp>(around) && opName(around) != "while" && opName(around) != "if" &&
                        opName(around) != "case";
    if (staysInRange(op) || (inBody && isOneOperation(*op->getParentRegion())))
      return;
    for (const auto &[r, to] : llvm::zip(op->getResults(), small.results))
      if (to)
        replaceUses(r, [&, r = r, to = to] {
          GraphBuilder g(op);
          g.b.setInsertionPointAfter(op);
          const bool saturates = opName(op) == "convert" && llvm::isa<mlir::FloatType>(elementOf(op->getOperand(0)));
          return saturates ? limited(g, r, to) : wrapped(g, r, to);
        });
  }

  // Whatever counts bits, or takes some away at the upper end, sees no more of them than there are.
  static void lookAtBits(mlir::Operation *op, mlir::IntegerType small) {
    const llvm::StringRef name = opName(op);
    GraphBuilder g(op);
    if (small && name == "shift_right_arithmetic") // the uppermost bit comes in, with or without a sign
      op->setOperand(0, extended(g, op->getOperand(0), small));
    if (!small || (name != "popcnt" && name != "count_leading_zeros" && name != "shift_right_logical"))
      return;
    Value x = masked(g, op->getOperand(0), small);
    if (const unsigned more = kHeld - small.getWidth(); name == "count_leading_zeros") // ones behind them end the zeros
      x = g.binary("or", g.binary("shift_left", x, g.number(more, x)), g.number((1 << more) - 1, x));
    op->setOperand(0, x);
  }

  // A float that no such integer holds becomes the nearest one.
  static Value limited(GraphBuilder &g, Value x, mlir::IntegerType small) {
    const unsigned w = small.getWidth();
    const double low = small.isUnsigned() ? 0 : -(1 << (w - 1)),
                 high = small.isUnsigned() ? (1 << w) - 1 : (1 << (w - 1)) - 1;
    return g.binary("minimum", g.binary("maximum", x, g.number(low, x)), g.number(high, x));
  }

  static mlir::DenseElementsAttr constantOf(mlir::ElementsAttr value) {
    const auto small = smallOf(value.getElementType());
    const auto dense = llvm::cast<mlir::DenseElementsAttr>(value);
    return dense.mapValues(mlir::getElementTypeOrSelf(heldAs(value.getShapedType())),
                           [&](const llvm::APInt &x) { return small.isUnsigned() ? x.zext(kHeld) : x.sext(kHeld); });
  }
};

} // namespace

void widenSmallIntegers(mlir::func::FuncOp main) { Widening(main).run(); }

} // namespace glia::emit
