// What the check itself allows and what it does not.
#include "CheckGraph.h"

using namespace glia;

namespace {

constexpr const char *kBits = R"(
func.func @main(%x: tensor<128x16xf32>, %y: tensor<128x16xf32>) -> (tensor<128x16xi32>, tensor<128x16xui16>) {
  %0 = stablehlo.exponential %x : tensor<128x16xf32>
  %1 = stablehlo.divide %y, %0 : tensor<128x16xf32>
  %2 = stablehlo.bitcast_convert %1 : (tensor<128x16xf32>) -> tensor<128x16xi32>
  %3 = stablehlo.convert %1 : (tensor<128x16xf32>) -> tensor<128x16xbf16>
  %4 = stablehlo.tanh %3 : tensor<128x16xbf16>
  %5 = stablehlo.bitcast_convert %4 : (tensor<128x16xbf16>) -> tensor<128x16xui16>
  return %2, %5 : tensor<128x16xi32>, tensor<128x16xui16>
})";

TEST(CheckGraph, BitsOfAFloatAreAsNearAsTheFloat) { expectRight(kBits); }

// Whether a rounded float equals another is decided by a rounding, and f64 has no such equalities.
TEST(CheckGraph, EqualitiesOfRoundedFloats) {
  expectRight(R"(
func.func @main(%x: tensor<16x2x32x24xf32>) -> tensor<16x2x32x24xi1> {
  %0 = chlo.asin %x : tensor<16x2x32x24xf32> -> tensor<16x2x32x24xf32>
  %1 = stablehlo.compare EQ, %0, %x : (tensor<16x2x32x24xf32>, tensor<16x2x32x24xf32>) -> tensor<16x2x32x24xi1>
  return %1 : tensor<16x2x32x24xi1>
})");
}

// More than f16 holds, though a sum that is rounded at every step stays at 8192: sums are wide, several in one reduction too.
TEST(CheckGraph, SumsThatAreInfinite) {
  expectRight(R"(
func.func @main(%x: tensor<513x48xf16>) -> (tensor<f16>, tensor<f16>) {
  %c = stablehlo.constant dense<3.0> : tensor<513x48xf16>
  %z = stablehlo.constant dense<0.0> : tensor<f16>
  %0:2 = "stablehlo.reduce"(%x, %c, %z, %z) ({
  ^bb0(%a: tensor<f16>, %b: tensor<f16>, %d: tensor<f16>, %e: tensor<f16>):
    %1 = stablehlo.add %a, %d : tensor<f16>
    %2 = stablehlo.add %b, %e : tensor<f16>
    stablehlo.return %1, %2 : tensor<f16>, tensor<f16>
  }) {dimensions = array<i64: 0, 1>} : (tensor<513x48xf16>, tensor<513x48xf16>, tensor<f16>, tensor<f16>) -> (tensor<f16>, tensor<f16>)
  return %0#0, %0#1 : tensor<f16>, tensor<f16>
})");
}

// Integers that differ are reported as a share of their tensor, not as one number for all.
TEST(CheckGraph, SaysHowManyIntegersDiffer) {
  GraphCheck report;
  graph::Graph g = graph::parseGraph(kBits, "test.mlir");
  ASSERT_EQ(differences(kBits, "trn2", randomInputs(g.main(), 1), &report), "");
  EXPECT_GT(report.results.at(0).error, 0);
  EXPECT_LT(report.results.at(0).error, 1);
}

// An integer that hangs on no rounding is judged exactly, however it was computed.
TEST(CheckGraph, JudgesIntegersOfTheWholeProgram) {
  graph::Graph g = graph::parseGraph(R"(
func.func @main(%x: tensor<6xi32>, %y: tensor<6xf32>) -> (tensor<6xi32>, tensor<6xi1>) {
  %c = stablehlo.constant dense<7> : tensor<6xi32>
  %s = stablehlo.constant dense<0.0> : tensor<6xf32>
  %0 = stablehlo.add %x, %c : tensor<6xi32>
  %1 = stablehlo.compare GT, %y, %s : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  return %0, %1 : tensor<6xi32>, tensor<6xi1>
})",
                                     "test.mlir");
  const auto verdict = [&](llvm::StringRef operation) {
    GraphOptions options;
    options.onRewrite = [&](std::string_view rewrite, mlir::func::FuncOp main) {
      if (rewrite != "inline calls")
        return;
      for (mlir::Operation &op : llvm::make_early_inc_range(main.getBody().front()))
        if (op.getName().stripDialect() == operation) { // a copy, that nothing ties to what was given
          mlir::Operation *copy = mlir::OpBuilder(&op).clone(op);
          copy->setOperands({copy->getOperand(1), copy->getOperand(1)});
          op.replaceAllUsesWith(copy);
          op.erase();
        }
    };
    return checkGraph(*g.module, randomInputs(g.main(), 1), options);
  };
  EXPECT_TRUE(verdict("none").ok());
  for (const char *operation : {"add", "compare"}) {
    const GraphCheck check = verdict(operation);
    ASSERT_EQ(check.wrong.size(), 1u) << operation;
    EXPECT_EQ(check.wrong[0].code, "GRAPH-DIFFERS");
    EXPECT_NE(check.wrong[0].message.find("of the whole program"), std::string::npos) << check.wrong[0].message;
  }
}

} // namespace
