#include "ShrinkDimensions.h"
#include "GraphEdit.h"
#include "Graph/Partition/Rule.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

#include <algorithm>

using namespace mlir;

namespace glia::reduce {

namespace {

int64_t sizeAt(Value v, size_t d) { return cast<RankedTensorType>(v.getType()).getDimSize(static_cast<unsigned>(d)); }

class Groups {
public:
  explicit Groups(ModuleOp module) {
    module.walk<WalkOrder::PreOrder>([&](Operation *op) { // every dimension has a number, in the order of the text
      for (Region &r : op->getRegions())
        for (Block &b : r)
          for (const Value v : b.getArguments())
            number(v);
      for (const Value v : op->getResults())
        number(v);
    });
    module.walk([&](Operation *op) { join(op); });
    for (size_t i = 0; i < places.size(); ++i)
      members[classes.getOrInsertLeaderValue(i)].push_back(i);
  }

  struct Place {
    Value value;
    size_t dim;
  };
  std::vector<Place> places;
  llvm::MapVector<size_t, std::vector<size_t>> members; // of a group, by its first

private:
  llvm::DenseMap<Value, size_t> first; // of a value: the number of its first dimension
  llvm::EquivalenceClasses<size_t> classes;

  void number(Value v) {
    const auto type = dyn_cast<RankedTensorType>(v.getType());
    if (!type)
      return;
    first[v] = places.size();
    for (size_t d = 0; d < static_cast<size_t>(type.getRank()); ++d) {
      classes.insert(places.size());
      places.push_back({v, d});
    }
  }
  void together(Value a, size_t i, Value b, size_t k) { classes.unionSets(first.at(a) + i, first.at(b) + k); }
  void together(Value a, Value b) {
    const auto type = dyn_cast<RankedTensorType>(a.getType());
    if (type && type == b.getType())
      for (size_t d = 0; d < static_cast<size_t>(type.getRank()); ++d)
        together(a, d, b, d);
  }

  void join(Operation *op) {
    const StringRef name = op->getName().getStringRef();
    if (name == "stablehlo.while") {
      for (unsigned i = 0; i < op->getNumResults(); ++i) {
        together(op->getOperand(i), op->getResult(i));
        for (Region &r : op->getRegions())
          together(op->getOperand(i), r.getArgument(i));
        together(op->getOperand(i), op->getRegion(1).front().getTerminator()->getOperand(i));
      }
    } else if (name == "stablehlo.if" || name == "stablehlo.case") {
      for (unsigned i = 0; i < op->getNumResults(); ++i)
        for (Region &r : op->getRegions())
          together(op->getResult(i), r.front().getTerminator()->getOperand(i));
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      joinCall(call);
    } else if (op->getNumResults() > 0) {
      joinLetters(op);
    }
  }

  void joinCall(func::CallOp call) {
    auto callee = call->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(call.getCallee());
    if (!callee || callee.isExternal())
      return;
    for (auto [a, b] : llvm::zip(call.getOperands(), callee.getArguments()))
      together(a, b);
    for (auto [a, b] : llvm::zip(call.getResults(), callee.getBody().front().getTerminator()->getOperands()))
      together(a, b);
  }

  // Dimensions that are one and the same letter.
  void joinLetters(Operation *op) {
    const partition::Rule rule = partition::ruleOf(op);
    llvm::DenseMap<int, Place> of;
    for (size_t t = 0; t < rule.tensors.size(); ++t) {
      const Value v = t < op->getNumOperands() ? op->getOperand(static_cast<unsigned>(t))
                                               : op->getResult(static_cast<unsigned>(t - op->getNumOperands()));
      for (size_t d = 0; d < rule.tensors[t].size(); ++d)
        if (rule.tensors[t][d].size() == 1) {
          const auto [at, fresh] = of.try_emplace(rule.tensors[t][d][0], Place{v, d});
          if (!fresh)
            together(at->second.value, at->second.dim, v, d);
        }
    }
  }
};

// The part of a constant that is left when it has fewer elements.
DenseElementsAttr cropped(DenseElementsAttr value, RankedTensorType type) {
  if (value.isSplat())
    return value.resizeSplat(type);
  const auto from = value.getType().getShape();
  const SmallVector<Attribute> all(value.getValues<Attribute>());
  std::vector<Attribute> out;
  std::vector<int64_t> index(from.size(), 0);
  for (const Attribute &a : all) {
    bool inside = true;
    for (size_t d = 0; d < from.size(); ++d)
      inside &= index[d] < type.getDimSize(static_cast<unsigned>(d));
    if (inside)
      out.push_back(a);
    for (size_t d = from.size(); d-- > 0 && ++index[d] == from[d];)
      index[d] = 0;
  }
  return DenseElementsAttr::get(type, out);
}

// Sizes that an operation has as numbers too, where they said "all of it".
void follow(Operation *op) {
  if (isa<graph::ConstantOp>(op)) {
    const auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (const auto value = dyn_cast<DenseElementsAttr>(op->getAttr("value")); value && value.getType() != type)
      op->setAttr("value", cropped(value, type));
    return;
  }
  const auto replace = [&](StringRef name, Value shaped, Value old) {
    const auto numbers = op->getAttrOfType<DenseI64ArrayAttr>(name);
    if (!numbers || numbers.size() > cast<RankedTensorType>(shaped.getType()).getRank())
      return;
    SmallVector<int64_t> fresh(numbers.asArrayRef());
    for (size_t d = 0; d < fresh.size(); ++d)
      fresh[d] = old ? std::min(fresh[d], sizeAt(shaped, d)) : sizeAt(shaped, d);
    op->setAttr(name, DenseI64ArrayAttr::get(op->getContext(), fresh));
  };
  const StringRef name = op->getName().stripDialect();
  if (name == "slice")
    replace("limit_indices", op->getOperand(0), op->getOperand(0));
  else if (name == "dynamic_slice")
    replace("slice_sizes", op->getResult(0), {});
  else if (name == "gather")
    replace("slice_sizes", op->getOperand(0), op->getOperand(0));
  else if (name == "broadcast")
    replace("broadcast_sizes", op->getResult(0), {});
}

} // namespace

std::vector<int64_t> dimensionGroups(ModuleOp module) {
  std::vector<int64_t> out;
  const Groups groups(module);
  for (const auto &[leader, all] : groups.members)
    out.push_back(sizeAt(groups.places[all[0]].value, groups.places[all[0]].dim));
  return out;
}

void resizeGroup(ModuleOp module, size_t group, int64_t size) {
  const Groups groups(module);
  for (const size_t i : std::next(groups.members.begin(), static_cast<long>(group))->second) {
    Value v = groups.places[i].value;
    const auto type = cast<RankedTensorType>(v.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[groups.places[i].dim] = size;
    v.setType(RankedTensorType::get(shape, type.getElementType(), type.getEncoding()));
  }
  for (auto f : module.getOps<func::FuncOp>())
    if (!f.isExternal())
      f.setType(FunctionType::get(f.getContext(), f.getBody().front().getArgumentTypes(),
                                  f.getBody().front().getTerminator()->getOperandTypes()));
  for (Operation *op : operationsOf(module))
    follow(op);
}

} // namespace glia::reduce
