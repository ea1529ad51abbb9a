// glia-opt: parses kernel or graph IR, runs passes, prints the result. For tests of single passes.
#include "glia/CodeGen/Passes.h"
#include "glia/Dialect/Nisa.h"
#include "glia/Graph/Partition.h"
#include "glia/Transforms/Passes.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  glia::registerTransforms();
  glia::registerPasses();
  glia::registerPartitionPass();
  mlir::DialectRegistry registry;
  registry
      .insert<glia::nisa::NisaDialect, glia::graph::GraphDialect, glia::graph::chlo::ChloDialect, mlir::func::FuncDialect>();
  glia::insertShardingDialect(registry);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "glia kernel passes\n", registry));
}
