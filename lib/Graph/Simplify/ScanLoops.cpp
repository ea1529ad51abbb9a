// jax.lax.scan whose body is h = a h + b, a and b not depending on any h, in each element: a recurrence (Recurrence.h) of all a and all
// b. These, and what is made of each h, are computed for all iterations at once (StackedBody.h). Also h = h + b, h = a h, max(h, b), min(h, b), and
// max(h + a, b), min(h + a, b); integers: h + b, maxima and minima. Several carried values, if each depends on itself and on those before it only.
//
// Error: h = (h + x) a becomes a h + a x, and h + d (x - h) becomes (1 - d) h + d x, with a rounding more each, of the size of those that
// made h. In types narrower than f32 the state stays fp32 between steps: fewer roundings than the loop has.
// Special values: those of the loop, step by step, where its body is a h + b as it stands. Distributed factors may overflow, or be infinity times 0, where the
// loop's sum cancels before it is multiplied.
#include "ScanLoops.h"
#include "Graph/Analysis/Recurrence.h"
#include "Graph/Analysis/StackedBody.h"
#include "glia/Lower/Family.h"

namespace glia::emit {

namespace {

constexpr int64_t kShortest = 8;
constexpr int64_t kMostElements = int64_t{1} << 28; // of all iterations of one value

using mlir::Value;

class LoopScan {
public:
  LoopScan(GraphBuilder &g, const CountedLoop &loop)
      : g(g), loop(loop), body(loop.op->getRegion(1).front()), stack(g, loop) {}

  // What the loop gives; empty if it is not of this kind.
  std::vector<Value> run() {
    std::vector<unsigned> carried;
    for (unsigned i = 0; i < body.getNumArguments(); ++i) {
      const Value next = yielded(i);
      if (!llvm::isa<mlir::RankedTensorType>(next.getType()) ||
          typeOf(next).getNumElements() > kMostElements / std::max<int64_t>(loop.count, 1))
        if (!isRows(i) && next != body.getArgument(i))
          return {};
      if (i != loop.counter && next != body.getArgument(i) && !isRows(i))
        carried.push_back(i);
    }
    if (carried.empty())
      return {};
    for (bool again = true; again && !carried.empty();) {
      again = false;
      for (size_t k = 0; k < carried.size(); ++k)
        if (resolve(carried[k])) {
          carried.erase(carried.begin() + static_cast<long>(k));
          again = true;
          break;
        }
    }
    return carried.empty() ? results() : std::vector<Value>();
  }

private:
  using Stacked = StackedBody::Stacked;
  GraphBuilder &g;
  CountedLoop loop;
  mlir::Block &body;
  StackedBody stack;
  llvm::DenseMap<unsigned, Value> states; // of carried values, behind each iteration

  Value yielded(unsigned i) const { return body.getTerminator()->getOperand(i); }

  // Rows that the iterations write one after the other, all of them.
  graph::DynamicUpdateSliceOp rowsOf(unsigned i) const {
    auto update = yielded(i).getDefiningOp<graph::DynamicUpdateSliceOp>();
    const Value argument = body.getArgument(i);
    if (!update || update->getOperand(0) != argument || !argument.hasOneUse() || !update->getResult(0).hasOneUse() ||
        typeOf(argument).getRank() == 0 || typeOf(argument).getDimSize(0) != loop.count)
      return {};
    const llvm::ArrayRef<int64_t> row = typeOf(update->getOperand(1)).getShape(), all = typeOf(argument).getShape();
    return row.front() == 1 && row.drop_front() == all.drop_front() ? update : graph::DynamicUpdateSliceOp();
  }
  bool isRows(unsigned i) const { return static_cast<bool>(rowsOf(i)); }

  // ---- one carried value ------------------------------------------------------------------------------------------------------
  // factor * carried + term; nothing: 1, 0.
  struct Linear {
    std::optional<Stacked> factor, term;
  };

