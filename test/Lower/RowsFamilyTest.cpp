// Groups of rows, from graph text to numbers: each text is one group, its kernel is checked, compiled, verified and run on every target.
#include "glia/CodeGen/Compile.h"
#include "glia/Lower/Family.h"
#include "glia/Graph/Parse.h"
#include "glia/Sim/Simulator.h"
#include "glia/Verify/Verify.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace glia;
using namespace glia::emit;

namespace {

using Bytes = std::vector<std::byte>;

template <class T> Bytes bytes(const std::vector<T> &v) {
  Bytes out(v.size() * sizeof(T));
  std::memcpy(out.data(), v.data(), out.size());
  return out;
}
template <class T> std::vector<T> values(const Bytes &b) {
  std::vector<T> out(b.size() / sizeof(T));
  std::memcpy(out.data(), b.data(), b.size());
  return out;
}

// The results of `text` (one group) for its arguments.
std::vector<Bytes> runGroup(const std::string &text, const std::vector<Bytes> &arguments, const char *target) {
  graph::Graph g = graph::parseGraph(text, "test.mlir");
  mlir::Block &body = g.main().getBody().front();
  const std::vector<Group> groups = groupOperations(body);
  EXPECT_EQ(groups.size(), 1u);
  const Group &group = groups.at(0);
  KernelBuilder k("rows", target);
  std::vector<Tile> inputs, outputs;
  TensorData data;
  const auto typeOf = [](mlir::Value v) {
    return *machineType(llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType());
  };
  for (mlir::Value v : group.inputs) {
    const unsigned n = llvm::cast<mlir::BlockArgument>(v).getArgNumber();
    const std::string name = "arg" + std::to_string(n);
    inputs.push_back(k.input(name, typeOf(v), shapeOf(v)));
    data[name] = arguments.at(n);
  }
  for (size_t i = 0; i < group.outputs.size(); ++i)
    outputs.push_back(k.output("out" + std::to_string(i), typeOf(group.outputs[i]), shapeOf(group.outputs[i])));
  group.family->emit(k, group, inputs, outputs);
  nisa::Kernel kernel = k.finish();
  const std::vector<Diagnostic> found = checkKernel(kernel);
  EXPECT_TRUE(found.empty()) << render(found[0]);
  const Program program = compileKernel(kernel);
  const VerifyResult v = verify(program);
  EXPECT_TRUE(v.ok()) << render(v.diagnostics[0]);
  const RunResult r = run(program, data);
  EXPECT_TRUE(r.ok());
  std::vector<Bytes> results;
  for (mlir::Value v : body.getTerminator()->getOperands())
    for (size_t i = 0; i < group.outputs.size(); ++i)
      if (group.outputs[i] == v)
        results.push_back(r.outputs.at("out" + std::to_string(i)));
  return results;
}

std::vector<float> ramp(size_t n) {
  std::vector<float> out(n);
  for (size_t i = 0; i < n; ++i)
    out[i] = static_cast<float>((i * 7919) % 1009) / 100 - 5;
  return out;
}

class Rows : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Targets, Rows, testing::Values("trn1", "trn2", "trn3"));

TEST_P(Rows, SoftmaxIsOneKernel) {
  const char *text = R"(func.func public @main(%x: tensor<5x30x50xf32>) -> tensor<5x30x50xf32> {
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<5x30x50xf32>, tensor<f32>) -> tensor<5x30xf32>
    %a = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<5x30xf32>) -> tensor<5x30x1xf32>
    %b = stablehlo.broadcast_in_dim %a, dims = [0, 1, 2] : (tensor<5x30x1xf32>) -> tensor<5x30x50xf32>
    %d = stablehlo.subtract %x, %b : tensor<5x30x50xf32>
    %e = stablehlo.exponential %d : tensor<5x30x50xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<5x30x50xf32>, tensor<f32>) -> tensor<5x30xf32>
    %t = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<5x30xf32>) -> tensor<5x30x50xf32>
    %r = stablehlo.divide %e, %t : tensor<5x30x50xf32>
    return %r : tensor<5x30x50xf32>
  })";
  const std::vector<float> x = ramp(5 * 30 * 50), got = values<float>(runGroup(text, {bytes(x)}, GetParam()).at(0));
  for (size_t row = 0; row < 150; ++row) {
    double sum = 0;
    for (size_t i = 0; i < 50; ++i)
      sum += std::exp(static_cast<double>(x[row * 50 + i]));
    for (size_t i = 0; i < 50; ++i) {
      const double want = std::exp(static_cast<double>(x[row * 50 + i])) / sum;
      EXPECT_NEAR(got[row * 50 + i], want, want * 1e-6);
    }
  }
}

