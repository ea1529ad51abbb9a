#include "GraphEdit.h"
#include "Graph/Simplify/InlineCalls.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace glia::reduce {

namespace {

constexpr StringLiteral kAliased = "tf.aliasing_output"; // of an argument: the result that takes its place

Block &bodyOf(func::FuncOp f) { return f.getBody().front(); }

void setType(func::FuncOp f) {
  Block &b = bodyOf(f);
  f.setType(FunctionType::get(f.getContext(), b.getArgumentTypes(), b.getTerminator()->getOperandTypes()));
}

void eraseArgument(func::FuncOp f, unsigned i) {
  SmallVector<DictionaryAttr> attributes;
  for (unsigned k = 0; k < f.getNumArguments(); ++k)
    if (k != i)
      attributes.push_back(f.getArgAttrDict(k));
  bodyOf(f).eraseArgument(i);
  setType(f);
  f.setAllArgAttrs(attributes);
}

Value zeros(Operation *at, Type type) {
  const auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return {};
  OpBuilder b(at);
  DenseElementsAttr value;
  if (const auto complex = dyn_cast<ComplexType>(tensor.getElementType())) {
    const auto part = dyn_cast<FloatType>(complex.getElementType());
    if (!part)
      return {};
    const llvm::APFloat zero(part.getFloatSemantics(), 0);
    value = DenseElementsAttr::get(tensor, std::complex<llvm::APFloat>(zero, zero));
  } else if (const auto attribute = b.getZeroAttr(tensor)) {
    value = dyn_cast<DenseElementsAttr>(attribute);
  }
  return value ? graph::ConstantOp::create(b, at->getLoc(), tensor, value).getResult() : Value();
}

// Puts what is in the block before `op`, with `arguments` for those of the block.
void inlineBlock(Operation *op, Block &block, ValueRange arguments) {
  IRMapping map;
  map.map(block.getArguments(), arguments);
  OpBuilder b(op);
  for (Operation &inner : block.without_terminator())
    b.clone(inner, map);
  for (auto [result, value] : llvm::zip(op->getResults(), block.getTerminator()->getOperands()))
    result.replaceAllUsesWith(map.lookupOrDefault(value));
}

} // namespace

Value addArgument(func::FuncOp f, Type type) {
  SmallVector<DictionaryAttr> attributes;
  for (unsigned k = 0; k < f.getNumArguments(); ++k)
    attributes.push_back(f.getArgAttrDict(k));
  attributes.push_back(DictionaryAttr());
  const Value v = bodyOf(f).addArgument(type, f.getLoc());
  setType(f);
  f.setAllArgAttrs(attributes);
  return v;
}

void setResults(func::FuncOp f, ArrayRef<Value> values) {
  Operation *end = bodyOf(f).getTerminator();
  const SmallVector<Value> before(end->getOperands());
  SmallVector<DictionaryAttr> attributes;
  for (const Value v : values) {
    const auto *at = llvm::find(before, v);
    attributes.push_back(at == before.end() ? DictionaryAttr()
                                            : f.getResultAttrDict(static_cast<unsigned>(at - before.begin())));
  }
  for (unsigned k = 0; k < f.getNumArguments(); ++k)
    if (const auto alias = f.getArgAttrOfType<IntegerAttr>(k, kAliased)) {
      const auto was = static_cast<size_t>(alias.getInt());
      const auto *at = was < before.size() ? llvm::find(values, before[was]) : values.end();
      f.removeArgAttr(k, kAliased);
      if (at != values.end())
        f.setArgAttr(k, kAliased, IntegerAttr::get(alias.getType(), at - values.begin()));
    }
  end->setOperands(values);
  setType(f);
  f.setAllResultAttrs(attributes);
}

bool isConstant(Operation *op) { return isa<graph::ConstantOp>(op); }

bool isFlow(Operation *op) {
  const StringRef name = op->getName().getStringRef();
  return name == "stablehlo.while" || name == "stablehlo.if" || name == "stablehlo.case";
}

bool seesArguments(Operation *op, func::FuncOp main) {
  for (Operation *p = op->getParentOp(); p; p = p->getParentOp())
    if (p == main)
      return true;
    else if (!isFlow(p))
      return false;
  return false;
}

Operation *operationAt(ModuleOp module, size_t at) {
  const std::vector<Operation *> all = operationsOf(module);
  return at < all.size() ? all[at] : nullptr;
}

