#include "SplitComplex.h"
#include "ComplexArithmetic.h"
#include "Graph/Analysis/GraphFacts.h"
#include "Pairs.h"
#include "ReduceTree.h"
#include "Graph/Analysis/Refusal.h"
#include "glia/Lower/Family.h"
#include "glia/Support/Diagnostic.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"

namespace glia::emit {

namespace {

using Value = mlir::Value;

bool isComplex(mlir::Type type) { return llvm::isa<mlir::ComplexType>(mlir::getElementTypeOrSelf(type)); }
bool isComplex(Value v) { return isComplex(v.getType()); }
// The type of a part; any other type is itself.
mlir::Type realOf(mlir::Type type) {
  const auto t = llvm::dyn_cast<mlir::RankedTensorType>(type);
  const auto c = t ? llvm::dyn_cast<mlir::ComplexType>(t.getElementType()) : mlir::ComplexType();
  return c ? mlir::RankedTensorType::get(t.getShape(), c.getElementType()) : type;
}

// Operations that do to each part what they do to the whole.
bool actsOnParts(mlir::Operation *op) {
  constexpr llvm::StringLiteral kNames[] = {
      "reshape", "transpose", "slice",         "broadcast_in_dim",     "broadcast",         "reverse", "concatenate", "pad",
      "gather",  "select",    "dynamic_slice", "dynamic_update_slice", "torch_index_select"};
  return llvm::is_contained(kNames, opName(op));
}

bool isControl(mlir::Operation *op) {
  const llvm::StringRef name = opName(op);
  return name == "while" || name == "if" || name == "case" || name == "optimization_barrier";
}

// The operation that is all of a body of two arguments; empty if it gives back the second; nullopt if it is more.
std::optional<std::string> soleOperation(mlir::Region &body) {
  mlir::Block &block = body.front();
  if (block.getNumArguments() != 2 || block.getTerminator()->getNumOperands() != 1)
    return std::nullopt;
  const Value made = block.getTerminator()->getOperand(0), a = block.getArgument(0), b = block.getArgument(1);
  if (made == b)
    return std::string();
  mlir::Operation *op = made.getDefiningOp();
  const bool both =
      op && op->getNumOperands() == 2 &&
      ((op->getOperand(0) == a && op->getOperand(1) == b) || (op->getOperand(0) == b && op->getOperand(1) == a));
  return both ? std::optional(opName(op).str()) : std::nullopt;
}

class Splitting {
public:
  explicit Splitting(mlir::func::FuncOp main) : main(main) {}

  void run() {
    mlir::Block &body = main.getBody().front();
    GraphBuilder g(&body.front());
    for (mlir::BlockArgument a : main.getArguments())
      if (isComplex(a)) {
        checkWidth(a, main);
        const Value old = retype(main, a, pairsOf(a.getType(), partType(a)));
        made[old] = {partOf(g, a, 0), partOf(g, a, 1)};
        done.push_back(old.getDefiningOp());
      }
    split(body);
    if (!refused.empty())
      throw Error(std::move(refused));
    mlir::Operation *end = body.getTerminator();
    GraphBuilder last(end);
    for (mlir::OpOperand &o : end->getOpOperands())
      if (isComplex(o.get()))
        o.set(paired(last, made[o.get()].re, made[o.get()].im));
    updateType(main);
    for (mlir::Operation *op : done) // users stand behind, or in loops that were taken apart
      op->dropAllUses();
    for (mlir::Operation *op : llvm::reverse(done))
      op->erase();
  }

private:
  mlir::func::FuncOp main;
  llvm::DenseMap<Value, Parts> made;
  std::vector<mlir::Operation *> done; // what is written in parts, and what stands for arguments as they were
  std::vector<Diagnostic> refused;

  static mlir::Type partType(Value v) {
    return llvm::cast<mlir::ComplexType>(mlir::getElementTypeOrSelf(v.getType())).getElementType();
  }

  void refuse(mlir::Operation *op, std::string message, std::string advice) {
    refused.push_back(refusalAt(op->getLoc(), "GRAPH-TYPE", std::move(message), std::move(advice)));
  }
  bool checkWidth(Value v, mlir::Operation *op) {
    if (!isComplex(v) || partType(v).isF32())
      return true;
    refuse(op, "complex numbers of f64", "Use complex<f32>: complex64 in JAX and NumPy.");
    return false;
  }

