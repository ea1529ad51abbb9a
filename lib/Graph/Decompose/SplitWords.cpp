#include "SplitWords.h"
#include "DecomposeWide.h"
#include "Pairs.h"
#include "Graph/Analysis/Refusal.h"
#include "Graph/Analysis/ValueRanges.h"
#include "WordArithmetic.h"
#include "glia/Lower/Family.h"
#include "glia/Support/Diagnostic.h"

#include "llvm/ADT/DenseMap.h"

namespace glia::emit {

namespace {

using Value = mlir::Value;

mlir::IntegerType wordy(mlir::Type type) {
  const auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  const auto t = tensor ? llvm::dyn_cast<mlir::IntegerType>(tensor.getElementType()) : mlir::IntegerType();
  return t && t.getWidth() == 64 ? t : mlir::IntegerType();
}
bool isSigned(mlir::Type type) { return !wordy(type).isUnsigned(); }

Words wordsOf(GraphBuilder &g, Value pairs) { return {partOf(g, pairs, 0), partOf(g, pairs, 1)}; }
Value asPairs(GraphBuilder &g, Words w) { return paired(g, w.low, w.high); }

// Operations that move elements, by how many of their operands hold what they move; the others say where.
std::optional<unsigned> moves(mlir::Operation *op) {
  constexpr std::pair<llvm::StringLiteral, unsigned> kKnown[] = {
      {"reshape", 1}, {"transpose", 1},     {"slice", 1},  {"broadcast_in_dim", 1},    {"reverse", 1},
      {"pad", 2},     {"dynamic_slice", 1}, {"gather", 1}, {"dynamic_update_slice", 2}};
  const llvm::StringRef name = opName(op);
  if (name == "concatenate")
    return op->getNumOperands();
  for (const auto &[known, count] : kKnown)
    if (name == known)
      return count;
  return std::nullopt;
}

class Splitting {
public:
  explicit Splitting(mlir::func::FuncOp main) : main(main) {}

  void run() {
    const std::vector<mlir::Operation *> ops = programOps(main);
    for (mlir::Operation *op : ops)
      ranges.visit(op);
    splitArguments();
    std::vector<mlir::Operation *> done;
    for (mlir::Operation *op : ops)
      if (concerns(op)) {
        if (split(op))
          done.push_back(op);
        else
          refuse(op);
      }
    if (!refused.empty())
      throw Error(std::move(refused));
    splitResults();
    for (const Control &c : controls)
      splitReturned(c);
    for (auto [old, now] : renamed)
      old.replaceAllUsesWith(now);
    for (mlir::Operation *op : llvm::reverse(done))
      op->erase();
    for (const Control &c : controls)
      eraseArguments(c);
    for (mlir::Operation *op : stands)
      op->erase();
  }

private:
  mlir::func::FuncOp main;
  ValueRanges ranges;
  llvm::DenseMap<Value, Words> made;
  std::vector<mlir::Operation *> stands; // for arguments as they were
  std::vector<Diagnostic> refused;
  struct Control { // a loop or a branch that gives words
    mlir::Operation *op;
    std::vector<bool> wide; // of its results as they were
  };
  std::vector<Control> controls;
  std::vector<std::pair<Value, Value>>
      renamed; // results of these that are not words; their ranges are known by the old ones

  // What is left of 64 bits behind the rewriting of an operation.
  void refuse(mlir::Operation *op) {
    if (!llvm::all_of(op->getOperands(), [&](Value v) { return known(v); }))
      return; // said where they are made
    const auto wide = [&](Value v) { return !fits(v); };
    if (llvm::none_of(op->getOperands(), wide) && llvm::none_of(op->getResults(), wide))
      return;
    refused.push_back(
        refusalAt(op->getLoc(), "GRAPH-TYPE",
                  "`" + op->getName().getStringRef().str() + "` on 64-bit integers that may need more than 32 bits",
                  "Compute it in i32, or let their range be seen: from constants, counts, types and remainders."));
  }