func::FuncOp mainOf(ModuleOp module) {
  if (auto f = module.lookupSymbol<func::FuncOp>("main"))
    return f;
  for (auto f : module.getOps<func::FuncOp>())
    if (f.isPublic() && !f.isExternal())
      return f;
  return {};
}

std::vector<Operation *> operationsOf(ModuleOp module) {
  std::vector<Operation *> out;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<ModuleOp, func::FuncOp>(op) && !op->hasTrait<OpTrait::IsTerminator>() && op->getParentOfType<func::FuncOp>())
      out.push_back(op);
  });
  return out;
}

void tidy(ModuleOp module, bool arguments) {
  const std::vector<Operation *> all = operationsOf(module);
  for (size_t i = all.size(); i-- > 0;) // what is inside comes behind
    if (all[i]->use_empty())
      all[i]->erase();
  func::FuncOp main = mainOf(module);
  for (bool changed = true; changed;) {
    changed = false;
    for (auto f : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (f != main && SymbolTable::symbolKnownUseEmpty(f, module)) {
        f.erase();
        changed = true;
      }
  }
  for (unsigned i = main.getNumArguments(); arguments && i-- > 0;)
    if (bodyOf(main).getArgument(i).use_empty())
      eraseArgument(main, i);
}

bool dropResults(ModuleOp module, size_t from, size_t to) {
  func::FuncOp main = mainOf(module);
  SmallVector<Value> rest;
  for (auto [i, v] : llvm::enumerate(bodyOf(main).getTerminator()->getOperands()))
    if (i < from || i >= to)
      rest.push_back(v);
  if (rest.empty() || rest.size() == main.getNumResults())
    return false;
  setResults(main, rest);
  return true;
}

std::vector<Operation *> operationsIn(ModuleOp module, Where where) {
  std::vector<Operation *> out = operationsOf(module);
  Block *body = &bodyOf(mainOf(module));
  std::erase_if(out, [&](Operation *op) { return (op->getBlock() == body) != (where == Where::Main); });
  return out;
}

bool cut(ModuleOp module, Where where, size_t from, size_t to, bool frontier) {
  const std::vector<Operation *> all = operationsIn(module, where);
  func::FuncOp main = mainOf(module);
  llvm::SetVector<Operation *> gone;
  for (size_t i = from; i < std::min(to, all.size()); ++i)
    if (!isConstant(all[i]) && !llvm::any_of(gone, [&](Operation *o) { return o->isProperAncestor(all[i]); }))
      gone.insert(all[i]);
  if (gone.empty() || llvm::any_of(gone, [&](Operation *o) { return o->getBlock() != gone[0]->getBlock(); }))
    return false;
  const auto isGone = [&](Value v) { return v.getDefiningOp() && gone.contains(v.getDefiningOp()); };
  llvm::SetVector<Value> results, behind;
  for (Value v : bodyOf(main).getTerminator()->getOperands())
    if (!isGone(v))
      results.insert(v);
  const size_t kept = results.size();
  for (Operation *op : gone)
    for (Value v : op->getOperands())
      if (v.getDefiningOp() && v.getParentBlock() == &bodyOf(main) && !isConstant(v.getDefiningOp()) && !isGone(v))
        behind.insert(v);
  if (frontier || kept == 0)
    results.insert(behind.begin(), behind.end());
  if (results.empty())
    return false;
  if (results.size() != main.getNumResults() || kept != results.size())
    setResults(main, results.getArrayRef());
  for (Operation *op : gone)
    for (Value v : op->getResults()) {
      if (llvm::all_of(v.getUsers(),
                       [&](Operation *u) { return llvm::any_of(gone, [&](Operation *o) { return o->isAncestor(u); }); }))
        continue;
      const Value instead = !isa<RankedTensorType>(v.getType()) ? Value()
                            : seesArguments(op, main)           ? addArgument(main, v.getType())
                                                                : zeros(op, v.getType());
      if (!instead)
        return false;
      v.replaceAllUsesWith(instead);
    }
  for (Operation *op : gone)
    op->dropAllUses();
  for (Operation *op : llvm::reverse(gone))
    op->erase();
  return true;
}

bool constantToArgument(ModuleOp module, size_t at) {
  Operation *op = operationAt(module, at);
  func::FuncOp main = mainOf(module);
  if (!op || !isConstant(op) || !seesArguments(op, main))
    return false;
  op->getResult(0).replaceAllUsesWith(addArgument(main, op->getResult(0).getType()));
  return true;
}

bool replaceByOperand(ModuleOp module, size_t at, size_t choice) {
  Operation *op = operationAt(module, at);
  if (!op || op->getNumResults() == 0)
    return false;
  if (op->getNumResults() > 1) {
    if (choice > 0 || op->getNumOperands() < op->getNumResults())
      return false;
    for (auto [result, operand] : llvm::zip(op->getResults(), op->getOperands()))
      if (result.getType() != operand.getType())
        return false;
    for (auto [result, operand] : llvm::zip(op->getResults(), op->getOperands()))
      result.replaceAllUsesWith(operand);
    return true;
  }
  llvm::SetVector<Value> fitting;
  for (const Value v : op->getOperands())
    if (v.getType() == op->getResult(0).getType())
      fitting.insert(v);
  if (choice >= fitting.size())
    return false;
  op->getResult(0).replaceAllUsesWith(fitting[choice]);
  return true;
}

bool takeRegion(ModuleOp module, size_t at, size_t choice) {
  Operation *op = operationAt(module, at);
  if (!op || !isFlow(op))
    return false;
  const bool loop = op->getName().stripDialect() == "while";
  if (choice >= (loop ? 1 : op->getNumRegions()))
    return false;
  if (loop)
    inlineBlock(op, op->getRegion(1).front(), op->getOperands());
  else
    inlineBlock(op, op->getRegion(static_cast<unsigned>(choice)).front(), {});
  op->erase();
  return true;
}

bool dropCarried(ModuleOp module, size_t at, size_t value) {
  Operation *op = operationAt(module, at);
  const auto i = static_cast<unsigned>(value);
  if (!op || op->getName().getStringRef() != "stablehlo.while" || i >= op->getNumResults() || op->getNumResults() < 2 ||
      !op->getResult(i).use_empty())
    return false;
  for (Region &r : op->getRegions()) {
    r.front().getArgument(i).replaceAllUsesWith(op->getOperand(i));
    r.front().eraseArgument(i);
  }
  op->getRegion(1).front().getTerminator()->eraseOperand(i);
  SmallVector<Value> operands(op->getOperands());
  operands.erase(operands.begin() + i);
  SmallVector<Type> types(op->getResultTypes());
  types.erase(types.begin() + i);
  OperationState state(op->getLoc(), op->getName(), operands, types, op->getAttrs());
  for (Region &r : op->getRegions())
    state.addRegion()->takeBody(r);
  OpBuilder b(op);
  Operation *fresh = b.create(state);
  for (unsigned k = 0, n = 0; k < op->getNumResults(); ++k)
    if (k != i)
      op->getResult(k).replaceAllUsesWith(fresh->getResult(n++));
  op->erase();
  return true;
}

bool mergeArguments(ModuleOp module, size_t argument, size_t into) {
  Block &b = bodyOf(mainOf(module));
  if (into >= argument || argument >= b.getNumArguments())
    return false;
  BlockArgument from = b.getArgument(static_cast<unsigned>(argument)), to = b.getArgument(static_cast<unsigned>(into));
  if (from.getType() != to.getType())
    return false;
  from.replaceAllUsesWith(to);
  return true;
}

bool constantToSplat(ModuleOp module, size_t at) {
  Operation *op = operationAt(module, at);
  if (!op || !isConstant(op))
    return false;
  const auto value = dyn_cast<DenseElementsAttr>(op->getAttr("value"));
  if (!value || value.isSplat() || value.empty())
    return false;
  op->setAttr("value", DenseElementsAttr::get(value.getType(), *value.value_begin<Attribute>()));
  return true;
}

bool inlineAll(ModuleOp module) {
  func::FuncOp main = mainOf(module);
  const size_t before = operationsOf(module).size();
  emit::inlineCalls(main);
  return operationsOf(module).size() != before;
}

bool dropAttributes(ModuleOp module) {
  bool any = false;
  for (auto f : module.getOps<func::FuncOp>()) {
    any |= f.getArgAttrsAttr() || f.getResAttrsAttr();
    f.removeArgAttrsAttr();
    f.removeResAttrsAttr();
  }
  module.walk([&](Operation *op) {
    const SmallVector<NamedAttribute> attributes(op->getDiscardableAttrs());
    for (const NamedAttribute &a : attributes) {
      op->removeDiscardableAttr(a.getName());
      any = true;
    }
  });
  return any;
}

} // namespace glia::reduce