  std::optional<Stacked> apply(llvm::StringRef op, const std::optional<Stacked> &x, const std::optional<Stacked> &y) {
    Value a = x->value, b = y->value;
    const bool steps = x->perStep || y->perStep;
    if (steps) {
      a = stack.perStep(*x);
      b = stack.perStep(*y);
    }
    return a.getType() == b.getType() ? std::optional(Stacked{g.binary(op, a, b), steps}) : std::nullopt;
  }
  std::optional<Stacked> negated(const std::optional<Stacked> &x) {
    return x ? std::optional(Stacked{g.unary("negate", x->value), x->perStep}) : std::nullopt;
  }
  std::optional<Stacked> orOne(const std::optional<Stacked> &x, Value like) {
    return x ? x : std::optional(Stacked{g.number(1, typeOf(like)), false});
  }

  std::optional<Linear> linear(Value v, Value carried) {
    if (v == carried)
      return Linear{};
    mlir::Operation *op = v.getDefiningOp();
    if (!op || op->getBlock() != &body || v.getType() != carried.getType())
      return std::nullopt;
    const llvm::StringRef name = opName(op);
    if (name == "negate") {
      const std::optional<Linear> x = linear(op->getOperand(0), carried);
      if (!x)
        return std::nullopt;
      return Linear{negated(orOne(x->factor, carried)), negated(x->term)};
    }
    if (name != "add" && name != "subtract" && name != "multiply")
      return std::nullopt;
    const Value left = op->getOperand(0), right = op->getOperand(1);
    const std::optional<Stacked> a = stack.of(left), b = stack.of(right);
    if (a && b)
      return std::nullopt; // does not depend on what is carried
    const std::optional<Linear> x = a ? std::nullopt : linear(left, carried), y = b ? std::nullopt : linear(right, carried);
    if ((!a && !x) || (!b && !y))
      return std::nullopt;
    if (name == "multiply") {
      if (x && y)
        return std::nullopt;
      const Linear &l = x ? *x : *y;
      const std::optional<Stacked> &s = x ? b : a;
      return Linear{l.factor ? apply("multiply", l.factor, s) : s, l.term ? apply("multiply", l.term, s) : std::nullopt};
    }
    const bool minus = name == "subtract";
    const std::optional<Stacked> first = x ? x->term : a, second = y ? y->term : b;
    Linear out;
    out.term = !second ? first : !first ? (minus ? negated(second) : second) : apply(name, first, second);
    if (x && y)
      out.factor = apply(name, orOne(x->factor, carried), orOne(y->factor, carried));
    else
      out.factor = x ? x->factor : minus ? negated(orOne(y->factor, carried)) : y->factor;
    if ((x && y && !out.factor) || ((first || second) && !out.term))
      return std::nullopt;
    return out;
  }

  Value all(const std::optional<Stacked> &s, double number, Value like) {
    if (s)
      return stack.perStep(*s);
    return stack.perStep({g.number(number, typeOf(like)), false});
  }
  Value everywhere(Value start) { return stack.perStep({start, false}); }

  bool resolve(unsigned i) {
    const Value carried = body.getArgument(i), start = loop.op->getOperand(i), next = yielded(i);
    const Value states = statesOf(carried, start, next);
    if (!states)
      return false;
    this->states[i] = states;
    stack.set(next, {states, true});
    // What an iteration reads: the state behind the one before.
    std::vector<int64_t> first{1};
    llvm::append_range(first, typeOf(start).getShape());
    const Value begin = g.reshape(start, first);
    const Value before = loop.backward ? g.concatenate({g.slice(states, 0, 1, loop.count), begin}, 0)
                                       : g.concatenate({begin, g.slice(states, 0, 0, loop.count - 1)}, 0);
    stack.set(carried, {before, true});
    return true;
  }

