// Graphs to proved programs: numbers against plain loops.
#include "glia/Emit/CompileGraph.h"
#include "glia/Graph/Parse.h"
#include "glia/Sim/Simulator.h"
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

const char *const kTransform = R"(
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.fft"(%a) {fft_length = array<i64: 4>, fft_type = #stablehlo<fft_type RFFT>} : (tensor<4xf32>) -> tensor<3xcomplex<f32>>
  %1 = "stablehlo.real"(%0) : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  return RESULT
})";

std::string transform(const char *result) {
  std::string text = kTransform;
  return text.replace(text.find("RESULT"), 6, result);
}

// Nobody uses the transform: it goes away, and the argument is copied to the result.
TEST(CompileGraph, CopiesAnArgumentThatIsAResult) {
  const std::vector<float> a = {1, 2, 3, 4};
  EXPECT_EQ(runGraph(transform("%a : tensor<4xf32>"), "trn2", {{"arg0", bytes(a)}}), a);
}

// Everything at once, before any code is generated.
TEST(CompileGraph, NamesWhatItCannotLower) {
  std::string text = transform("%1 : tensor<3xf32>");
  text.replace(text.find("-> tensor<4xf32>"), 16, "-> tensor<3xf32>");
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  try {
    compileGraph(*g.module);
    FAIL() << "it compiled";
  } catch (const Error &e) {
    ASSERT_EQ(e.diagnostics().size(), 2u);
    for (const Diagnostic &d : e.diagnostics())
      EXPECT_EQ(d.code, "GRAPH-UNSUPPORTED");
    EXPECT_NE(e.diagnostics()[0].message.find("stablehlo.fft"), std::string::npos);
  }
}

} // namespace
