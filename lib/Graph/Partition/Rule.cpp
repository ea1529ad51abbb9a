#include "Rule.h"

using namespace mlir;

namespace glia::partition {

bool speaksOfDevices(Operation *op) {
  static constexpr StringLiteral kNames[] = {
      "all_reduce",         "all_gather",   "all_to_all", "reduce_scatter", "collective_broadcast",
      "collective_reduce",  "partition_id", "infeed",     "outfeed",        "cross-replica-sum",
      "collective_permute", "send",         "recv",       "async_start",    "async_done"};
  return op->getName().getDialectNamespace() == "stablehlo" && llvm::is_contained(kNames, op->getName().stripDialect());
}

int64_t rankOf(Type type) {
  const auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getRank() : 0;
}

Rule sameRule(Type type, size_t values) {
  Rule rule;
  rule.easy = true;
  Letters letters(static_cast<size_t>(rankOf(type)));
  for (size_t d = 0; d < letters.size(); ++d)
    if (const int64_t size = cast<RankedTensorType>(type).getDimSize(static_cast<unsigned>(d)); size != 1)
      letters[d].push_back(rule.add(size));
  rule.tensors.assign(values, letters);
  return rule;
}

Assignment lettersOf(const Rule &rule, size_t t, const Layout &layout, const Mesh &mesh) {
  Assignment out(rule.letters.size());
  const Letters &dims = rule.tensors[t];
  for (size_t d = 0; d < dims.size() && d < layout.dims.size(); ++d) {
    size_t k = 0;
    int64_t rest = dims[d].empty() ? 1 : rule.letters[static_cast<size_t>(dims[d][0])].size;
    for (const int axis : layout.dims[d]) {
      while (rest == 1 && k + 1 < dims[d].size())
        rest = rule.letters[static_cast<size_t>(dims[d][++k])].size;
      const int64_t size = mesh.sizes[static_cast<size_t>(axis)];
      if (dims[d].empty() || rest % size || rest == 0)
        break;
      out[static_cast<size_t>(dims[d][k])].push_back(axis);
      rest /= size;
    }
  }
  return out;
}

Layout layoutOf(const Rule &rule, size_t t, const Assignment &axes, const Mesh &mesh) {
  const Letters &dims = rule.tensors[t];
  Layout out = Layout::whole(static_cast<int64_t>(dims.size()));
  for (size_t d = 0; d < dims.size(); ++d)
    for (const int letter : dims[d]) {
      const Axes &own = axes[static_cast<size_t>(letter)];
      out.dims[d].append(own.begin(), own.end());
      if (mesh.sizeOf(own) != rule.letters[static_cast<size_t>(letter)].size)
        break;
    }
  return out;
}

void settle(const Rule &rule, Assignment &axes, const Mesh &mesh) {
  for (bool again = true; again;) {
    again = false;
    for (const Letters &dims : rule.tensors)
      for (const auto &letters : dims) {
        bool full = true;
        for (const int letter : letters) {
          Axes &own = axes[static_cast<size_t>(letter)];
          if (!full && !own.empty()) {
            own.clear();
            again = true;
          }
          full = full && mesh.sizeOf(own) == rule.letters[static_cast<size_t>(letter)].size;
        }
      }
  }
}

StringRef combinerOf(Region &body) {
  if (!body.hasOneBlock() || body.front().getNumArguments() != 2)
    return {};
  Block &block = body.front();
  Operation *end = block.getTerminator();
  Operation *made = end->getNumOperands() == 1 ? end->getOperand(0).getDefiningOp() : nullptr;
  if (!made || made->getNumOperands() != 2 || made->getNumRegions() ||
      made->getResult(0).getType() != block.getArgument(0).getType())
    return {};
  const Value a = block.getArgument(0), b = block.getArgument(1), x = made->getOperand(0), y = made->getOperand(1);
  static constexpr StringLiteral kNames[] = {"add", "multiply", "maximum", "minimum", "and", "or", "xor"};
  const bool both = (x == a && y == b) || (x == b && y == a);
  return both && llvm::is_contained(kNames, made->getName().stripDialect()) ? made->getName().stripDialect() : StringRef();
}

TypedAttr identityOf(StringRef combiner, Type element) {
  const bool zero = combiner == "add" || combiner == "or" || combiner == "xor";
  if (const auto f = dyn_cast<FloatType>(element)) {
    if (zero || combiner == "multiply")
      return FloatAttr::get(f, zero ? 0.0 : 1.0);
    if ((combiner != "maximum" && combiner != "minimum") || !APFloat::semanticsHasInf(f.getFloatSemantics()))
      return {};
    return FloatAttr::get(f, APFloat::getInf(f.getFloatSemantics(), combiner == "maximum"));
  }
  const auto i = dyn_cast<IntegerType>(element);
  if (!i)
    return {};
  const unsigned bits = i.getWidth();
  const bool isSigned = !i.isUnsigned() && bits > 1;
  if (bits == 1) // add is or, multiply is and
    return IntegerAttr::get(i, zero || combiner == "maximum" ? 0 : 1);
  if (zero || combiner == "multiply")
    return IntegerAttr::get(i, APInt(bits, zero ? 0 : 1));
  if (combiner == "and")
    return IntegerAttr::get(i, APInt::getAllOnes(bits));
  if (combiner == "maximum")
    return IntegerAttr::get(i, isSigned ? APInt::getSignedMinValue(bits) : APInt::getMinValue(bits));
  return combiner == "minimum" ? IntegerAttr::get(i, isSigned ? APInt::getSignedMaxValue(bits) : APInt::getMaxValue(bits))
                               : IntegerAttr();
}

} // namespace glia::partition
