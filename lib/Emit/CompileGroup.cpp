#include "CompileGroup.h"
#include "glia/CodeGen/Compile.h"
#include "glia/Support/Diagnostic.h"

#include "mlir/IR/BuiltinTypes.h"

namespace glia::emit {

Tensor tensorOf(mlir::Value v, std::string name, TensorKind kind) {
  const auto type = llvm::dyn_cast<mlir::RankedTensorType>(v.getType());
  const std::optional<DType> d = type ? machineType(type.getElementType()) : std::nullopt;
  if (!d) {
    std::string text;
    llvm::raw_string_ostream(text) << v.getType();
    const nisa::Origin o = nisa::originOf(v.getLoc());
    throw Error("GRAPH-TYPE", "the device does not hold values of type " + text,
                "Use 32-bit or narrower integers and floats; docs/graph.md says what is narrowed.", {o.file, o.line, 0});
  }
  Tensor t;
  t.name = std::move(name);
  t.dtype = *d;
  t.shape = shapeOf(v);
  if (t.shape.empty())
    t.shape.push_back(1);
  t.kind = kind;
  return t;
}

Program compileGroup(const Group &g, const std::string &name, const std::string &target) {
  KernelBuilder k(name, target);
  std::vector<Tile> inputs, outputs;
  for (size_t i = 0; i < g.inputs.size(); ++i) {
    const Tensor t = tensorOf(g.inputs[i], "in" + std::to_string(i), TensorKind::Input);
    inputs.push_back(k.input(t.name, t.dtype, shapeOf(g.inputs[i])));
  }
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    const Tensor t = tensorOf(g.outputs[i], "out" + std::to_string(i), TensorKind::Output);
    outputs.push_back(k.output(t.name, t.dtype, shapeOf(g.outputs[i])));
  }
  k.location(g.ops.back()->getLoc());
  g.family->emit(k, g, inputs, outputs);
  nisa::Kernel kernel = k.finish();
  return compileKernel(kernel);
}

} // namespace glia::emit