// A column is read once for all rows; sums over rows and along them leave the same kernel.
TEST_P(Rows, SumsBothWays) {
  const char *text =
      R"(func.func public @main(%x: tensor<300x40xf32>, %c: tensor<40xf32>) -> (tensor<40xf32>, tensor<300xf32>) {
    %b = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<40xf32>) -> tensor<300x40xf32>
    %y = stablehlo.multiply %x, %b : tensor<300x40xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %down = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<300x40xf32>, tensor<f32>) -> tensor<40xf32>
    %along = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<300x40xf32>, tensor<f32>) -> tensor<300xf32>
    return %down, %along : tensor<40xf32>, tensor<300xf32>
  })";
  const std::vector<float> x = ramp(300 * 40), c = ramp(40);
  const std::vector<Bytes> got = runGroup(text, {bytes(x), bytes(c)}, GetParam());
  const std::vector<float> down = values<float>(got.at(0)), along = values<float>(got.at(1));
  std::vector<double> wantDown(40), wantAlong(300);
  for (size_t i = 0; i < x.size(); ++i) {
    const double y = static_cast<double>(x[i]) * c[i % 40];
    wantDown[i % 40] += y;
    wantAlong[i / 40] += y;
  }
  for (size_t i = 0; i < 40; ++i)
    EXPECT_NEAR(down[i], wantDown[i], 0.02);
  for (size_t i = 0; i < 300; ++i)
    EXPECT_NEAR(along[i], wantAlong[i], 0.005);
}

TEST_P(Rows, IntegersWrap) {
  const char *text = R"(func.func public @main(%x: tensor<7x33xi32>, %y: tensor<7x33xi32>) -> tensor<7xi32> {
    %p = stablehlo.multiply %x, %y : tensor<7x33xi32>
    %q = stablehlo.add %p, %x : tensor<7x33xi32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<7x33xi32>, tensor<i32>) -> tensor<7xi32>
    return %s : tensor<7xi32>
  })";
  std::vector<int32_t> x(7 * 33), y(7 * 33), want(7);
  for (uint32_t i = 0; i < 7 * 33; ++i) {
    x[i] = static_cast<int32_t>(i * 2654435761u);
    y[i] = static_cast<int32_t>(i * 40503u + 12345u);
    want[i / 33] =
        static_cast<int32_t>(static_cast<uint32_t>(want[i / 33]) +
                             static_cast<uint32_t>(x[i]) * static_cast<uint32_t>(y[i]) + static_cast<uint32_t>(x[i]));
  }
  EXPECT_EQ(values<int32_t>(runGroup(text, {bytes(x), bytes(y)}, GetParam()).at(0)), want);
}

// Rows longer than SBUF in pieces, an axis in the middle, and everything to one number.
TEST_P(Rows, ReductionsOverAnyAxes) {
  const auto one = [&](const std::string &op, const std::string &init, const std::string &dims, const std::string &to) {
    const std::string text =
        "func.func public @main(%x: tensor<3x50x70xf32>) -> tensor<" + to + "> {\n %i = stablehlo.constant dense<" + init +
        "> : tensor<f32>\n %r = stablehlo.reduce(%x init: %i) applies stablehlo." + op + " across dimensions = [" + dims +
        "] : (tensor<3x50x70xf32>, tensor<f32>) -> tensor<" + to + ">\n return %r : tensor<" + to + ">\n}";
    return values<float>(runGroup(text, {bytes(ramp(3 * 50 * 70))}, GetParam()).at(0));
  };
  const std::vector<float> x = ramp(3 * 50 * 70);
  const auto at = [&](size_t i, size_t j, size_t l) { return x[(i * 50 + j) * 70 + l]; };
  const std::vector<float> middle = one("maximum", "0xFF800000", "1", "3x70xf32"), sums = one("add", "0.0", "1", "3x70xf32"),
                           outer = one("add", "0.0", "0, 2", "50xf32"), all = one("add", "0.0", "0, 1, 2", "f32");
  for (size_t i = 0; i < 3; ++i)
    for (size_t l = 0; l < 70; ++l) {
      float most = at(i, 0, l);
      double sum = 0;
      for (size_t j = 0; j < 50; ++j) {
        most = std::max(most, at(i, j, l));
        sum += at(i, j, l);
      }
      EXPECT_EQ(middle[i * 70 + l], most);
      EXPECT_NEAR(sums[i * 70 + l], sum, 1e-3);
    }
  double total = 0;
  for (size_t j = 0; j < 50; ++j) {
    double sum = 0;
    for (size_t i = 0; i < 3; ++i)
      for (size_t l = 0; l < 70; ++l)
        sum += at(i, j, l);
    EXPECT_NEAR(outer[j], sum, 2e-3);
    total += sum;
  }
  EXPECT_NEAR(all[0], total, 0.05);
}

TEST(RowsGrouping, SaysWhatItCannotDo) {
  graph::Graph g = graph::parseGraph(R"(func.func public @main(%x: tensor<4xi32>) -> tensor<i32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r = stablehlo.reduce(%x init: %zero) across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
     reducer(%a: tensor<i32>, %b: tensor<i32>)  {
      %d = stablehlo.subtract %a, %b : tensor<i32>
      stablehlo.return %d : tensor<i32>
    }
    return %r : tensor<i32>
  })",
                                     "test.mlir");
  try {
    groupOperations(g.main().getBody().front());
    FAIL();
  } catch (const Error &e) {
    EXPECT_NE(std::string(e.what()).find("a reduction with `subtract`"), std::string::npos) << e.what();
  }
}

} // namespace
