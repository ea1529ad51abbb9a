#include "CompileRegion.h"
#include "Braid.h"
#include "WriteKernel.h"
#include "Graph/Analysis/GraphFacts.h"
#include "Lower/Kernel/StoredShape.h"
#include "Place/InPlace.h"
#include "glia/CodeGen/Compile.h"
#include "glia/CodeGen/Passes.h"
#include "glia/Support/Diagnostic.h"

namespace glia::emit {

// The groups one after the other. What they hand to each other is stored and loaded, as if each were alone. Nothing, if an input is read
// after the output in its place was written.
static std::optional<nisa::Kernel> writeRegion(const Region &r, const std::string &name, const std::string &target,
                                               Aim aim) {
  KernelBuilder k(name, target);
  llvm::DenseMap<mlir::Value, Tile> tiles;
  for (size_t i = 0; i < r.outputs.size(); ++i) {
    const Tensor t = tensorOf(r.outputs[i], outputName(i), TensorKind::Output);
    tiles[r.outputs[i]] = k.output(t.name, t.dtype, shapeOf(r.outputs[i]));
  }
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    const Tensor t = tensorOf(r.inputs[i], inputName(i), TensorKind::Input);
    const auto place = llvm::find_if(r.inPlace, [&](const auto &p) { return p.first == i; });
    const mlir::Value like = place == r.inPlace.end() ? r.inputs[i] : r.outputs[place->second];
    tiles[r.inputs[i]] = elementsOf(r.inputs[i]) == 0
                             ? nothing(t.dtype, shapeOf(r.inputs[i]))
                             : k.input(t.name, t.dtype, shapeOf(like)).reshaped(atLeastOne(shapeOf(r.inputs[i])));
  }
  std::vector<uint64_t> ends;
  for (const Group &g : r.groups) {
    std::vector<Tile> inputs, outputs;
    for (mlir::Value v : g.inputs) {
      const Tile &whole = tiles.at(rootOf(v));
      inputs.push_back(elementsOf(v) == 0 ? nothing(whole.dtype, shapeOf(v)) : whole.reshaped(atLeastOne(shapeOf(v))));
    }
    for (mlir::Value v : g.outputs) {
      auto [it, fresh] = tiles.try_emplace(v);
      if (fresh) {
        const Tensor t = tensorOf(v, "", TensorKind::Scratch);
        it->second = k.scratch(t.dtype, shapeOf(v));
      }
      outputs.push_back(it->second);
    }
    k.fewTables = g.fewTables;
    k.location(g.ops.back()->getLoc());
    g.family->emit(k, g, inputs, outputs);
    ends.push_back(k.trace().instructions());
  }
  nisa::Kernel kernel = k.finish();
  braid(kernel, r, ends, k.target());
  if (llvm::any_of(r.groups, [](const Group &g) { return g.family->name() == "convolution"; }))
    kernel.op()->setAttr(kWholeTiles, mlir::UnitAttr::get(kernel.op().getContext()));
  reuseLoads(kernel.op(), k.target()); // several groups read one value: it is turned once
  keepValues(kernel.op(), k.target());
  for (const auto &[input, output] : r.inPlace) { // before: what was stored is not what the input held
    putInPlace(kernel, inputName(input), outputName(output));
    if (!readsBeforeWriting(kernel, outputName(output)))
      return std::nullopt;
  }
  finishKernel(kernel, k.fewTables, aim);
  return kernel;
}

// What is written down if something goes wrong.
static Group asOneGroup(const Region &r) {
  Group out{.family = r.groups.back().family, .inputs = r.inputs, .outputs = r.outputs};
  for (const Group &g : r.groups)
    out.ops.insert(out.ops.end(), g.ops.begin(), g.ops.end());
  return out;
}

std::optional<Program> compileRegion(const Region &r, const std::string &name, const std::string &target, Aim aim,
                                     const std::function<void(nisa::Kernel &)> &written) {
  bool possible = false;
  Program p = guarded(asOneGroup(r), name, target, [&] {
    try {
      std::optional<nisa::Kernel> kernel = writeRegion(r, name, target, aim);
      if (!kernel)
        return Program();
      if (written)
        written(*kernel);
      Program made = compileKernel(*kernel);
      possible = true;
      return made;
    } catch (const Error &e) {
      if (e.diagnostics()[0].code != "KERNEL-MEMORY") // its groups may fit apart
        throw;
      return Program();
    }
  });
  return possible ? std::optional(std::move(p)) : std::nullopt;
}

} // namespace glia::emit
