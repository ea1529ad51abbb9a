// Evaluation of blocks. A value is dropped after its last use, so a rule that writes in place finds its operand unshared.
#include "Interpret/Evaluator.h"
#include "Interpret/Complex.h"
#include "glia/Support/Checkpoint.h"

#include "llvm/ADT/StringSet.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace glia::interp {

using namespace mlir;

namespace {

// Calls and nested regions deeper than this are taken for endless recursion; the C++ stack bears far more.
constexpr int kMaxDepth = 500;

class OpCall final : public ViewOf<Call> {
public:
  OpCall(Operation *op, Evaluator &evaluator, Evaluator::Frame &frame, bool show)
      : ViewOf(op, evaluator.caches, evaluator.options.inDouble), evaluator(evaluator), frame(frame), show(show) {}

  std::unique_ptr<Body> body(size_t region) override { return evaluator.makeBody(op->getRegion(region), frame); }
  std::optional<std::string> singleOperation(size_t region) override {
    Region &r = op->getRegion(region);
    if (r.empty() || r.front().getNumArguments() != 2 || r.front().getTerminator()->getNumOperands() != 1)
      return std::nullopt;
    const Value a = r.front().getArgument(0), b = r.front().getArgument(1), made = r.front().getTerminator()->getOperand(0);
    if (made == b)
      return std::string();
    Operation *d = made.getDefiningOp();
    const bool both = d && d->getNumOperands() == 2 &&
                      ((d->getOperand(0) == a && d->getOperand(1) == b) || (d->getOperand(0) == b && d->getOperand(1) == a));
    return both ? std::optional(d->getName().getStringRef().str()) : std::nullopt;
  }
  std::vector<Datum> region(size_t region, std::vector<Datum> arguments) override {
    if (op->getRegion(region).empty())
      fail("a region without a block");
    return evaluator.runBlock(op->getRegion(region).front(), std::move(arguments), frame, show);
  }
  std::vector<Datum> function(const std::string &name, std::vector<Datum> arguments) override {
    return evaluator.callFunction(op, name, std::move(arguments));
  }
  size_t regionCount() const override { return op->getNumRegions(); }
  void countIteration() override { evaluator.countIteration(op); }
  Place place() const override { return {evaluator.rank, evaluator.ranks.replicas, evaluator.ranks.partitions}; }
  std::vector<std::vector<Datum>> exchange(const std::vector<int64_t> &ranks) override {
    std::vector<std::vector<Datum>> all;
    if (const std::string why = evaluator.ranks.meet(evaluator.rank, op, ranks, operands, all); !why.empty())
      fail(why, "All ranks of a group must come to the same exchanges in the same order.");
    return all;
  }
  void give(int64_t to, int64_t channel, std::vector<Datum> values) override {
    evaluator.ranks.give(to, channel, std::move(values));
  }
  std::vector<Datum> take(int64_t channel) override {
    std::vector<Datum> values;
    if (const std::string why = evaluator.ranks.take(evaluator.rank, channel, values); !why.empty())
      fail(why, "Send to a channel before receiving from it.");
    return values;
  }

private:
  Evaluator &evaluator;
  Evaluator::Frame &frame;
  bool show;
};

struct Depth {
  explicit Depth(int &depth) : depth(depth) { ++depth; }
  ~Depth() { --depth; }
  int &depth;
};

struct Followed {
  Followed(Follower *by, Block &block, const Frame &frame) : by(by) {
    if (by)
      by->entered(block, frame);
  }
  ~Followed() {
    if (by)
      by->left();
  }
  Follower *const by;
};

} // namespace

HostTensor hostTensor(const Datum &d, bool inDouble) {
  const Tensor t = isComplex(d.tensor.element) ? toPairs(d) : d.tensor;
  HostTensor h;
  h.element = inDouble && isFloat(t.element) ? Element::F64 : t.element;
  h.shape = t.shape;
  h.pairs = isComplex(d.tensor.element);
  h.bytes.resize(static_cast<size_t>(t.count()) * info(h.element).bytes);
  encode(h.element, t.words(), h.bytes.data(), t.count());
  return h;
}

Tensor fromHost(const HostTensor &h) {
  Tensor t(h.element, h.shape);
  decode(h.element, h.bytes.data(), t.own(), t.count());
  return t;
}

bool Evaluator::runOutside(Operation &op, Call &call) {
  if (!options.onCustomCall || op.getName().getStringRef() != "stablehlo.custom_call")
    return false;
  std::vector<HostTensor> operands;
  for (const Datum &d : call.operands) {
    if (d.tensor.element == Element::Token || d.tensor.element == Element::Tuple)
      return false;
    operands.push_back(hostTensor(d, false));
  }
  const std::optional<std::vector<HostTensor>> results = options.onCustomCall(&op, operands);
  if (!results)
    return false;
  if (results->size() != call.results.size())
    failAt(&op, "GRAPH-INTERPRET", "another number of results than the operation has", "");
  for (size_t i = 0; i < results->size(); ++i)
    call.set(i, fromHost((*results)[i]));
  return true;
}

