// Large values that are computed again where they are read: they are nowhere in HBM, and the numbers are the same.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

// A product, normalised along its rows, and what is normalised once more behind another product. `extra`: a line, and `result` what is returned beside.
std::string normalised(const std::string &extra = "", const std::string &result = "") {
  const std::string type = "tensor<4096x64xf32>";
  return R"(func.func @main(%a: tensor<4096x16xf32>, %b: tensor<16x64xf32>, %w: tensor<64x64xf32>) -> ()" + type +
         (result.empty() ? "" : ", " + type) + R"() {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<4096x64xf32>
  %n = stablehlo.constant dense<64.0> : tensor<4096xf32>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4096x16xf32>, tensor<16x64xf32>) -> tensor<4096x64xf32>
  %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x64xf32>, tensor<f32>) -> tensor<4096xf32>
  %m = stablehlo.divide %s, %n : tensor<4096xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<4096xf32>) -> tensor<4096x64xf32>
  %c = stablehlo.subtract %y, %mb : tensor<4096x64xf32>
  %q = stablehlo.multiply %c, %c : tensor<4096x64xf32>
  %v = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x64xf32>, tensor<f32>) -> tensor<4096xf32>
  %r = stablehlo.rsqrt %v : tensor<4096xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<4096xf32>) -> tensor<4096x64xf32>
  %u = stablehlo.multiply %c, %rb : tensor<4096x64xf32>
  %o = stablehlo.maximum %u, %zeros : tensor<4096x64xf32>
)" + extra +
         R"(
  %z = stablehlo.dot_general %o, %w, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x64xf32>) -> tensor<4096x64xf32>
  %t = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x64xf32>, tensor<f32>) -> tensor<4096xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<4096xf32>) -> tensor<4096x64xf32>
  %g = stablehlo.multiply %tb, %u : tensor<4096x64xf32>
  %h = stablehlo.add %g, %c : tensor<4096x64xf32>
  return %h)" +
         (result.empty() ? "" : ", " + result) + " : " + type + (result.empty() ? "" : ", " + type) + "\n}";
}

size_t largeTensors(const std::string &text) {
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  GraphOptions options;
  options.target = "trn1";
  options.effort = 0; // each group a kernel
  const CompiledGraph compiled = compileGraph(*g.module, options);
  return static_cast<size_t>(llvm::count_if(
      compiled.program.tensors, [](const Tensor &t) { return t.kind == TensorKind::Scratch && t.elements() == 4096 * 64; }));
}

TEST(ComputeAgain, StoresWhatProductsGiveAlone) {
  const std::string text = normalised();
  expectRight(text);
  EXPECT_EQ(largeTensors(text), 2u); // y, and o; z is summed where it is made
}

// A result, and what a product reads, are in HBM: others read them there.
TEST(ComputeAgain, NotWhatIsNeededAsItIs) {
  expectRight(normalised("", "%u"));
  expectRight(normalised("  %k = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, "
                         "tensor<64x64xf32>) -> tensor<4096x64xf32>",
                         "%k"));
}

} // namespace
