#include "glia/CodeGen/Compile.h"
#include "glia/CodeGen/ProgramWriter.h"
#include "glia/Reduce/CompareKernel.h"
#include "glia/Reduce/ReduceKernel.h"
#include "glia/Runtime/CompilerFaults.h"
#include "glia/Runtime/RandomInputs.h"
#include "glia/Verify/VerifyRanks.h"

namespace glia::reduce {

static nisa::Kernel kernelOf(const std::string &text, const std::string &target) {
  nisa::Kernel k = nisa::parseKernel(text, "kernel.nisa");
  if (!target.empty())
    k.op().setTarget(target);
  if (std::vector<Diagnostic> bad = checkKernel(k); !bad.empty())
    throw Error(std::move(bad));
  return k;
}

Outcome judgeCompiledKernel(const std::string &text, const std::string &target) {
  nisa::Kernel k = kernelOf(text, target);
  CompileOptions options;
  options.tryOrders = true;
  const Program p = compileKernel(k, options);
  return outcomeOf(withCompilerFaults(verifyRanks(p).diagnostics, p, CompiledFrom::Kernel));
}

Outcome judgeComparedKernel(const std::string &text, const std::string &target, uint64_t seed) {
  nisa::Kernel k = kernelOf(text, target);
  Random random(seed);
  ProgramWriter writer(k.op(), loadTarget(k.op().getTarget().str()));
  const TensorData inputs = randomInputs(writer.builder().program(), random);
  const KernelVerdict v = compareKernel(k, inputs);
  if (v.ok())
    return {};
  if (v.kind != "differs")
    return {{v.code, v.detail}};
  return {{selfContained(k, inputs) ? kMismatch : "undefined", v.detail}};
}

} // namespace glia::reduce
