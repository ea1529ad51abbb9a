#include "CheckProgram.h"
#include "CompareTensors.h"
#include "RankReference.h"
#include "Reference.h"
#include "glia/Dialect/Instruction.h"
#include "glia/Runtime/CompilerFaults.h"
#include "glia/Sim/Simulator.h"
#include "glia/Verify/VerifyRanks.h"

namespace glia::emit {

namespace {

// The results of the graph, whole.
using Evaluate = std::function<std::vector<HostTensor>(const InterpretOptions &)>;

// The results, in f64, with everything that is computed off by up to 16 roundings; by evaluation.
std::vector<std::vector<HostTensor>> shake(const Evaluate &evaluate) {
  constexpr uint64_t kTimes = 8;
  InterpretOptions options = reference(true);
  options.roundings = 16;
  std::vector<std::vector<HostTensor>> out;
  for (options.shaken = 1; options.shaken <= kTimes; ++options.shaken)
    out.push_back(evaluate(options));
  return out;
}

Diagnostic describe(mlir::func::FuncOp main, size_t result, const Difference &d) {
  const mlir::Value value = main.getBody().front().getTerminator()->getOperand(static_cast<unsigned>(result));
  const nisa::Origin o = nisa::originOf(value.getLoc());
  Diagnostic out;
  out.code = "GRAPH-DIFFERS";
  out.message =
      format("result %zu of the whole program differs from the graph's in %zu of %zu elements", result, d.wrong, d.elements);
  out.place = {o.file, o.line, 0};
  out.value = format("%.9g", d.got);
  out.limit = format("%.9g", d.want);
  out.notes.push_back(format("the first is element %s: %s, the reference has %s",
                             indexText(llvm::cast<mlir::ShapedType>(value.getType()).getShape(), d.first).c_str(),
                             out.value.c_str(), out.limit.c_str()));
  out.notes.push_back(format("relative error %.2g against f64; the reference's own is %.2g", d.error, d.reference));
  out.notes.push_back(
      "each group of operations alone is right: what became of the graph before it was divided is not, or how they "
      "were put together");
  out.advice = "This is a mistake of the compiler: report the graph; `glia compile --dump` writes what became of it.";
  return out;
}

} // namespace

void checkProgram(mlir::ModuleOp module, const std::vector<HostTensor> &given, const GraphOptions &options,
                  GraphCheck &out) {
  const CompiledGraph whole = compileGraph(module, options);
  if (std::vector<Diagnostic> refused = verifyRanks(whole.program).diagnostics; !refused.empty()) {
    out.wrong =
        withCompilerFaults(std::move(refused), whole.program, whole.written ? CompiledFrom::Kernel : CompiledFrom::Graph);
    return;
  }
  out.ranks = std::max(whole.parts.ranks, 1);
  std::optional<RankReference> ranks;
  if (whole.parts.ranks > 1)
    ranks.emplace(module, given, PartitionOptions{.strict = options.strictSharding});
  const std::vector<HostTensor> &inputs = ranks ? ranks->wholeInputs() : given;
  const Evaluate evaluate = [&](const InterpretOptions &o) {
    return ranks ? ranks->evaluate(o) : interpret(module, "main", given, o);
  };
  TensorData data;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].bytes.empty())
      data["arg" + std::to_string(i)] = inputs[i].bytes;
  const RunResult r = run(whole.program, data);
  if (!r.ok()) {
    out.wrong.push_back(r.fault ? *r.fault : *r.trap);
    return;
  }
  const std::vector<HostTensor> want = evaluate(reference(false)), ideal = evaluate(reference(true));
  std::vector<std::vector<HostTensor>> shaken;
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i].bytes.empty()) {
      out.results.push_back({});
      continue;
    }
    const HostTensor got{want[i].element, want[i].shape, r.outputs.at("result" + std::to_string(i))};
    Difference d = compareResults(got, want[i], ideal[i]);
    if (!d.ok()) {
      if (shaken.empty())
        shaken = shake(evaluate);
      std::vector<HostTensor> same;
      for (const std::vector<HostTensor> &s : shaken)
        same.push_back(s[i]);
      d = compareResults(got, want[i], ideal[i], same);
    }
    if (isFloat(want[i].element))
      out.results.push_back({d.error, d.reference});
    else
      out.results.push_back({compareTensors(got, want[i], nullptr, Closeness::Exact).error, 0});
    if (!d.ok())
      out.wrong.push_back(describe(module.lookupSymbol<mlir::func::FuncOp>("main"), i, d));
  }
}

} // namespace glia::emit
