#include "CompileGroup.h"
#include "WriteKernel.h"
#include "Region/Place/InPlace.h"
#include "Region/Form/SplitGroup.h"
#include "Lower/Kernel/StoredShape.h"
#include "Transforms/WriteInPlace.h"
#include "glia/CodeGen/Compile.h"
#include "glia/Lower/KernelCalls.h"
#include "glia/Link/Link.h"

namespace glia::emit {

// A half of a tensor in HBM.
static Tile cut(const Tile &t, int dim, int core) {
  if (dim < 0)
    return t;
  const int64_t half = t.dims[static_cast<size_t>(dim)].count / 2;
  return t.part(dim, core * half, half);
}

using InPlace = std::vector<std::pair<size_t, size_t>>; // inputs and the outputs that are written over them

static nisa::Kernel finished(KernelBuilder &k) {
  nisa::Kernel kernel = k.finish();
  finishKernel(kernel, k.fewTables);
  writeInPlace(kernel.op(), k.target());
  return kernel;
}

static nisa::Kernel writeGroup(const Group &g, const std::string &name, const std::string &target, int cores,
                               const InPlace &inPlace) {
  std::optional<HalfGroup> half = cores == 2 ? halveGroup(g) : std::nullopt;
  KernelBuilder k(name, target, half ? 2 : 1);
  k.fewTables = g.fewTables;
  std::vector<Tile> inputs, outputs;
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    const Tensor t = tensorOf(g.outputs[i], outputName(i), TensorKind::Output);
    outputs.push_back(k.output(t.name, t.dtype, shapeOf(g.outputs[i])));
  }
  for (size_t i = 0; i < g.inputs.size(); ++i) {
    const Tensor t = tensorOf(g.inputs[i], inputName(i), TensorKind::Input);
    const auto place = llvm::find_if(inPlace, [&](const auto &p) { return p.first == i; });
    if (g.over == i) {
      inputs.push_back(outputs.at(0));
    } else if (place != inPlace.end()) {
      inputs.push_back(outputs.at(place->second).reshaped(atLeastOne(shapeOf(g.inputs[i]))));
    } else if (elementsOf(g.inputs[i]) == 0) { // there is nothing to read
      inputs.push_back(nothing(t.dtype, shapeOf(g.inputs[i])));
    } else {
      inputs.push_back(k.input(t.name, t.dtype, shapeOf(g.inputs[i])));
    }
  }
  k.location(g.ops.back()->getLoc());
  if (!half) {
    g.family->emit(k, g, inputs, outputs);
    return finished(k);
  }
  for (int core = 0; core < 2; ++core) {
    k.trace().core(core);
    std::vector<Tile> in, out;
    for (size_t i = 0; i < inputs.size(); ++i)
      in.push_back(cut(inputs[i], half->inputDims[i], core));
    for (size_t i = 0; i < outputs.size(); ++i)
      out.push_back(cut(outputs[i], half->outputDims[i], core));
    g.family->emit(k, half->group, in, out);
  }
  return finished(k);
}

// What cannot be written in place is written as if there were no such wish.
static nisa::Kernel writeGroup(const Group &g, const std::string &name, const std::string &target, int cores) {
  nisa::Kernel kernel = writeGroup(g, name, target, cores, g.inPlace);
  InPlace good;
  for (const auto &p : g.inPlace)
    if (readsBeforeWriting(kernel, outputName(p.second)))
      good.push_back(p);
  return good.size() == g.inPlace.size() ? std::move(kernel) : writeGroup(g, name, target, cores, good);
}

// The call of a kernel that the graph brings along, under the names of the group.
static Program linkWritten(const Group &g, const std::string &target) {
  mlir::Operation *op = g.ops.front();
  std::vector<Tensor> tensors;
  const auto nameOf = [&](const std::vector<mlir::Value> &list, mlir::Value v, const char *stem) {
    const auto at = std::find(list.begin(), list.end(), v);
    return stem + std::to_string(at - list.begin());
  };
  for (mlir::Value v : g.inputs)
    tensors.push_back(tensorOf(v, nameOf(g.inputs, v, "in"), TensorKind::Input));
  for (mlir::Value v : g.outputs)
    tensors.push_back(tensorOf(v, nameOf(g.outputs, v, "out"), TensorKind::Output));
  KernelCalls kernels(target);
  LinkCall call;
  call.object = kernels.compile(op);
  const std::vector<std::string> in = tensorNames(*call.object, TensorKind::Input),
                                 out = tensorNames(*call.object, TensorKind::Output);
  for (size_t i = 0; i < in.size(); ++i)
    call.bind.push_back({in[i], nameOf(g.inputs, op->getOperand(i), "in"), true});
  for (size_t i = 0; i < out.size(); ++i)
    if (llvm::is_contained(g.outputs, op->getResult(i))) // others become outputs that nobody asks for
      call.bind.push_back({out[i], nameOf(g.outputs, op->getResult(i), "out"), true});
  return linkProgram(loadTarget(target), std::move(tensors), {call});
}

Program compileGroup(const Group &g, const std::string &name, const std::string &target, int cores,
                     const std::function<void(nisa::Kernel &)> &written) {
  if (isKernelCall(g.ops.front()))
    return linkWritten(g, target);
  return guarded(g, name, target, [&] {
    nisa::Kernel kernel = writeGroup(g, name, target, cores);
    if (written)
      written(kernel);
    return compileKernel(kernel, {.keepTiles = false});
  });
}

} // namespace glia::emit