  bool fits(Value v) const { return ranges.fitsWord(v); }
  bool concerns(mlir::Operation *op) const {
    const auto wide = [&](Value v) { return !fits(v) || made.contains(v); };
    return llvm::any_of(op->getOperands(), wide) || llvm::any_of(op->getResults(), wide);
  }
  // Whether the words of a 64-bit value can be had.
  bool known(Value v) const { return made.contains(v) || fits(v); }

  void splitArguments() {
    GraphBuilder g(&main.getBody().front().front());
    for (mlir::BlockArgument a : main.getArguments())
      if (wordy(a.getType())) {
        const Value old = retype(main, a, pairsOf(a.getType(), g.b.getIntegerType(32, false)));
        made[old] = wordsOf(g, a);
        stands.push_back(old.getDefiningOp());
      }
    updateType(main);
  }

  void splitResults() {
    mlir::Operation *end = main.getBody().front().getTerminator();
    GraphBuilder g(end);
    for (mlir::OpOperand &o : end->getOpOperands())
      if (wordy(o.get().getType()))
        o.set(asPairs(g, words(g, o.get())));
    updateType(main);
  }

  Words words(GraphBuilder &g, Value v) {
    if (const auto found = made.find(v); found != made.end())
      return found->second;
    const mlir::Type word = g.b.getIntegerType(32, false);
    if (!isSigned(v.getType())) {
      const Value low = g.convert(v, word);
      return {low, g.number(0, low)};
    }
    const Value narrow = g.convert(v, g.b.getI32Type());
    const Value sign = g.binary("shift_right_arithmetic", narrow, g.number(31, narrow));
    return {g.bitcast(narrow, word), g.bitcast(sign, word)};
  }

  // The value of words that are proved to fit into one, and its range, said again for those that come after.
  Value narrow(GraphBuilder &g, Words w, Value result) {
    const std::optional<Range> r = ranges.of(result);
    Value v = wordy(result.getType()).isUnsigned() ? w.low : g.bitcast(w.low, g.b.getI32Type());
    const std::optional<Range> all = rangeOfType(elementOf(v));
    if (r->low > all->low)
      v = seen(g.binary("maximum", v, seen(g.number(static_cast<double>(r->low), v))));
    if (r->high < all->high)
      v = seen(g.binary("minimum", v, seen(g.number(static_cast<double>(r->high), v))));
    return seen(g.convert(v, elementOf(result)));
  }
  Value seen(Value v) {
    ranges.visit(v.getDefiningOp());
    return v;
  }

  bool give(GraphBuilder &g, Value result, Words w) {
    if (!fits(result)) {
      made[result] = w;
      return true;
    }
    result.replaceAllUsesWith(narrow(g, w, result));
    return true;
  }

  static bool replace(mlir::Operation *op, Value by) {
    op->getResult(0).replaceAllUsesWith(by);
    return true;
  }

  // False if it is not written in words.
  bool split(mlir::Operation *op) {
    const llvm::StringRef name = opName(op);
    if (name == "while")
      return splitLoop(op);
    if (name == "if" || name == "case")
      return splitBranch(op);
    if (op->getNumRegions() > 0 || op->getNumResults() == 0 ||
        !llvm::all_of(op->getOperands(), [&](Value v) { return known(v); }))
      return splitScatter(op);
    GraphBuilder g(op);
    if (name == "constant")
      return give(g, op->getResult(0), constantWords(g, op));
    if (name == "optimization_barrier")
      return splitBarrier(g, op);
    if (const std::optional<unsigned> data = moves(op))
      return splitMovement(g, op, *data);
    if (op->getNumResults() != 1)
      return false;
    return splitArithmetic(g, op, name);
  }

  // One that replaces elements does so in both words.
  bool splitScatter(mlir::Operation *op) {
    if (opName(op) != "scatter")
      return false;
    const unsigned indices = (op->getNumOperands() - 1) / 2;
    splitIndices(op, indices, indices + 1);
    mlir::Block &body = op->getRegion(0).front();
    if (op->getNumOperands() != 3 || !wordy(op->getOperand(0).getType()) || !known(op->getOperand(0)) ||
        !known(op->getOperand(2)) || body.getTerminator()->getOperand(0) != body.getArgument(1))
      return false; // it stays
    GraphBuilder g(op);
    const Words into = words(g, op->getOperand(0)), updates = words(g, op->getOperand(2));
    return give(g, op->getResult(0), {scattered(g, op, into.low, updates.low), scattered(g, op, into.high, updates.high)});
  }

