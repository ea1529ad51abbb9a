#include "Compiled.h"
#include "CountFlops.h"
#include "ElementTypes.h"
#include "Worker.h"
#include "glia/Region/CompileGraph.h"
#include "glia/Graph/Read.h"
#include "glia/Runtime/CompilerFaults.h"
#include "glia/Support/Checksum.h"
#include "glia/Verify/Verify.h"

#include <algorithm>

namespace glia::pjrt {

namespace {

ArraySpec specOf(mlir::Type type, const char *name, size_t number) {
  ArraySpec out;
  if (const auto t = mlir::dyn_cast<mlir::RankedTensorType>(type)) {
    out.type = elementTypeOf(t.getElementType());
    out.dims.assign(t.getShape().begin(), t.getShape().end());
  }
  if (out.type == ElementType::Invalid) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    throw failure(Code::Unimplemented, "PJRT-TYPE", format("%s %zu of the program is a %s", name, number, text.c_str()),
                  "Pass and return arrays.");
  }
  return out;
}

Signature signatureOf(mlir::ModuleOp module, mlir::func::FuncOp main) {
  Signature out;
  out.name = module.getName().value_or("main").str();
  for (size_t i = 0; const mlir::Type t : main.getArgumentTypes())
    out.arguments.push_back(specOf(t, "argument", i++));
  for (size_t i = 0; const mlir::Type t : main.getResultTypes())
    out.results.push_back(specOf(t, "result", i++));
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (const auto kind = main.getResultAttrOfType<mlir::StringAttr>(i, "mhlo.memory_kind"))
      out.results[i].memory = kind.getValue().str() == kindName(MemoryKind::Host) ? MemoryKind::Host : MemoryKind::Device;
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    const auto donor = main.getArgAttrOfType<mlir::BoolAttr>(i, "jax.buffer_donor");
    out.donated.push_back(main.getArgAttr(i, "tf.aliasing_output") || (donor && donor.getValue()));
  }
  out.flops = countFlops(main);
  return out;
}

// What has elements is a tensor of the program.
void nameTensors(Signature &s) {
  const auto give = [](std::vector<ArraySpec> &specs, const char *prefix) {
    for (size_t i = 0; i < specs.size(); ++i)
      if (bytesOf(specs[i].type, specs[i].dims) > 0)
        specs[i].tensor = prefix + std::to_string(i);
  };
  give(s.arguments, "arg");
  give(s.results, "result");
}

CompiledPtr compile(std::string_view bytes, std::string_view format, const Settings &settings) {
  graph::Graph g = readModule(bytes, format);
  Signature signature = signatureOf(*g.module, g.main());
  GraphOptions options;
  options.target = settings.target;
  options.cores = settings.lnc;
  CompiledGraph made = compileGraph(*g.module, options);
  if (VerifyResult r = verify(made.program); !r.ok())
    throw Error(withCompilerFaults(std::move(r.diagnostics), made.program,
                                   made.written ? CompiledFrom::Kernel : CompiledFrom::Graph));
  nameTensors(signature);
  checkSignature(signature, made.program);
  return std::make_shared<Compiled>(std::move(signature), std::move(made.program), std::string(bytes), settings.target);
}

std::span<const std::byte> bytesIn(std::string_view text) {
  return {reinterpret_cast<const std::byte *>(text.data()), text.size()};
}

} // namespace

void checkSignature(const Signature &s, const Program &p) {
  size_t tensors = 0;
  const auto check = [&](const ArraySpec &spec, int tensor) {
    if (spec.tensor.empty() && bytesOf(spec.type, spec.dims) == 0)
      return;
    ++tensors;
    if (tensor < 0 || p.tensors[static_cast<size_t>(tensor)].bytes() != bytesOf(spec.type, spec.dims))
      throw failure(Code::Internal, "INTERNAL", "the program's tensor `" + spec.tensor + "` is not what its caller has",
                    "Please report it with the program.");
  };
  for (const ArraySpec &a : s.arguments)
    check(a, p.findInput(a.tensor));
  for (const ArraySpec &r : s.results)
    check(r, p.findTensor(r.tensor));
  size_t seen = 0;
  for (const Tensor &t : p.tensors)
    seen += !t.inputName().empty() + (t.kind == TensorKind::Output);
  if (seen != tensors || s.donated.size() != s.arguments.size())
    throw failure(Code::Internal, "INTERNAL", "a program has other inputs and outputs than its signature",
                  "Please report it with the program.");
}

Compiled::Compiled(Signature s, Program p, std::string module, std::string target)
    : signature(std::move(s)), program(std::move(p)), module(std::move(module)), target(std::move(target)),
      fingerprint(
          format("%016llx", (unsigned long long)checksum64(bytesIn(this->module), checksum64(bytesIn(this->target))))) {
  for (const ArraySpec &r : signature.results) {
    resultTypes.push_back(r.type);
    resultRanks.push_back(r.dims.size());
    resultDims.insert(resultDims.end(), r.dims.begin(), r.dims.end());
    const int tensor = program.findTensor(r.tensor);
    const std::string_view from = tensor < 0 ? std::string_view() : program.tensors[static_cast<size_t>(tensor)].from;
    const auto it = std::find_if(signature.arguments.begin(), signature.arguments.end(),
                                 [&](const ArraySpec &a) { return !from.empty() && a.tensor == from; });
    inPlaceOf.push_back(it == signature.arguments.end() ? -1 : static_cast<int>(it - signature.arguments.begin()));
  }
}

const TimingResult *Compiled::timing() const {
  std::call_once(timed, [this] {
    try {
      predicted = simulateTime(program);
    } catch (const Error &e) {
      if (e.diagnostics().front().code != "TIME-DATA")
        throw;
    }
  });
  return predicted ? &*predicted : nullptr;
}

graph::Graph readModule(std::string_view bytes, std::string_view format) {
  if (format != "mlir")
    throw failure(Code::Unimplemented, "PJRT-FORMAT", "a program comes in the format `" + std::string(format) + "`",
                  "Send StableHLO (format `mlir`).");
  return graph::readGraph(bytes, "<module>");
}

CompiledPtr compileModule(std::string_view bytes, std::string_view format, const Settings &settings) {
  CompiledPtr out;
  onDeepStack([&] { out = compile(bytes, format, settings); });
  return out;
}

} // namespace glia::pjrt
