#include "Region.h"
#include "Graph/Analysis/GraphFacts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace glia::emit {

Region regionOf(std::span<const Group> groups, const std::function<bool(mlir::Value)> &isNeeded) {
  llvm::SetVector<mlir::Value> inputs, made;
  for (const Group &g : groups) {
    for (mlir::Value v : g.inputs)
      if (!made.contains(rootOf(v)))
        inputs.insert(rootOf(v));
    made.insert(g.outputs.begin(), g.outputs.end());
  }
  Region out{groups, std::vector<mlir::Value>(inputs.begin(), inputs.end()), {}, {}};
  llvm::copy_if(made, std::back_inserter(out.outputs), isNeeded);
  return out;
}

std::string structureOf(const Region &r) {
  std::string out;
  llvm::DenseMap<mlir::Value, size_t> numbers;
  const auto number = [&](mlir::Value v) {
    return std::to_string(numbers.try_emplace(rootOf(v), numbers.size()).first->second) + ",";
  };
  for (const Group &g : r.groups) {
    out += std::string(g.family->name()) + "[" + structureOf(g) + "](";
    for (mlir::Value v : g.inputs)
      out += number(v);
    out += ")(";
    for (mlir::Value v : g.outputs)
      out += number(v);
    out += ")\n";
  }
  for (mlir::Value v : r.outputs)
    out += number(v);
  for (const auto &[input, output] : r.inPlace)
    out += "in place " + std::to_string(input) + " " + std::to_string(output) + ",";
  return out;
}

} // namespace glia::emit
