// Dots that add nothing up are multiplications, in the order that moves the least.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

GraphCheck checked(const std::string &text) {
  expectRight(text);
  GraphCheck report;
  EXPECT_EQ(differences(text, "trn2", randomInputs(graph::parseGraph(text, "test.mlir").main(), 2), &report), "");
  return report;
}

// bslh,sh->bslh as JAX writes it: one group, since the transpose that follows gives the order of the product.
TEST(Dot, ProductByElement) {
  EXPECT_EQ(checked(R"(func.func @main(%x: tensor<2x6x16x8xf32>, %y: tensor<6x8xf32>) -> tensor<2x6x16x8xf32> {
  %0 = stablehlo.dot_general %y, %x, batching_dims = [0, 1] x [1, 3], contracting_dims = [] x [] : (tensor<6x8xf32>, tensor<2x6x16x8xf32>) -> tensor<6x8x2x16xf32>
  %1 = stablehlo.transpose %0, dims = [2, 0, 3, 1] : (tensor<6x8x2x16xf32>) -> tensor<2x6x16x8xf32>
  return %1 : tensor<2x6x16x8xf32>
})")
                .groups,
            1u);
}

// Contracted dimensions of size 1 go away; an outer product of two vectors.
TEST(Dot, OuterProduct) {
  EXPECT_EQ(checked(R"(func.func @main(%x: tensor<130x1xf32>, %y: tensor<1x77xf32>) -> tensor<130x77xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<130x1xf32>, tensor<1x77xf32>) -> tensor<130x77xf32>
  return %0 : tensor<130x77xf32>
})")
                .groups,
            1u);
}

// Narrow factors of a wide result are not rounded before it; a narrow result is rounded once.
TEST(Dot, Types) {
  const auto outer = [](const std::string &a, const std::string &b, const std::string &result) {
    return "func.func @main(%x: tensor<9x" + a + ">, %y: tensor<33x" + b + ">) -> tensor<9x33x" + result +
           "> {\n  %0 = stablehlo.dot_general %x, %y, contracting_dims = [] x [] : (tensor<9x" + a + ">, tensor<33x" + b +
           ">) -> tensor<9x33x" + result + ">\n  return %0 : tensor<9x33x" + result + ">\n}";
  };
  expectRight(outer("bf16", "bf16", "f32"));
  expectRight(outer("bf16", "bf16", "bf16"));
  expectRight(outer("f16", "bf16", "f32"));
  expectRight(outer("f32", "f32", "bf16"));
  expectRight(outer("i32", "i32", "i32"));
  expectRight(outer("i8", "i8", "i32"));
  expectRight(outer("ui16", "ui16", "ui16"));
  expectRight(outer("i1", "i1", "i1"));
}

// Thousands of very small products: of the Vector engine, 128 rows at a time; what is contracted stands anywhere.
TEST(Dot, ManySmallOnes) {
  const GraphCheck report =
      checked(R"(func.func @main(%x: tensor<20x9x30xf32>, %y: tensor<20x9x30xf32>) -> tensor<20x30xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0, 2] x [0, 2], contracting_dims = [1] x [1] : (tensor<20x9x30xf32>, tensor<20x9x30xf32>) -> tensor<20x30xf32>
  return %0 : tensor<20x30xf32>
})");
  EXPECT_GT(report.operations, 1u); // no dot is left
  expectRight(R"(func.func @main(%x: tensor<3x400x2x5xbf16>, %y: tensor<5x2x400x4xbf16>) -> tensor<400x3x4xbf16> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [1] x [2], contracting_dims = [3, 2] x [0, 1] : (tensor<3x400x2x5xbf16>, tensor<5x2x400x4xbf16>) -> tensor<400x3x4xbf16>
  return %0 : tensor<400x3x4xbf16>
})");
}

} // namespace
