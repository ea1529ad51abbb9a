#include "EditBodies.h"

#include "llvm/ADT/StringSet.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace glia::reduce {

static bool isReduction(Operation *op) { return op->getName().getStringRef() == "stablehlo.reduce"; }

static std::string bodyText(Region &body) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::DenseMap<Value, size_t> number; // arguments and results, in their order; others are from outside
  for (const Value v : body.getArguments())
    number.try_emplace(v, number.size() + 1);
  body.walk([&](Operation *op) {
    out << op->getName() << op->getAttrDictionary() << " of";
    for (const Value v : op->getOperands())
      out << " " << number.lookup(v);
    out << "\n";
    for (const Value v : op->getResults())
      number.try_emplace(v, number.size() + 1);
  });
  return text;
}

// Whether it combines two elements by one operation that may take them in any order.
static bool isOrderless(Operation *op, Region &body) {
  static const llvm::StringSet<> names = {"maximum", "minimum", "add", "multiply", "and", "or"};
  Block &b = body.front();
  return isReduction(op) && b.getNumArguments() == 2 && llvm::hasSingleElement(b.without_terminator()) &&
         names.contains(b.front().getName().stripDialect()) &&
         llvm::equal(b.front().getOperands(), ValueRange(b.getArguments())) &&
         llvm::equal(b.getTerminator()->getOperands(), b.front().getResults());
}

std::set<std::string> bodiesOf(ModuleOp module) {
  std::set<std::string> out;
  for (Operation *op : operationsOf(module))
    for (Region &r : op->getRegions())
      if (!isFlow(op) && !isOrderless(op, r))
        out.insert(op->getName().getStringRef().str() + "\n" + bodyText(r));
  return out;
}

bool reduceByOne(ModuleOp module, size_t at, size_t choice) {
  Operation *op = operationAt(module, at);
  constexpr StringLiteral kNumbers[] = {"stablehlo.maximum", "stablehlo.minimum", "stablehlo.add"},
                          kTruths[] = {"stablehlo.or", "stablehlo.and", "stablehlo.or"};
  if (!op || !isReduction(op) || choice >= std::size(kNumbers) || op->getRegion(0).front().getOperations().size() <= 2)
    return false;
  func::FuncOp main = mainOf(module);
  Operation *end = main.getBody().front().getTerminator();
  SmallVector<Value> results;
  OpBuilder b(op);
  const unsigned tensors = op->getNumResults();
  for (unsigned k = 0; k < tensors; ++k) {
    const Value initial = op->getOperand(tensors + k);
    OperationState state(op->getLoc(), op->getName(), {op->getOperand(k), initial}, {op->getResult(k).getType()},
                         op->getAttrs());
    Block &body = state.addRegion()->emplaceBlock();
    body.addArguments({initial.getType(), initial.getType()}, {op->getLoc(), op->getLoc()});
    OpBuilder inner(op->getContext());
    inner.setInsertionPointToEnd(&body);
    const bool truths = getElementTypeOrSelf(initial.getType()).isInteger(1);
    OperationState combine(op->getLoc(), (truths ? kTruths : kNumbers)[choice], body.getArguments(), {initial.getType()});
    const Value combined = inner.create(combine)->getResult(0);
    OperationState gives(op->getLoc(), op->getRegion(0).front().getTerminator()->getName());
    gives.addOperands(combined);
    inner.create(gives);
    const Value made = b.create(state)->getResult(0);
    if (op->getResult(k).use_empty() && op->getBlock() == end->getBlock())
      results.push_back(made);
    op->getResult(k).replaceAllUsesWith(made);
  }
  const SmallVector<Value> before(end->getOperands());
  results.insert(results.begin(), before.begin(), before.end());
  setResults(main, results);
  op->erase();
  return true;
}

bool takeBody(ModuleOp module, size_t at) {
  Operation *op = operationAt(module, at);
  func::FuncOp main = mainOf(module);
  if (!op || !isReduction(op) || !seesArguments(op, main))
    return false;
  const auto shape = cast<ShapedType>(op->getResult(0).getType()).getShape();
  Block &body = op->getRegion(0).front();
  const auto wide = [&](Type t) { return RankedTensorType::get(shape, getElementTypeOrSelf(t)); };
  IRMapping map;
  for (const BlockArgument a : body.getArguments())
    map.map(a, addArgument(main, wide(a.getType())));
  OpBuilder b(op);
  for (Operation &inner : body.without_terminator()) {
    auto value = isConstant(&inner) ? dyn_cast<SplatElementsAttr>(inner.getAttr("value")) : SplatElementsAttr();
    if (inner.getNumRegions() || (isConstant(&inner) && !value))
      return false;
    Operation *copy = b.clone(inner, map);
    for (Value v : copy->getResults())
      v.setType(wide(v.getType()));
    if (value)
      copy->setAttr("value", value.resizeSplat(cast<ShapedType>(copy->getResult(0).getType())));
  }
  for (auto [result, value] : llvm::zip(op->getResults(), body.getTerminator()->getOperands())) {
    if (value.getParentBlock() != &body)
      return false;
    result.replaceAllUsesWith(map.lookup(value));
  }
  op->erase();
  return true;
}

} // namespace glia::reduce
