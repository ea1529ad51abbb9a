#include "glia/Transforms/Passes.h"
#include "WriteInPlace.h"
#include "glia/Dialect/Instruction.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Transforms/BeginOutputs.h"
#include "glia/Transforms/ChooseEngines.h"
#include "glia/Transforms/CombineInstructions.h"
#include "glia/Transforms/ResolveAccumulation.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace glia {

namespace {

// A function on a kernel as a pass. What it throws is reported where the instruction came from.
class KernelPass : public PassWrapper<KernelPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KernelPass)
  KernelPass(StringRef argument, StringRef description, std::function<void(nisa::KernelOp)> function)
      : argument(argument), description(description), function(std::move(function)) {}
  StringRef getArgument() const override { return argument; }
  StringRef getDescription() const override { return description; }

  void runOnOperation() override {
    for (nisa::KernelOp kernel : getOperation().getOps<nisa::KernelOp>())
      try {
        function(kernel);
      } catch (const Error &e) {
        for (const Diagnostic &d : e.diagnostics()) {
          const Location at =
              d.place.line ? nisa::makeLocation(&getContext(), d.place.file, d.place.line, "") : kernel.getLoc();
          InFlightDiagnostic out = mlir::emitError(at) << d.code << ": " << d.message;
          for (const std::string &note : d.notes)
            out.attachNote() << note;
        }
        return signalPassFailure();
      }
  }

private:
  StringRef argument, description;
  std::function<void(nisa::KernelOp)> function;
};

} // namespace

void registerKernelPass(StringRef argument, StringRef description, const std::function<void(nisa::KernelOp)> &function) {
  registerPass([argument, description, function]() -> std::unique_ptr<Pass> {
    return std::make_unique<KernelPass>(argument, description, function);
  });
}

void registerTransforms() {
  registerKernelPass("begin-outputs", "Outputs that begin as an input are copied from it first", beginOutputs);
  registerKernelPass("choose-engines", "Give every instruction an engine", [](nisa::KernelOp k) { chooseEngines(k); });
  registerKernelPass("choose-engines-and-forms", "The same; an instruction may become another one with the same bits",
                     [](nisa::KernelOp k) { chooseEngines(k, Forms::Free); });
  registerKernelPass("choose-engines-soon", "The same; of engines with the same bits the one that is done first",
                     [](nisa::KernelOp k) { chooseEngines(k, Forms::Given, Aim::Soon); });
  registerKernelPass("combine-instructions", "Two instructions become one that gives the same bits",
                     [](nisa::KernelOp k) { combineInstructions(k); });
  registerKernelPass("combine-instructions-rounding-less", "The same; values between may stay fp32 where they were bf16",
                     [](nisa::KernelOp k) { combineInstructions(k, Aim::Even, Roundings::MayBeLeftOut); });
  registerKernelPass("write-in-place", "Results take the place of what nobody reads behind them",
                     [](nisa::KernelOp k) { writeInPlace(k, *loadTarget(k.getTarget().str())); });
  registerKernelPass("resolve-accumulation", "Decide for every matmul whether it overwrites or accumulates",
                     resolveAccumulation);
}

} // namespace glia
