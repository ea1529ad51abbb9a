// Bodies of reductions, scatters and sorts. One that is made of element-wise operations on single elements becomes a list of steps on
// a row of registers; any other is evaluated as a block, slowly.
#include "Interpret/Evaluator.h"

namespace glia::interp {

using namespace mlir;

namespace {

class StepBody final : public Body {
public:
  struct Step {
    Pointwise op;
    int in[3];
    int out;
  };
  std::string_view single(size_t result) const override { return singles[result]; }
  void run(const Word *arguments, Word *out) override {
    std::copy_n(arguments, argumentCount, registers.data());
    for (const Step &s : steps) {
      const Word *in[] = {&registers[s.in[0]], &registers[s.in[1]], &registers[s.in[2]]};
      s.op(in, &registers[s.out], 1);
    }
    for (size_t i = 0; i < results.size(); ++i)
      out[i] = registers[results[i]];
  }

  std::vector<Word> registers;
  std::vector<Step> steps;
  std::vector<int> results;
  size_t argumentCount = 0;
  std::vector<std::string> singles; // of each result
};

class BlockBody final : public Body {
public:
  BlockBody(Block &block, Evaluator &evaluator, Evaluator::Frame &frame) : block(block), evaluator(evaluator), frame(frame) {
    for (BlockArgument a : block.getArguments())
      types.push_back(typeOf(a.getType(), block.getParentOp(), evaluator.caches));
  }
  std::string_view single(size_t) const override { return {}; }
  void run(const Word *arguments, Word *out) override {
    std::vector<Datum> list;
    for (size_t i = 0; i < types.size(); ++i)
      list.push_back({Tensor::scalar(types[i].element, arguments[i]), {}});
    const std::vector<Datum> results = evaluator.runBlock(block, std::move(list), frame, false);
    for (size_t i = 0; i < results.size(); ++i)
      out[i] = results[i].tensor.at(0);
  }

private:
  Block &block;
  Evaluator &evaluator;
  Evaluator::Frame &frame;
  std::vector<TensorType> types;
};

bool isElementValue(Type type) {
  const auto t = dyn_cast<RankedTensorType>(type);
  return t && t.getRank() == 0;
}

std::string singleOf(Block &block, unsigned result, unsigned results) {
  Operation *d = block.getTerminator()->getOperand(result).getDefiningOp();
  if (!d || d->getBlock() != &block || d->getNumOperands() != 2 || block.getNumArguments() != 2 * results)
    return {};
  const Value a = block.getArgument(result), b = block.getArgument(results + result), x = d->getOperand(0),
              y = d->getOperand(1);
  const bool is = (x == a && y == b) || (x == b && y == a && d->hasTrait<OpTrait::IsCommutative>());
  return is ? d->getName().getStringRef().str() : "";
}

// nullptr if an operation is not element-wise.
std::unique_ptr<StepBody> compile(Block &block, Evaluator &evaluator, Evaluator::Frame &frame) {
  auto body = std::make_unique<StepBody>();
  llvm::DenseMap<Value, int> places;
  const auto place = [&](Value v) {
    places[v] = static_cast<int>(body->registers.size());
    body->registers.push_back(0);
    return places[v];
  };
  for (BlockArgument a : block.getArguments())
    place(a);
  body->argumentCount = block.getNumArguments();
  const auto read = [&](Value v) { // -1 if it is not a single element
    if (const auto at = places.find(v); at != places.end())
      return at->second;
    const auto outer = frame.find(v); // a value from around the region
    if (outer == frame.end() || outer->second.tensor.count() != 1)
      return -1;
    const int at = place(v);
    body->registers[at] = outer->second.tensor.at(0);
    return at;
  };
  for (Operation &op : block) {
    if (op.getName().getStringRef() == "stablehlo.return") {
      for (unsigned k = 0; k < op.getNumOperands(); ++k) {
        body->results.push_back(read(op.getOperand(k)));
        if (body->results.back() < 0)
          return nullptr;
        body->singles.push_back(singleOf(block, k, op.getNumOperands()));
      }
      return body;
    }
    if (op.getNumResults() != 1 || op.getNumRegions() != 0 || !isElementValue(op.getResult(0).getType()))
      return nullptr;
    const PlainView view(&op, evaluator.caches, evaluator.options.inDouble);
    if (view.name() == "stablehlo.constant") {
      const std::optional<Tensor> value = view.elements("value");
      if (!value)
        return nullptr;
      body->registers[place(op.getResult(0))] = value->at(0);
      continue;
    }
    const bool known = (view.name().starts_with("stablehlo.") || view.name().starts_with("chlo.")) &&
                       !findRule(view.name()) && op.getNumOperands() >= 1 && op.getNumOperands() <= 3;
    const std::optional<Pointwise> p = known ? pointwise(view) : std::nullopt;
    if (!p)
      return nullptr;
    StepBody::Step step{*p, {0, 0, 0}, 0};
    for (unsigned i = 0; i < op.getNumOperands(); ++i) {
      step.in[i] = read(op.getOperand(i));
      if (step.in[i] < 0)
        return nullptr;
    }
    step.out = place(op.getResult(0));
    body->steps.push_back(step);
  }
  return nullptr;
}

} // namespace

std::unique_ptr<Body> Evaluator::makeBody(Region &region, Frame &frame) {
  if (region.empty())
    failAt(region.getParentOp(), "GRAPH-INTERPRET", "a region without a block", "");
  Block &block = region.front();
  for (const Type t : block.getArgumentTypes())
    if (!isElementValue(t))
      failAt(region.getParentOp(), "GRAPH-INTERPRET", "the body has arguments that are not single elements", "");
  if (std::unique_ptr<StepBody> body = compile(block, *this, frame))
    return body;
  return std::make_unique<BlockBody>(block, *this, frame);
}

} // namespace glia::interp