  // The same with its regions, and two results for each that is wide.
  mlir::Operation *remade(mlir::Operation *op, mlir::ValueRange operands, const std::vector<bool> &wide) {
    GraphBuilder g(op);
    llvm::SmallVector<mlir::Type> types;
    for (Value v : op->getResults())
      types.append(wide[llvm::cast<mlir::OpResult>(v).getResultNumber()] ? 2 : 1,
                   wide[llvm::cast<mlir::OpResult>(v).getResultNumber()] ? wordType(v) : v.getType());
    mlir::OperationState state(op->getLoc(), op->getName().getStringRef(), operands, types, op->getAttrs());
    for (unsigned r = 0; r < op->getNumRegions(); ++r)
      state.addRegion();
    mlir::Operation *now = g.b.create(state);
    for (unsigned r = 0; r < op->getNumRegions(); ++r)
      now->getRegion(r).takeBody(op->getRegion(r));
    unsigned next = 0;
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      if (wide[i]) {
        made[op->getResult(i)] = {now->getResult(next), now->getResult(next + 1)};
        next += 2;
      } else {
        renamed.emplace_back(op->getResult(i), now->getResult(next++));
      }
    controls.push_back({now, wide});
    return now;
  }
  static mlir::Type wordType(Value v) {
    return withElement(v, mlir::IntegerType::get(v.getContext(), 32, mlir::IntegerType::Unsigned));
  }

  bool splitLoop(mlir::Operation *op) {
    mlir::Block &body = op->getRegion(1).front();
    GraphBuilder g(op);
    std::vector<bool> wide;
    llvm::SmallVector<Value> operands;
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      const Value given = op->getOperand(i);
      if (!known(given))
        return false;
      wide.push_back(!fits(body.getArgument(i)) || !fits(body.getTerminator()->getOperand(i)) || made.contains(given));
      if (wide[i]) {
        const Words w = words(g, given);
        operands.append({w.low, w.high});
      } else {
        operands.push_back(given);
      }
    }
    mlir::Operation *now = remade(op, operands, wide);
    for (mlir::Region &region : now->getRegions()) {
      mlir::Block &block = region.front();
      for (unsigned i = 0, at = 0; i < wide.size(); ++i, ++at)
        if (wide[i]) {
          const mlir::BlockArgument old = block.getArgument(at);
          const Value low = block.insertArgument(at + 1, wordType(old), old.getLoc()),
                      high = block.insertArgument(at + 2, wordType(old), old.getLoc());
          made[old] = {low, high};
          at += 2;
        }
    }
    return true;
  }

  bool splitBranch(mlir::Operation *op) {
    std::vector<bool> wide;
    for (Value v : op->getResults())
      wide.push_back(static_cast<bool>(wordy(v.getType())));
    remade(op, op->getOperands(), wide);
    return true;
  }

  void splitReturned(const Control &c) {
    const unsigned first = opName(c.op) == "while" ? 1 : 0; // a condition is one truth value
    for (mlir::Region &region : c.op->getRegions().drop_front(first)) {
      mlir::Operation *end = region.front().getTerminator();
      GraphBuilder g(end);
      llvm::SmallVector<Value> values;
      for (auto [v, wide] : llvm::zip(end->getOperands(), c.wide))
        if (wide) {
          const Words w = words(g, v);
          values.append({w.low, w.high});
        } else {
          values.push_back(v);
        }
      end->setOperands(values);
    }
  }

  static void eraseArguments(const Control &c) {
    if (opName(c.op) != "while")
      return;
    for (mlir::Region &region : c.op->getRegions())
      for (unsigned i = 0, at = 0; i < c.wide.size(); ++i, at += c.wide[i - 1] ? 2 : 1)
        if (c.wide[i])
          region.front().eraseArgument(at);
  }