void Evaluator::countIteration(Operation *op) {
  if (++iterations > options.maxIterations)
    failAt(op, "GRAPH-INTERPRET", "more than " + std::to_string(options.maxIterations) + " iterations",
           "The loop seems to have no end; raise the limit if it has.");
}

const Evaluator::Plan &Evaluator::planOf(Operation *op) {
  const auto [at, isNew] = plans.try_emplace(op);
  if (isNew) {
    const PlainView view(op, caches, options.inDouble);
    Plan plan;
    const StringRef dialect = op->getName().getDialectNamespace();
    const auto complex = [](Type t) { return isa<ComplexType>(getElementTypeOrSelf(t)); };
    const bool pairs = llvm::any_of(op->getOperandTypes(), complex) || llvm::any_of(op->getResultTypes(), complex);
    plan.rule = pairs && !handsOn(view.name()) ? findComplexRule(view.name()) : findRule(view.name());
    if (!plan.rule && !pairs && (dialect == "stablehlo" || dialect == "chlo"))
      plan.pointwise = pointwise(view);
    if (!plan.rule && !plan.pointwise)
      failAt(op, "GRAPH-INTERPRET", "this operation is not implemented by the interpreter",
             "docs/interpreter.md lists what is.");
    plans[op] = plan;
    return plans[op];
  }
  return at->second;
}

// A value dies at the operation of its own block that uses it last, itself or in its regions.
void Evaluator::findLastUses(Block &block) {
  if (!prepared.try_emplace(&block, true).second)
    return;
  const auto find = [&](Value v) {
    Operation *last = nullptr;
    for (Operation *user : v.getUsers())
      if (Operation *here = block.findAncestorOpInBlock(*user); here && (!last || last->isBeforeInBlock(here)))
        last = here;
    if (last)
      lastUses[last].push_back(v);
  };
  for (BlockArgument a : block.getArguments())
    find(a);
  for (Operation &op : block)
    for (Value v : op.getResults())
      find(v);
}

const std::vector<Value> &Evaluator::dyingAt(Operation *op) {
  static const std::vector<Value> none;
  const auto at = lastUses.find(op);
  return at == lastUses.end() ? none : at->second;
}

// Operands as a vector; those that die here are moved out of the frame unless a region of the operation may read them.
static std::vector<Datum> takeOperands(Operation &op, Evaluator::Frame &frame, const std::vector<Value> &dying) {
  std::vector<Datum> list;
  list.reserve(op.getNumOperands());
  for (unsigned i = 0; i < op.getNumOperands(); ++i) {
    const Value v = op.getOperand(i);
    const bool again = std::find(op.operand_begin() + i + 1, op.operand_end(), v) != op.operand_end();
    const auto at = frame.find(v);
    if (at == frame.end())
      failAt(&op, "GRAPH-INTERPRET", "an operand has no value", "");
    const bool last = !again && op.getNumRegions() == 0 && std::find(dying.begin(), dying.end(), v) != dying.end();
    list.push_back(last ? std::move(at->second) : at->second);
  }
  return list;
}

// Operations that give elements of their operands, or numbers that are known, round nothing.
static bool computes(Operation &op) {
  static const llvm::StringSet<> others = {"constant",
                                           "iota",
                                           "reshape",
                                           "broadcast",
                                           "broadcast_in_dim",
                                           "transpose",
                                           "slice",
                                           "dynamic_slice",
                                           "pad",
                                           "concatenate",
                                           "reverse",
                                           "gather",
                                           "select",
                                           "dynamic_update_slice",
                                           "negate",
                                           "abs",
                                           "maximum",
                                           "minimum",
                                           "clamp",
                                           "optimization_barrier",
                                           "tuple",
                                           "get_tuple_element",
                                           "bitcast_convert",
                                           "sort",
                                           "while",
                                           "if",
                                           "case",
                                           "composite",
                                           "call"};
  return !others.contains(op.getName().stripDialect());
}

// How many terms a result is the sum of, about; each partial sum may be rounded.
static double terms(Operation &op) {
  const auto count = [](Type t) {
    const auto tensor = dyn_cast<RankedTensorType>(t);
    return tensor && tensor.hasStaticShape() ? std::max<double>(1, static_cast<double>(tensor.getNumElements())) : 1.0;
  };
  const StringRef name = op.getName().stripDialect();
  if (op.getNumOperands() < 2 || op.getNumResults() == 0)
    return 1;
  const double result = count(op.getResult(0).getType()), a = count(op.getOperand(0).getType());
  if (name == "dot_general" || name == "dot" || name == "convolution")
    return std::max(1.0, std::sqrt(a * count(op.getOperand(1).getType()) / result));
  return name == "reduce" ? std::max(1.0, a / result) : 1;
}

// Operations whose elements are sums of many others in a way of their own. One element of a sum is as far off as the others are large.
static bool mixes(Operation &op) {
  static const llvm::StringSet<> names = {"fft", "cholesky", "triangular_solve"};
  return names.contains(op.getName().stripDialect());
}

