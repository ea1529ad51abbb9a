// Groups on the two cores of a logical one: each computes half of the results.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

CompiledGraph compiled(const std::string &text, int cores) {
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  GraphOptions options;
  options.cores = cores;
  return compileGraph(*g.module, options);
}

size_t instructions(const Program &p, int core) {
  size_t n = 0;
  for (int e = 0; e < kNumEngines; ++e)
    n += p.stream(core, static_cast<Engine>(e)).instrs.size();
  return n;
}

void expectShared(const std::string &text) {
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  for (const char *target : {"trn2", "trn3"})
    EXPECT_EQ(differences(text, target, randomInputs(g.main(), 3), nullptr, 2), "") << target;
  const CompiledGraph two = compiled(text, 2), one = compiled(text, 1);
  ASSERT_EQ(two.program.cores, 2u);
  EXPECT_EQ(instructions(two.program, 0), instructions(two.program, 1));
  EXPECT_LT(instructions(two.program, 0), instructions(one.program, 0));
}

TEST(SplitGroup, SharesRowsDotsAndConvolutions) {
  expectShared(R"(
func.func @main(%x: tensor<512x300xf32>, %w: tensor<300x200xf32>, %b: tensor<200xf32>) -> tensor<512x200xf32> {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x300xf32>, tensor<300x200xf32>) -> tensor<512x200xf32>
  %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<200xf32>) -> tensor<512x200xf32>
  %s = stablehlo.add %d, %c : tensor<512x200xf32>
  %t = stablehlo.tanh %s : tensor<512x200xf32>
  return %t : tensor<512x200xf32>
})");
  expectShared(R"(
func.func @main(%x: tensor<600x100xf32>) -> tensor<600x100xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<600x100xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<600x100xf32>, tensor<f32>) -> tensor<600xf32>
  %t = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<600xf32>) -> tensor<600x100xf32>
  %r = stablehlo.divide %e, %t : tensor<600x100xf32>
  return %r : tensor<600x100xf32>
})");
  expectShared(R"(
func.func @main(%x: tensor<1x130x24x32xf32>, %w: tensor<160x130x3x3xf32>) -> tensor<1x160x24x32xf32> {
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x130x24x32xf32>, tensor<160x130x3x3xf32>) -> tensor<1x160x24x32xf32>
  return %r : tensor<1x160x24x32xf32>
})");
}

// A sum over what would be cut stays on one core, and the next group waits for it.
TEST(SplitGroup, LeavesASumOnOneCore) {
  const std::string text = R"(
func.func @main(%x: tensor<256x64xf32>) -> tensor<256x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<256x64xf32>, tensor<f32>) -> tensor<64xf32>
  %d = stablehlo.dot_general %s, %x, contracting_dims = [0] x [1] : (tensor<64xf32>, tensor<256x64xf32>) -> tensor<256xf32>
  %t = stablehlo.broadcast_in_dim %d, dims = [0] : (tensor<256xf32>) -> tensor<256x64xf32>
  %r = stablehlo.multiply %x, %t : tensor<256x64xf32>
  return %r : tensor<256x64xf32>
})";
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  EXPECT_EQ(differences(text, "trn2", randomInputs(g.main(), 3), nullptr, 2), "");
}

// Both cores write the same kernel, with the same constants.
TEST(SplitGroup, CountsOnBothCores) {
  const std::string text = R"(
func.func @main(%x: tensor<256xi32>) -> tensor<256x512xf32> {
  %i = stablehlo.iota dim = 0 : tensor<512xi32>
  %a = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<256xi32>) -> tensor<256x512xi32>
  %b = stablehlo.broadcast_in_dim %i, dims = [1] : (tensor<512xi32>) -> tensor<256x512xi32>
  %c = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<256x512xi32>, tensor<256x512xi32>) -> tensor<256x512xi1>
  %r = stablehlo.convert %c : (tensor<256x512xi1>) -> tensor<256x512xf32>
  return %r : tensor<256x512xf32>
})";
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  EXPECT_EQ(differences(text, "trn2", randomInputs(g.main(), 3), nullptr, 2), "");
}

} // namespace