  void split(mlir::Block &block) {
    std::vector<mlir::Operation *> ops;
    for (mlir::Operation &op : block.without_terminator())
      if (op.getNumResults() == 0 || !made.contains(op.getResult(0))) // it stands for an argument
        ops.push_back(&op);
    for (mlir::Operation *op : ops) {
      const auto complex = [](Value v) { return isComplex(v); };
      const bool own = llvm::any_of(op->getOperands(), complex) || llvm::any_of(op->getResults(), complex);
      if (isControl(op))
        splitControl(op);
      else if (own)
        splitOperation(op);
    }
  }

  void splitOperation(mlir::Operation *op) {
    for (Value v : op->getResults())
      if (!checkWidth(v, op))
        return;
    for (Value v : op->getOperands())
      if (isComplex(v) && !made.contains(v))
        return; // said where it is made
    GraphBuilder g(op);
    if (llvm::all_of(op->getResults(), isEmpty) && mlir::isMemoryEffectFree(op))
      giveNothing(g, op);
    else if (write(g, op))
      done.push_back(op);
    else
      refuse(
          op, "`" + op->getName().getStringRef().str() + "` on complex numbers",
          "Arithmetic, exponentials, logarithms, roots, circular and hyperbolic functions, sums, products and movement are "
          "there; write it in those, or of real and imaginary parts.");
  }

  // Whatever it is: without elements there is nothing to compute.
  void giveNothing(GraphBuilder &g, mlir::Operation *op) {
    for (Value v : op->getResults()) {
      const Value part = g.number(0, llvm::cast<mlir::RankedTensorType>(realOf(v.getType())));
      if (isComplex(v))
        made[v] = {part, part};
      else
        v.replaceAllUsesWith(part);
    }
    done.push_back(op);
  }

  // ---- loops and branches: two values in the place of one ---------------------------------------------------------------------

  std::vector<Value> expanded(mlir::ValueRange values) {
    std::vector<Value> out;
    for (Value v : values)
      if (isComplex(v) && made.contains(v)) {
        out.push_back(made[v].re);
        out.push_back(made[v].im);
      } else {
        out.push_back(v);
      }
    return out;
  }
  static std::vector<mlir::Type> expanded(mlir::TypeRange types) {
    std::vector<mlir::Type> out;
    for (mlir::Type t : types)
      out.insert(out.end(), isComplex(t) ? 2 : 1, realOf(t));
    return out;
  }

  void splitControl(mlir::Operation *op) {
    for (Value v : op->getOperands())
      if (isComplex(v) && !made.contains(v))
        return; // said where it is made
    const auto complex = [](Value v) { return isComplex(v); };
    const bool signature = llvm::any_of(op->getOperands(), complex) || llvm::any_of(op->getResults(), complex);
    mlir::Operation *now = op;
    if (signature) {
      mlir::OpBuilder b(op);
      mlir::OperationState state(op->getLoc(), op->getName().getStringRef(), expanded(op->getOperands()),
                                 expanded(op->getResultTypes()), op->getAttrs());
      for (mlir::Region &r : op->getRegions())
        state.addRegion()->takeBody(r);
      now = b.create(state);
      unsigned at = 0;
      for (Value v : op->getResults())
        if (isComplex(v)) {
          made[v] = {now->getResult(at), now->getResult(at + 1)};
          at += 2;
        } else {
          v.replaceAllUsesWith(now->getResult(at++));
        }
      done.push_back(op);
    }
    for (mlir::Region &r : now->getRegions())
      splitRegion(r);
  }

  void splitRegion(mlir::Region &region) {
    mlir::Block &block = region.front();
    for (unsigned i = 0; i < block.getNumArguments(); ++i) {
      const mlir::BlockArgument a = block.getArgument(i);
      if (!isComplex(a))
        continue;
      const mlir::Type part = realOf(a.getType());
      const Value re = block.insertArgument(i + 1, part, a.getLoc()), im = block.insertArgument(i + 2, part, a.getLoc());
      GraphBuilder g(&block.front());
      Value whole = g.make("complex", {re, im}, a.getType()); // stands for the argument as it was
      block.getArgument(i).replaceAllUsesWith(whole);
      made[whole] = {re, im};
      done.push_back(whole.getDefiningOp());
      block.eraseArgument(i);
      ++i; // over the second part
    }
    split(block);
    mlir::Operation *end = block.getTerminator();
    end->setOperands(expanded(end->getOperands()));
  }

