// partitionGraph as a pass, for tests of single graphs: where arguments and results lie is printed as remarks.
#include "glia/Graph/Partition.h"
#include "glia/Support/Diagnostic.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace glia {

namespace {

class PartitionPass : public PassWrapper<PartitionPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PartitionPass)
  PartitionPass() = default;
  PartitionPass(const PartitionPass &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "partition"; }
  StringRef getDescription() const override { return "divides a graph with shardings among its partitions"; }
  void runOnOperation() override {
    getContext().printOpOnDiagnostic(false); // the module is printed behind
    try {
      PartitionOptions options;
      options.strict = strict;
      const PartitionedGraph made = partitionGraph(getOperation(), options);
      for (const auto &[what, list] : {std::pair("argument", &made.arguments), std::pair("result", &made.results)})
        for (size_t i = 0; i < list->size(); ++i)
          getOperation().emitRemark(std::string(what) + " " + std::to_string(i) + " " + (*list)[i].hlo);
      for (const std::string &w : made.warnings)
        getOperation().emitWarning(w);
    } catch (const Error &e) {
      for (const Diagnostic &d : e.diagnostics())
        getOperation().emitError(d.code + ": " + d.message);
      signalPassFailure();
    }
  }

private:
  Option<bool> strict{*this, "strict", llvm::cl::desc("refuse what would be gathered because an operation needs it whole")};
};

} // namespace

void registerPartitionPass() { PassRegistration<PartitionPass>(); }

} // namespace glia
