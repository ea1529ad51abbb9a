#include "Compiled.h"
#include "CountFlops.h"
#include "ElementTypes.h"
#include "Worker.h"
#include "glia/Graph/RoundProducts.h"
#include "glia/Region/CompileGraph.h"
#include "glia/Graph/Read.h"
#include "glia/Program/RankContract.h"
#include "glia/Runtime/CompilerFaults.h"
#include "glia/Support/Checkpoint.h"
#include "glia/Support/Checksum.h"
#include "glia/Verify/VerifyRanks.h"

#include <algorithm>
#include <atomic>
#include <cstdio>

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

int64_t countOf(mlir::ModuleOp module, llvm::StringRef name) {
  const auto n = module->getAttrOfType<mlir::IntegerAttr>(name);
  return n ? n.getInt() : 1;
}

Signature signatureOf(mlir::ModuleOp module, mlir::func::FuncOp main) {
  Signature out;
  out.replicas = countOf(module, "mhlo.num_replicas");
  out.partitions = countOf(module, "mhlo.num_partitions");
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

// Each device has a part.
void divide(Signature &s, const PartitionedGraph &parts) {
  const auto give = [](std::vector<ArraySpec> &specs, const std::vector<Placement> &places) {
    for (size_t i = 0; i < specs.size(); ++i)
      specs[i].dims.assign(places[i].localShape.begin(), places[i].localShape.end());
  };
  give(s.arguments, parts.arguments);
  give(s.results, parts.results);
}

// What the framework wants of a module that does not say it.
void setRanks(mlir::ModuleOp module, RanksWanted ranks) {
  const auto set = [&](llvm::StringRef name, int64_t n) {
    if (n > 1 && !module->hasAttr(name))
      module->setAttr(name, mlir::Builder(module.getContext()).getI32IntegerAttr(static_cast<int32_t>(n)));
  };
  set("mhlo.num_replicas", ranks.replicas);
  set("mhlo.num_partitions", ranks.partitions);
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

CompiledPtr compile(std::string_view bytes, std::string_view format, const Settings &settings, RanksWanted ranks) {
  graph::Graph g = readModule(bytes, format);
  setRanks(*g.module, ranks);
  graph::roundProducts(*g.module, settings.autoCast);
  Signature signature = signatureOf(*g.module, g.main());
  GraphOptions options;
  options.target = settings.target;
  options.cores = settings.lnc;
  options.topology = settings.topology;
  options.keep = true;
  CompiledGraph made = compileGraph(*g.module, options);
  if (VerifyResult r = verifyRanks(made.program); !r.ok())
    throw Error(withCompilerFaults(std::move(r.diagnostics), made.program,
                                   made.written ? CompiledFrom::Kernel : CompiledFrom::Graph));
  for (const std::string &w : made.parts.warnings)
    std::fprintf(stderr, "glia: %s: %s\n", signature.name.c_str(), w.c_str());
  if (signature.ranks() > 1) {
    divide(signature, made.parts);
    signature.description = describeParts(signature, g.main(), made.parts);
  }
  nameTensors(signature);
  checkSignature(signature, made.program);
  return std::make_shared<Compiled>(std::move(signature), std::move(made.program), std::string(bytes), settings.target);
}

std::atomic<unsigned> stops = 0; // how often everything that was being compiled had to end

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
  const std::string rank = rankInputOf(p);
  for (const Tensor &t : p.tensors)
    seen += (!t.inputName().empty() && t.inputName() != rank) + (t.kind == TensorKind::Output);
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

CompiledPtr compileModule(std::string_view bytes, std::string_view format, const Settings &settings, RanksWanted ranks) {
  CompiledPtr out;
  onDeepStack([&, begun = stops.load()] {
    const Watched watched([=] { return stops.load() != begun; });
    out = compile(bytes, format, settings, ranks);
    checkpoint();
  });
  return out;
}

void stopCompiling() { ++stops; }

} // namespace glia::pjrt