  // ---- operations -------------------------------------------------------------------------------------------------------------

  bool give(mlir::Operation *op, Parts parts) {
    if (!parts.re)
      return false;
    made[op->getResult(0)] = parts;
    return true;
  }
  static bool replace(mlir::Operation *op, Value by) {
    op->getResult(0).replaceAllUsesWith(by);
    return true;
  }

  // One part of each complex operand, by `parts` in their order; the last for all that follow.
  Value writeParts(GraphBuilder &g, mlir::Operation *op, llvm::ArrayRef<int> parts) {
    std::vector<Value> operands;
    for (auto [i, v] : llvm::enumerate(op->getOperands())) {
      const int which = parts[std::min(i, parts.size() - 1)];
      operands.push_back(!isComplex(v) ? v : which ? made[v].im : made[v].re);
    }
    mlir::OperationState state(op->getLoc(), op->getName().getStringRef(), operands, {realOf(op->getResult(0).getType())},
                               op->getAttrs());
    if (op->getNumRegions() == 1)
      writeBody(g, op->getRegion(0), *state.addRegion());
    return g.b.create(state)->getResult(0);
  }

  // The same body of real numbers; it is a sum, or gives back its second argument.
  static void writeBody(GraphBuilder &g, mlir::Region &from, mlir::Region &to) {
    const mlir::OpBuilder::InsertionGuard guard(g.b);
    const mlir::Type part = realOf(from.front().getArgument(0).getType());
    mlir::Block *block = g.b.createBlock(&to, {}, {part, part}, {g.loc, g.loc});
    const std::string name = *soleOperation(from);
    const Value b = block->getArgument(1);
    mlir::OperationState end(g.loc, "stablehlo.return");
    end.addOperands(name.empty() ? b : g.binary(name, block->getArgument(0), b));
    g.b.create(end);
  }

  // (a + bi)(c + di)
  bool writeProducts(GraphBuilder &g, mlir::Operation *op) {
    const Value rr = writeParts(g, op, {0, 0}), ii = writeParts(g, op, {1, 1});
    const Value ri = writeParts(g, op, {0, 1}), ir = writeParts(g, op, {1, 0});
    return give(op, {g.subtract(rr, ii), g.add(ri, ir)});
  }

  bool writeReduce(GraphBuilder &g, mlir::Operation *op) {
    const std::optional<std::string> how = op->getNumResults() == 1 ? soleOperation(op->getRegion(0)) : std::nullopt;
    if (how == "add")
      return give(op, {writeParts(g, op, {0}), writeParts(g, op, {1})});
    auto reduce = llvm::dyn_cast<graph::ReduceOp>(op);
    if (how != "multiply" || !reduce)
      return false;
    const Parts x = made[op->getOperand(0)], start = made[op->getOperand(1)];
    ComplexArithmetic arithmetic(g);
    const llvm::SmallVector<Value> product =
        reducedByTree(g, {x.re, x.im}, {start.re, start.im}, reduce.getDimensions(),
                      [&](mlir::ValueRange a, mlir::ValueRange b) -> llvm::SmallVector<Value> {
                        const Parts p = arithmetic.multiply({a[0], a[1]}, {b[0], b[1]});
                        return {p.re, p.im};
                      });
    return give(op, {product[0], product[1]});
  }

  static Parts constantParts(GraphBuilder &g, mlir::Operation *op) {
    const auto value = llvm::cast<mlir::DenseElementsAttr>(op->getAttr("value"));
    const auto type = llvm::cast<mlir::RankedTensorType>(realOf(value.getType()));
    std::vector<llvm::APFloat> re, im;
    if (value.isSplat()) {
      const auto z = value.getSplatValue<std::complex<llvm::APFloat>>();
      return {g.constant(mlir::DenseElementsAttr::get(type, z.real())),
              g.constant(mlir::DenseElementsAttr::get(type, z.imag()))};
    }
    for (const std::complex<llvm::APFloat> &z : value.getValues<std::complex<llvm::APFloat>>()) {
      re.push_back(z.real());
      im.push_back(z.imag());
    }
    return {g.constant(mlir::DenseElementsAttr::get(type, re)), g.constant(mlir::DenseElementsAttr::get(type, im))};
  }

