// Batch normalisation against the reference interpreter on every target.
#include "Check/CheckGraph.h"

#include <cmath>
#include <cstring>

using namespace glia;

namespace {

// A variance is not negative.
void expectNorm(const std::string &text, size_t variance) {
  std::vector<HostTensor> inputs = randomInputs(graph::parseGraph(text, "test.mlir").main(), 5);
  if (variance < inputs.size())
    for (size_t i = 0; i < inputs[variance].bytes.size(); i += 4) {
      float v;
      std::memcpy(&v, &inputs[variance].bytes[i], 4);
      v = std::fabs(v) + 0.1f;
      std::memcpy(&inputs[variance].bytes[i], &v, 4);
    }
  for (const char *target : {"trn1", "trn2", "trn3"})
    EXPECT_EQ(differences(text, target, inputs), "") << target;
}

TEST(BatchNorm, Training) {
  expectNorm(
      R"(func.func @main(%x: tensor<2x6x5x7xf32>, %s: tensor<6xf32>, %o: tensor<6xf32>) -> (tensor<2x6x5x7xf32>, tensor<6xf32>, tensor<6xf32>) {
  %y, %m, %v = "stablehlo.batch_norm_training"(%x, %s, %o) {epsilon = 1.0e-5 : f32, feature_index = 1 : i64} : (tensor<2x6x5x7xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x5x7xf32>, tensor<6xf32>, tensor<6xf32>)
  return %y, %m, %v : tensor<2x6x5x7xf32>, tensor<6xf32>, tensor<6xf32>
})",
      9);
  expectNorm(R"(func.func @main(%x: tensor<40x6xbf16>, %s: tensor<6xbf16>, %o: tensor<6xbf16>) -> tensor<40x6xbf16> {
  %y, %m, %v = "stablehlo.batch_norm_training"(%x, %s, %o) {epsilon = 1.0e-5 : f32, feature_index = 1 : i64} : (tensor<40x6xbf16>, tensor<6xbf16>, tensor<6xbf16>) -> (tensor<40x6xbf16>, tensor<6xbf16>, tensor<6xbf16>)
  return %y : tensor<40x6xbf16>
})",
             9);
}

TEST(BatchNorm, Inference) {
  expectNorm(
      R"(func.func @main(%x: tensor<3x5x6xf32>, %s: tensor<6xf32>, %o: tensor<6xf32>, %m: tensor<6xf32>, %v: tensor<6xf32>) -> tensor<3x5x6xf32> {
  %y = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v) {epsilon = 1.0e-3 : f32, feature_index = 2 : i64} : (tensor<3x5x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<3x5x6xf32>
  return %y : tensor<3x5x6xf32>
})",
      4);
}

TEST(BatchNorm, Gradient) {
  expectNorm(
      R"(func.func @main(%x: tensor<3x6x20xf32>, %s: tensor<6xf32>, %m: tensor<6xf32>, %v: tensor<6xf32>, %g: tensor<3x6x20xf32>) -> (tensor<3x6x20xf32>, tensor<6xf32>, tensor<6xf32>) {
  %a, %b, %c = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : (tensor<3x6x20xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<3x6x20xf32>) -> (tensor<3x6x20xf32>, tensor<6xf32>, tensor<6xf32>)
  return %a, %b, %c : tensor<3x6x20xf32>, tensor<6xf32>, tensor<6xf32>
})",
      3);
}

} // namespace
