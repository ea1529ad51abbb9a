// Transposes beside contractions and convolutions cost nothing: no group is left of them.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

void expectOneGroup(const std::string &text) {
  expectRight(text);
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  EXPECT_EQ(compileGraph(*g.module).groups, 1u);
}

TEST(FoldTranspose, IntoADot) {
  expectOneGroup(R"(
func.func @main(%x: tensor<40x30xf32>, %w: tensor<20x30xf32>) -> tensor<20x40xf32> {
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<20x30xf32>) -> tensor<30x20xf32>
  %d = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<40x30xf32>, tensor<30x20xf32>) -> tensor<40x20xf32>
  %r = stablehlo.transpose %d, dims = [1, 0] : (tensor<40x20xf32>) -> tensor<20x40xf32>
  return %r : tensor<20x40xf32>
})");
}

TEST(FoldTranspose, IntoABatchedDot) {
  expectOneGroup(R"(
func.func @main(%q: tensor<24x2x16xf32>, %k: tensor<20x2x16xf32>) -> tensor<2x20x24xf32> {
  %a = stablehlo.transpose %q, dims = [1, 0, 2] : (tensor<24x2x16xf32>) -> tensor<2x24x16xf32>
  %b = stablehlo.transpose %k, dims = [1, 2, 0] : (tensor<20x2x16xf32>) -> tensor<2x16x20xf32>
  %d = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x24x16xf32>, tensor<2x16x20xf32>) -> tensor<2x24x20xf32>
  %r = stablehlo.transpose %d, dims = [0, 2, 1] : (tensor<2x24x20xf32>) -> tensor<2x20x24xf32>
  return %r : tensor<2x20x24xf32>
})");
}

TEST(FoldTranspose, IntoAConvolution) {
  expectOneGroup(R"(
func.func @main(%x: tensor<2x9x8x5xf32>, %w: tensor<6x5x3x3xf32>) -> tensor<2x7x6x6xf32> {
  %t = stablehlo.transpose %x, dims = [0, 3, 1, 2] : (tensor<2x9x8x5xf32>) -> tensor<2x5x9x8xf32>
  %v = stablehlo.transpose %w, dims = [2, 3, 1, 0] : (tensor<6x5x3x3xf32>) -> tensor<3x3x5x6xf32>
  %d = stablehlo.convolution(%t, %v) dim_numbers = [b, f, 0, 1]x[0, 1, i, o]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x9x8xf32>, tensor<3x3x5x6xf32>) -> tensor<2x6x7x6xf32>
  %r = stablehlo.transpose %d, dims = [0, 2, 3, 1] : (tensor<2x6x7x6xf32>) -> tensor<2x7x6x6xf32>
  return %r : tensor<2x7x6x6xf32>
})");
}

} // namespace