  static Words constantWords(GraphBuilder &g, mlir::Operation *op) {
    const auto value = llvm::cast<mlir::DenseElementsAttr>(op->getAttr("value"));
    const auto half = [&](unsigned at) {
      return g.constant(
          value.mapValues(g.b.getIntegerType(32, false), [&](const llvm::APInt &n) { return n.extractBits(32, at); }));
    };
    return {half(0), half(32)};
  }

  bool splitBarrier(GraphBuilder &g, mlir::Operation *op) {
    for (auto [in, out] : llvm::zip(op->getOperands(), op->getResults()))
      if (wordy(in.getType())) {
        const Words w = words(g, in);
        give(g, out, {g.unary("optimization_barrier", w.low), g.unary("optimization_barrier", w.high)});
      } else {
        out.replaceAllUsesWith(g.unary("optimization_barrier", in));
      }
    return true;
  }

  // Operands that say where become i32, the nearest that there is: beyond the end is beyond the end.
  void splitIndices(mlir::Operation *op, unsigned from, unsigned to) {
    GraphBuilder g(op);
    for (unsigned i = from; i < to; ++i) {
      const Value v = op->getOperand(i);
      if (!wordy(v.getType()) || !known(v))
        continue;
      op->setOperand(i, fits(v) ? g.convert(v, g.b.getI32Type())
                                : WordArithmetic(g, isSigned(v.getType())).toIndex(words(g, v)));
    }
  }

  bool splitMovement(GraphBuilder &g, mlir::Operation *op, unsigned data) {
    splitIndices(op, data, op->getNumOperands());
    if (!wordy(op->getResult(0).getType()))
      return false; // it stays
    Words w;
    for (const bool high : {false, true}) {
      std::vector<Value> operands(op->operand_begin(), op->operand_end());
      for (unsigned i = 0; i < data; ++i) {
        const Words x = words(g, operands[i]);
        operands[i] = high ? x.high : x.low;
      }
      mlir::OperationState state(op->getLoc(), op->getName().getStringRef(), operands,
                                 {withElement(op->getResult(0), g.b.getIntegerType(32, false))}, op->getAttrs());
      (high ? w.high : w.low) = g.b.create(state)->getResult(0);
    }
    return give(g, op->getResult(0), w);
  }

  // One number for all elements, where an operation takes one.
  static Value spread(GraphBuilder &g, Value x, Value like) {
    return typeOf(x).getShape() == typeOf(like).getShape() ? x : g.broadcast(x, {}, withElement(like, elementOf(x)));
  }
  static Words spread(GraphBuilder &g, Words w, Value like) { return {spread(g, w.low, like), spread(g, w.high, like)}; }

  bool splitArithmetic(GraphBuilder &g, mlir::Operation *op, llvm::StringRef name) {
    const Value result = op->getResult(0);
    if (name == "convert")
      return splitConvert(g, op);
    if (name == "bitcast_convert")
      return splitBitcast(g, op);
    mlir::Type wide;
    for (Value v : op->getOperands())
      if (wordy(v.getType()))
        wide = v.getType();
    if (!wide)
      return false;
    WordArithmetic a(g, isSigned(wide));
    std::vector<Words> in;
    for (Value v : op->getOperands())
      in.push_back(wordy(v.getType()) ? spread(g, words(g, v), result) : Words{});
    if (auto compare = llvm::dyn_cast<graph::CompareOp>(op))
      return replace(op, a.compare(compare.getComparisonDirection(), in[0], in[1]));
    const auto smaller = [&](Words x, Words y) { return a.select(a.compare(graph::ComparisonDirection::LT, x, y), x, y); };
    const auto larger = [&](Words x, Words y) { return a.select(a.compare(graph::ComparisonDirection::GT, x, y), x, y); };
    if (name == "add")
      return give(g, result, a.add(in[0], in[1]));
    if (name == "subtract")
      return give(g, result, a.subtract(in[0], in[1]));
    if (name == "multiply")
      return give(g, result, a.multiply(in[0], in[1]));
    if (name == "divide")
      return give(g, result, a.divide(in[0], in[1]).quotient);
    if (name == "remainder")
      return give(g, result, a.divide(in[0], in[1]).rest);
    if (name == "sign")
      return give(g, result, a.sign(in[0]));
    if (name == "popcnt")
      return give(g, result, a.countOfOnes(in[0]));
    if (name == "count_leading_zeros")
      return give(g, result, a.countOfLeadingZeros(in[0]));
    if (name == "negate")
      return give(g, result, a.negate(in[0]));
    if (name == "abs")
      return give(g, result, a.absolute(in[0]));
    if (name == "and" || name == "or" || name == "xor")
      return give(g, result, a.bits(name, in[0], in[1]));
    if (name == "not")
      return give(g, result, {g.unary("not", in[0].low), g.unary("not", in[0].high)});
    if (name == "shift_left")
      return give(g, result, a.shiftLeft(in[0], in[1]));
    if (name == "shift_right_logical" || name == "shift_right_arithmetic")
      return give(g, result, a.shiftRight(in[0], in[1], name == "shift_right_arithmetic"));
    if (name == "minimum")
      return give(g, result, smaller(in[0], in[1]));
    if (name == "maximum")
      return give(g, result, larger(in[0], in[1]));
    if (name == "select")
      return give(g, result, a.select(spread(g, op->getOperand(0), result), in[1], in[2]));
    if (name == "clamp")
      return give(g, result, smaller(larger(in[1], in[0]), in[2]));
    return false;
  }

