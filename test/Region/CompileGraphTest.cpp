// Graphs to proved programs: numbers against plain loops.
#include "Check/CheckGraph.h"
#include "glia/Region/CompileGraph.h"
#include "glia/Graph/Parse.h"
#include "glia/Sim/Simulator.h"
#include "glia/Sim/Timing.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Verify/Verify.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace glia;

namespace {

std::vector<float> numbers(size_t n, unsigned seed) {
  std::vector<float> out(n);
  for (size_t i = 0; i < n; ++i) {
    seed = seed * 1664525 + 1013904223;
    out[i] = static_cast<float>(seed >> 16) / 32768.0f - 1.0f;
  }
  return out;
}
std::vector<std::byte> bytes(const std::vector<float> &v) {
  std::vector<std::byte> out(v.size() * 4);
  std::memcpy(out.data(), v.data(), out.size());
  return out;
}

std::vector<float> runGraph(const std::string &text, const char *target, const TensorData &inputs) {
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  GraphOptions options;
  options.target = target;
  const CompiledGraph c = compileGraph(*g.module, options);
  const VerifyResult v = verify(c.program);
  EXPECT_TRUE(v.ok()) << render(v.diagnostics[0]);
  const RunResult r = run(c.program, inputs);
  EXPECT_TRUE(r.ok());
  const std::vector<std::byte> &b = r.outputs.at("result0");
  std::vector<float> out(b.size() / 4);
  std::memcpy(out.data(), b.data(), b.size());
  return out;
}

// [2, 40, 200] x [2, 200, 30]: the contraction is last on the left and in the middle on the right.
TEST(CompileGraph, MultipliesMatrices) {
  const std::string text = R"(
func.func @main(%a: tensor<2x40x200xf32>, %b: tensor<2x200x30xf32>) -> tensor<2x40x30xf32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x40x200xf32>, tensor<2x200x30xf32>) -> tensor<2x40x30xf32>
  return %0 : tensor<2x40x30xf32>
})";
  const std::vector<float> a = numbers(2 * 40 * 200, 1), b = numbers(2 * 200 * 30, 2);
  for (const char *target : {"trn1", "trn2", "trn3"}) {
    const std::vector<float> y = runGraph(text, target, {{"arg0", bytes(a)}, {"arg1", bytes(b)}});
    ASSERT_EQ(y.size(), 2u * 40 * 30);
    for (int n = 0; n < 2; ++n)
      for (int i = 0; i < 40; ++i)
        for (int j = 0; j < 30; ++j) {
          double sum = 0;
          for (int k = 0; k < 200; ++k)
            sum += double(a[(n * 40 + i) * 200 + k]) * b[(n * 200 + k) * 30 + j];
          ASSERT_NEAR(y[(n * 40 + i) * 30 + j], sum, 1e-4) << target;
        }
  }
}

// Nobody uses the numbers of f64, which are refused elsewhere: they go away, and the argument is copied to the result.
TEST(CompileGraph, CopiesAnArgumentThatIsAResult) {
  const std::vector<float> a = {1, 2, 3, 4};
  EXPECT_EQ(runGraph(R"(
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xf64>
  %1 = stablehlo.multiply %0, %0 : tensor<4xf64>
  return %a : tensor<4xf32>
})",
                     "trn2", {{"arg0", bytes(a)}}),
            a);
}

// A result that is returned twice is copied as soon as it is there. A kernel of all groups would gain less than that copy loses.
TEST(CompileGraph, RegionsThatGainLittleAreNotTaken) {
  graph::Graph g = graph::parseGraph(R"(
func.func @main(%x: tensor<32x7x96xi1>) -> (tensor<7x64x96xi1>, tensor<7x64x96xi1>, tensor<32x7x96xi1>, tensor<32x7x96xi1>) {
  %n = stablehlo.not %x : tensor<32x7x96xi1>
  %t = stablehlo.transpose %n, dims = [1, 0, 2] : (tensor<32x7x96xi1>) -> tensor<7x32x96xi1>
  %m = stablehlo.not %t : tensor<7x32x96xi1>
  %c = stablehlo.concatenate %t, %m, dim = 1 : (tensor<7x32x96xi1>, tensor<7x32x96xi1>) -> tensor<7x64x96xi1>
  %r = stablehlo.not %c : tensor<7x64x96xi1>
  return %c, %r, %n, %n : tensor<7x64x96xi1>, tensor<7x64x96xi1>, tensor<32x7x96xi1>, tensor<32x7x96xi1>
})",
                                     "t.mlir");
  double time[2];
  for (int effort : {0, 1}) {
    GraphOptions options;
    options.target = "trn3";
    options.effort = effort;
    time[effort] = simulateTime(compileGraph(*g.module, options).program).total;
  }
  EXPECT_LE(time[1], time[0]);
}

