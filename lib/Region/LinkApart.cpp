#include "LinkApart.h"
#include "WriteKernel.h"
#include "Graph/Analysis/GraphFacts.h"
#include "glia/Link/Link.h"

namespace glia::emit {

Program linkApart(const Region &r, std::span<const std::shared_ptr<const Program>> objects, const std::string &target) {
  std::vector<Tensor> tensors;
  llvm::DenseMap<mlir::Value, std::string> names;
  const auto declare = [&](mlir::Value v, TensorKind kind) {
    auto [it, fresh] = names.try_emplace(v, "v" + std::to_string(names.size()));
    if (fresh && elementsOf(v) > 0)
      tensors.push_back(tensorOf(v, it->second, kind));
  };
  for (mlir::Value v : r.inputs)
    declare(v, TensorKind::Input);
  for (mlir::Value v : r.outputs)
    declare(v, TensorKind::Output);
  std::vector<LinkCall> calls;
  for (size_t n = 0; n < r.groups.size(); ++n) {
    const Group &g = r.groups[n];
    LinkCall c{objects[n], std::string(g.family->name()), {}};
    for (size_t i = 0; i < g.inputs.size(); ++i)
      if (objects[n]->findTensor(inputName(i)) >= 0)
        c.bind.push_back({inputName(i), names.at(rootOf(g.inputs[i])), true});
    for (size_t i = 0; i < g.outputs.size(); ++i) {
      declare(g.outputs[i], TensorKind::Scratch);
      c.bind.push_back({outputName(i), names.at(g.outputs[i]), true});
    }
    calls.push_back(std::move(c));
  }
  return linkProgram(loadTarget(target), std::move(tensors), calls);
}

} // namespace glia::emit