  bool splitConvert(GraphBuilder &g, mlir::Operation *op) {
    const Value from = op->getOperand(0), to = op->getResult(0);
    const mlir::Type old = elementOf(from), element = elementOf(to);
    if (!wordy(from.getType())) { // it does not fit: from a float, or from ui32
      if (llvm::isa<mlir::FloatType>(old) && !old.isF64())
        return give(g, to, WordArithmetic(g, isSigned(to.getType())).fromFloat(from));
      if (const auto t = llvm::dyn_cast<mlir::IntegerType>(old); t && t.getWidth() == 32 && t.isUnsigned())
        return give(g, to, {from, g.number(0, from)});
      return false;
    }
    const Words w = words(g, from);
    if (wordy(to.getType()))
      return give(g, to, w);
    if (llvm::isa<mlir::FloatType>(element))
      return !element.isF64() && replace(op, WordArithmetic(g, isSigned(from.getType())).toFloat(w, element));
    const auto t = llvm::dyn_cast<mlir::IntegerType>(element);
    if (!t)
      return false;
    if (t.getWidth() == 1) {
      const Value any = g.binary("or", w.low, w.high);
      return replace(op, g.compare(graph::ComparisonDirection::NE, any, g.number(0, any)));
    }
    return replace(op, t.isUnsigned() ? g.convert(w.low, t) : g.convert(g.bitcast(w.low, g.b.getI32Type()), t));
  }

  bool splitBitcast(GraphBuilder &g, mlir::Operation *op) {
    const Value from = op->getOperand(0), to = op->getResult(0);
    if (wordy(from.getType()) && wordy(to.getType()))
      return give(g, to, words(g, from));
    const mlir::Type old = elementOf(from), element = elementOf(to), word = g.b.getIntegerType(32, false);
    if (wordy(from.getType()) && element.isIntOrFloat() && element.getIntOrFloatBitWidth() == 32)
      return replace(op, g.bitcast(asPairs(g, words(g, from)), element));
    if (wordy(to.getType()) && old.isIntOrFloat() && old.getIntOrFloatBitWidth() == 32 && !made.contains(to)) {
      return give(g, to, wordsOf(g, g.bitcast(from, word)));
    }
    return false;
  }
};

bool anyWide(mlir::func::FuncOp main) {
  const auto wide = [](mlir::Type t) { return static_cast<bool>(wordy(t)); };
  return llvm::any_of(main.getArgumentTypes(), wide) || llvm::any_of(main.getResultTypes(), wide) ||
         llvm::any_of(programOps(main), [&](mlir::Operation *op) { return llvm::any_of(op->getResultTypes(), wide); });
}

} // namespace

void splitWords(mlir::func::FuncOp main) {
  if (anyWide(main))
    Splitting(main).run();
}

} // namespace glia::emit