// Everything at once, before any code is generated.
TEST(CompileGraph, NamesWhatItCannotLower) {
  graph::Graph g = graph::parseGraph(R"(
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @nobodys(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @somebodys(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
})",
                                     "test.mlir");
  try {
    compileGraph(*g.module);
    FAIL() << "it compiled";
  } catch (const Error &e) {
    ASSERT_EQ(e.diagnostics().size(), 2u);
    for (const Diagnostic &d : e.diagnostics())
      EXPECT_EQ(d.code, "GRAPH-UNSUPPORTED");
    EXPECT_NE(e.diagnostics()[0].message.find("stablehlo.custom_call @nobodys"), std::string::npos);
  }
}

// Groups that become one take along what stands between them: here a sum that is seen as another shape.
TEST(CompileGraph, GroupsThatMeetThroughAReshape) {
  expectRight(R"(func.func @main(%x: tensor<1x10xf32>, %t: tensor<1x10xf32>) -> tensor<1x10xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<1x10xf32>, tensor<f32>) -> tensor<1xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<1xf32>) -> tensor<1x10xf32>
  %d = stablehlo.subtract %x, %b : tensor<1x10xf32>
  %e = stablehlo.exponential %d : tensor<1x10xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1x10xf32>, tensor<f32>) -> tensor<1xf32>
  %s2 = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<1xf32>) -> tensor<1x1xf32>
  %n = stablehlo.negate %t : tensor<1x10xf32>
  %r = stablehlo.reduce(%n init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1x10xf32>, tensor<f32>) -> tensor<1xf32>
  %r2 = stablehlo.reshape %r : (tensor<1xf32>) -> tensor<1x1xf32>
  %q = stablehlo.divide %r2, %s2 : tensor<1x1xf32>
  %q2 = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1xf32>, tensor<f32>) -> tensor<f32>
  %q3 = stablehlo.broadcast_in_dim %q2, dims = [] : (tensor<f32>) -> tensor<1x10xf32>
  %p = stablehlo.multiply %q3, %e : tensor<1x10xf32>
  %y = stablehlo.add %t, %p : tensor<1x10xf32>
  return %y : tensor<1x10xf32>
})");
}

// Each is cheap to write again, and both are wanted.
TEST(CompileGraph, StoresACountAndItsBroadcast) {
  expectRight(R"(
func.func @main() -> (tensor<32xui16>, tensor<5x32xui16>) {
  %0 = stablehlo.iota dim = 0 : tensor<32xui16>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<32xui16>) -> tensor<5x32xui16>
  return %0, %1 : tensor<32xui16>, tensor<5x32xui16>
})");
}
TEST(CompileGraph, ReadsAReshapedCount) {
  expectRight(R"(
func.func @main() -> tensor<1x8x6xf16> {
  %0 = stablehlo.iota dim = 0 : tensor<48xi16>
  %1 = stablehlo.reshape %0 : (tensor<48xi16>) -> tensor<1x8x6xi16>
  %c = stablehlo.constant dense<61> : tensor<1x8x6xi16>
  %2 = stablehlo.and %1, %c : tensor<1x8x6xi16>
  %3 = stablehlo.convert %2 : (tensor<1x8x6xi16>) -> tensor<1x8x6xf16>
  %4 = stablehlo.tanh %3 : tensor<1x8x6xf16>
  return %4 : tensor<1x8x6xf16>
})");
}
TEST(CompileGraph, StoresACountThatIsSummedToo) {
  expectRight(R"(
func.func @main(%i: tensor<i32>) -> (tensor<5x1x3xf32>, tensor<3xf32>) {
  %0 = stablehlo.iota dim = 0 : tensor<5x1x3xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 2, 3] : (tensor<5x1x3xf32>) -> tensor<5x130x4x3xf32>
  %2 = stablehlo.dynamic_update_slice %0, %0, %i, %i, %i : (tensor<5x1x3xf32>, tensor<5x1x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x1x3xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<5x130x4x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %2, %3 : tensor<5x1x3xf32>, tensor<3xf32>
})");
}

} // namespace