  Value statesOf(Value carried, Value start, Value next) {
    const mlir::Type element = elementOf(carried);
    const bool isFloat = llvm::isa<mlir::FloatType>(element) && !element.isF64();
    if (!isFloat && !llvm::isa<mlir::IntegerType>(element))
      return {};
    mlir::Operation *op = next.getDefiningOp();
    if (op && op->getBlock() == &body && (opName(op) == "maximum" || opName(op) == "minimum"))
      return extreme(op, carried, start, isFloat);
    if (element.isInteger(1))
      return {};
    const std::optional<Linear> l = linear(next, carried);
    if (!l || (!l->factor && !l->term))
      return {};
    if (!isFloat) {
      if (l->factor)
        return {};
      return g.add(runningFold(g, "add", all(l->term, 0, carried), 0, loop.backward), everywhere(start));
    }
    if (!l->factor && splatOf(start) == 0.0)
      return runningFold(g, "add", all(l->term, 0, carried), 0, loop.backward);
    if (!l->term && splatOf(start) == 1.0)
      return runningFold(g, "multiply", all(l->factor, 1, carried), 0, loop.backward);
    return makeRecurrence(
        g, {all(l->factor, 1, carried), all(l->term, -0.0, carried), start, 0, "multiply", "add", loop.backward});
  }

  Value extreme(mlir::Operation *op, Value carried, Value start, bool isFloat) {
    const llvm::StringRef name = opName(op);
    for (unsigned k : {0u, 1u}) {
      const std::optional<Stacked> term = stack.of(op->getOperand(1 - k));
      if (!term)
        continue;
      const Value with = op->getOperand(k);
      if (with == carried)
        return g.binary(name, runningFold(g, name, stack.perStep(*term), 0, loop.backward), everywhere(start));
      const std::optional<Linear> l = isFloat ? linear(with, carried) : std::nullopt;
      if (l && !l->factor && l->term)
        return makeRecurrence(g, {stack.perStep(*l->term), stack.perStep(*term), start, 0, "add", name, loop.backward});
    }
    return {};
  }

  // ---- what the loop gives ----------------------------------------------------------------------------------------------------
  std::vector<Value> results() {
    const int64_t last = loop.backward ? 0 : loop.count - 1;
    std::vector<Value> out;
    for (unsigned i = 0; i < body.getNumArguments(); ++i) {
      const Value argument = body.getArgument(i);
      if (i == loop.counter) {
        out.push_back(g.number(static_cast<double>(loop.count), typeOf(argument)));
      } else if (yielded(i) == argument) {
        out.push_back(loop.op->getOperand(i));
      } else if (const auto it = states.find(i); it != states.end()) {
        out.push_back(g.reshape(g.slice(it->second, 0, last, last + 1), typeOf(argument).getShape()));
      } else {
        graph::DynamicUpdateSliceOp update = rowsOf(i);
        const std::optional<bool> backward = isBackward(loop, update->getOperand(2));
        const std::optional<Stacked> row = stack.of(update->getOperand(1));
        if (!backward || !row)
          return {};
        const Value rows = g.reshape(stack.perStep(*row), typeOf(argument).getShape());
        out.push_back(*backward != loop.backward ? stack.reversed(rows) : rows);
      }
    }
    return out;
  }
};

} // namespace

void scanLoops(mlir::func::FuncOp main) {
  std::vector<mlir::Operation *> loops;
  main.walk([&](mlir::Operation *op) { // inner ones first
    if (opName(op) == "while")
      loops.push_back(op);
  });
  for (mlir::Operation *op : loops) {
    const std::optional<CountedLoop> loop = countedLoop(op);
    if (!loop || loop->count < kShortest)
      continue;
    GraphBuilder g(op);
    mlir::Operation *before = op->getPrevNode();
    const std::vector<Value> results = LoopScan(g, *loop).run();
    if (results.empty()) { // what was written on trial
      while (op->getPrevNode() != before)
        op->getPrevNode()->erase();
      continue;
    }
    op->replaceAllUsesWith(results);
    op->erase();
  }
}

} // namespace glia::emit