  bool writeConvert(GraphBuilder &g, mlir::Operation *op) {
    const Value from = op->getOperand(0), to = op->getResult(0);
    if (isComplex(from) && isComplex(to))
      return give(op, made[from]);
    if (isComplex(from)) // to i1: whether it is not zero
      return replace(op, elementOf(to).isInteger(1)
                             ? ComplexArithmetic(g).compare(graph::ComparisonDirection::NE, made[from], zeros(g, made[from]))
                             : g.convert(made[from].re, elementOf(to)));
    const Value re = g.convert(from, partType(to));
    return give(op, {re, g.number(0, re)});
  }
  static Parts zeros(GraphBuilder &g, Parts like) { return {g.number(0, like.re), g.number(0, like.im)}; }

  // False if it has no form in parts.
  bool write(GraphBuilder &g, mlir::Operation *op) {
    const llvm::StringRef name = opName(op);
    if (op->getNumResults() != 1)
      return false;
    if (name == "constant")
      return give(op, constantParts(g, op));
    if (name == "complex")
      return give(op, {op->getOperand(0), op->getOperand(1)});
    if (name == "iota") {
      const Value re = writeParts(g, op, {0});
      return give(op, {re, g.number(0, re)});
    }
    if (name == "convert")
      return writeConvert(g, op);
    if (name == "dot_general" || name == "dot" || name == "convolution")
      return writeProducts(g, op);
    if (name == "reduce" || name == "reduce_window")
      return writeReduce(g, op);
    if (name == "scatter") {
      const std::optional<std::string> how = soleOperation(op->getRegion(0));
      return how && (how->empty() || *how == "add") && give(op, {writeParts(g, op, {0}), writeParts(g, op, {1})});
    }
    if (actsOnParts(op))
      return give(op, {writeParts(g, op, {0}), writeParts(g, op, {1})});
    return writeElements(g, op, name);
  }

  bool writeElements(GraphBuilder &g, mlir::Operation *op, llvm::StringRef name) {
    if (!llvm::all_of(op->getOperands(), [](Value v) { return isComplex(v); }))
      return false;
    const Parts a = made[op->getOperand(0)];
    ComplexArithmetic arithmetic(g);
    if (name == "real")
      return replace(op, a.re);
    if (name == "imag")
      return replace(op, a.im);
    if (name == "abs")
      return replace(op, arithmetic.size(a));
    if (op->getNumOperands() == 1)
      return give(op, arithmetic.function(name, a));
    const Parts b = made[op->getOperand(1)];
    if (auto compare = llvm::dyn_cast<graph::CompareOp>(op)) {
      const graph::ComparisonDirection how = compare.getComparisonDirection();
      return (how == graph::ComparisonDirection::EQ || how == graph::ComparisonDirection::NE) &&
             replace(op, arithmetic.compare(how, a, b));
    }
    if (name == "add")
      return give(op, arithmetic.add(a, b));
    if (name == "subtract")
      return give(op, arithmetic.subtract(a, b));
    if (name == "multiply")
      return give(op, arithmetic.multiply(a, b));
    if (name == "divide")
      return give(op, arithmetic.divide(a, b));
    if (name == "power")
      return give(op, arithmetic.power(a, b));
    return false;
  }
};

} // namespace

void splitComplex(mlir::func::FuncOp main) {
  bool any = false;
  main.walk([&](mlir::Operation *op) {
    const auto complex = [](mlir::Type t) { return isComplex(t); };
    any |= llvm::any_of(op->getOperandTypes(), complex) || llvm::any_of(op->getResultTypes(), complex);
  });
  if (any || llvm::any_of(main.getArgumentTypes(), [](mlir::Type t) { return isComplex(t); }))
    Splitting(main).run();
}

} // namespace glia::emit