static double rootMeanSquare(const Tensor &t) {
  double squares = 0;
  for (int64_t i = 0; i < t.count(); ++i)
    if (const double x = std::bit_cast<double>(t.at(i)); std::isfinite(x))
      squares += x * x;
  return std::sqrt(squares / static_cast<double>(std::max<int64_t>(t.count(), 1)));
}

void Evaluator::shake(Operation &op, Datum &d) {
  const bool pair = isComplex(d.tensor.element);
  if (!(pair || isFloat(d.tensor.element)) || !computes(op))
    return;
  std::vector<Tensor *> parts;
  if (pair)
    parts = {&d.parts[0].tensor, &d.parts[1].tensor};
  else
    parts = {&d.tensor};
  const double step = std::ldexp(1.0, -11 - info(parts[0]->element).mantissaBits) * options.roundings * std::sqrt(terms(op));
  double common = 0;
  if (mixes(op) || terms(op) > 1)
    for (const Tensor *t : parts)
      common = std::max(common, rootMeanSquare(*t) / std::sqrt(terms(op)));
  for (Tensor *t : parts) {
    Word *words = t->own();
    for (int64_t i = 0; i < t->count(); ++i) { // infinities stay what they are
      const double x = std::bit_cast<double>(words[i]), off = static_cast<double>(random.between(-1024, 1024)) * step;
      words[i] = std::bit_cast<Word>(x * (1 + off) + common * off);
    }
  }
}

void Evaluator::run(Operation &op, Frame &frame, bool show) {
  const Plan plan = planOf(&op);
  OpCall call(&op, *this, frame, show);
  const std::vector<Value> &dying = dyingAt(&op);
  call.operands = takeOperands(op, frame, dying);
  call.results.resize(op.getNumResults());
  const bool insideOnly =
      op.getNumRegions() > 0; // operands of loops are dropped before the loop, unless its regions read them
  if (insideOnly)
    for (const Value v : dying)
      if (std::none_of(v.user_begin(), v.user_end(), [&](Operation *u) { return op.isProperAncestor(u); }))
        frame.erase(v);
  if (runOutside(op, call)) {
    // done
  } else if (plan.rule)
    plan.rule->run(call);
  else
    call.set(0, evaluate(*plan.pointwise, call.operands, call.resultType(0)));
  for (const Value v : dying)
    frame.erase(v);
  if (call.results.size() != op.getNumResults())
    failAt(&op, "GRAPH-INTERPRET", "another number of results than the operation has", "");
  if (show && options.follower)
    options.follower->after(op, call.results);
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    if (show && options.shaken)
      shake(op, call.results[i]);
    if (show && options.onValue && !isa<TupleType>(op.getResult(i).getType()) &&
        call.results[i].tensor.element != Element::Token)
      options.onValue(&op, i, hostTensor(call.results[i], options.inDouble));
    if (!op.getResult(i).use_empty())
      frame[op.getResult(i)] = std::move(call.results[i]);
  }
}

std::vector<Datum> Evaluator::runBlock(Block &block, std::vector<Datum> arguments, Frame &frame, bool show) {
  const Depth here(depth);
  findLastUses(block);
  if (arguments.size() != block.getNumArguments())
    failAt(block.getParentOp(), "GRAPH-INTERPRET", "a region with another number of arguments than it is given", "");
  if (depth > kMaxDepth)
    failAt(block.getParentOp(), "GRAPH-INTERPRET", "calls nest more than " + std::to_string(kMaxDepth) + " deep",
           "Recursive functions are not part of a graph.");
  for (unsigned i = 0; i < arguments.size(); ++i)
    if (!block.getArgument(i).use_empty())
      frame[block.getArgument(i)] = std::move(arguments[i]);
  arguments.clear();
  const Followed followed(show ? options.follower : nullptr, block, frame);
  for (Operation &op : block) {
    checkpoint();
    if (followed.by)
      followed.by->before(op);
    const StringRef name = op.getName().getStringRef();
    if (name == "func.return" || name == "stablehlo.return") {
      std::vector<Datum> results = takeOperands(op, frame, dyingAt(&op));
      for (const Value v : dyingAt(&op))
        frame.erase(v);
      return results;
    }
    run(op, frame, show);
  }
  failAt(block.getParentOp(), "GRAPH-INTERPRET", "a block without a return", "");
}

std::vector<Datum> Evaluator::callFunction(Operation *from, const std::string &name, std::vector<Datum> arguments) {
  auto f = dyn_cast_or_null<FunctionOpInterface>(SymbolTable::lookupSymbolIn(module, name));
  if (!f || f.isExternal())
    failAt(from, "GRAPH-FUNCTION", "there is no function @" + name + " with a body", "");
  if (!f.getFunctionBody().hasOneBlock())
    failAt(from, "GRAPH-INTERPRET", "@" + name + " has more than one block", "Graphs use stablehlo.if, case and while.");
  Frame frame;
  return runBlock(f.getFunctionBody().front(), std::move(arguments), frame, true);
}

} // namespace glia::interp
