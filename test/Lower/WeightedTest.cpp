// Scores, their softmax and the product with the values are one kernel; more of them against JAX in test/python/test_weighted_means.py.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

// `middle` makes %x of the scores %s and of more arguments.
std::string attention(const std::string &rows, const std::string &columns, const std::string &deep, const std::string &width,
                      const std::string &type, const std::string &middle, const std::string &more = "") {
  const auto tensor = [&](const std::string &a, const std::string &b, const std::string &t) {
    return "tensor<2x" + a + "x" + b + "x" + t + ">";
  };
  const std::string q = tensor(rows, deep, type), k = tensor(columns, deep, type), v = tensor(columns, width, type),
                    s = tensor(rows, columns, "f32"), w = tensor(rows, columns, type), out = tensor(rows, width, type),
                    row = "tensor<2x" + rows + "xf32>";
  return "func.func public @main(%q: " + q + ", %k: " + k + ", %v: " + v + more + ") -> " + out + " {\n" +
         "  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (" + q + ", " + k +
         ") -> " + s + "\n" + middle + "  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>\n" +
         "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n" +
         "  %m = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [2] : (" + s +
         ", tensor<f32>) -> " + row + "\n" + "  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (" + row + ") -> " + s +
         "\n" + "  %d = stablehlo.subtract %x, %mb : " + s + "\n" + "  %e = stablehlo.exponential %d : " + s + "\n" +
         "  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (" + s +
         ", tensor<f32>) -> " + row + "\n" + "  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (" + row + ") -> " + s +
         "\n" + "  %p = stablehlo.divide %e, %tb : " + s + "\n" + "  %w = stablehlo.convert %p : (" + s + ") -> " + w +
         "\n" + "  %o = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (" + w +
         ", " + v + ") -> " + out + "\n" + "  return %o : " + out + "\n}";
}

std::string scaled(const std::string &shape) {
  return "  %c = stablehlo.constant dense<0.125> : tensor<" + shape + "xf32>\n  %x = stablehlo.multiply %s, %c : tensor<" +
         shape + "xf32>\n";
}

TEST(Weighted, OneKernel) {
  const std::string texts[] = {attention("130", "257", "64", "64", "bf16", scaled("2x130x257")),
                               attention("140", "128", "128", "128", "bf16", scaled("2x140x128")),
                               attention("128", "150", "160", "200", "f32", scaled("2x128x150"))};
  for (const std::string &text : texts) {
    expectRight(text);
    EXPECT_EQ(groupsOf(text), 1u);
  }
}

TEST(Weighted, Conditions) {
  for (const char *number : {"0xFF800000", "-1.0e9", "0.25"}) {
    const std::string text = attention("640", "300", "32", "16", "f32",
                                       R"(
  %i = stablehlo.iota dim = 1 : tensor<2x640x300xi32>
  %j = stablehlo.iota dim = 2 : tensor<2x640x300xi32>
  %late = stablehlo.constant dense<40> : tensor<2x640x300xi32>
  %i40 = stablehlo.add %i, %late : tensor<2x640x300xi32>
  %far = stablehlo.compare GT, %i40, %j, SIGNED : (tensor<2x640x300xi32>, tensor<2x640x300xi32>) -> tensor<2x640x300xi1>
  %number = stablehlo.constant dense<)" + std::string(number) +
                                           R"(> : tensor<2x640x300xf32>
  %x = stablehlo.select %far, %s, %number : tensor<2x640x300xi1>, tensor<2x640x300xf32>
)");
    expectRight(text);
    EXPECT_EQ(groupsOf(text), 1u);
  }
}

TEST(Weighted, Tensors) {
  const std::string bias = R"(
  %b0 = stablehlo.convert %bias : (tensor<150x140xbf16>) -> tensor<150x140xf32>
  %b = stablehlo.broadcast_in_dim %b0, dims = [2, 1] : (tensor<150x140xf32>) -> tensor<2x140x150xf32>
  %n = stablehlo.constant dense<0.3> : tensor<2x140x150xf32>
  %y = stablehlo.multiply %s, %n : tensor<2x140x150xf32>
  %x = stablehlo.add %b, %y : tensor<2x140x150xf32>
)";
  const std::string turned = attention("140", "150", "32", "16", "f32", bias, ", %bias: tensor<150x140xbf16>");
  expectRight(turned);
  EXPECT_EQ(groupsOf(turned), 1u);
  const std::string mask = R"(
  %mask2 = stablehlo.broadcast_in_dim %mask, dims = [0, 2] : (tensor<2x270xi1>) -> tensor<2x130x270xi1>
  %i = stablehlo.iota dim = 1 : tensor<2x130x270xi32>
  %j = stablehlo.iota dim = 2 : tensor<2x130x270xi32>
  %near = stablehlo.compare GE, %i, %j, SIGNED : (tensor<2x130x270xi32>, tensor<2x130x270xi32>) -> tensor<2x130x270xi1>
  %both = stablehlo.and %mask2, %near : tensor<2x130x270xi1>
  %r = stablehlo.broadcast_in_dim %row, dims = [1] : (tensor<130xf32>) -> tensor<2x130x270xf32>
  %y = stablehlo.subtract %s, %r : tensor<2x130x270xf32>
  %lower = stablehlo.constant dense<-1.0e9> : tensor<2x130x270xf32>
  %x = stablehlo.select %both, %y, %lower : tensor<2x130x270xi1>, tensor<2x130x270xf32>
)";
  const std::string masked =
      attention("130", "270", "32", "16", "bf16", mask, ", %mask: tensor<2x270xi1>, %row: tensor<130xf32>");
  expectRight(masked);
  EXPECT_EQ(groupsOf(masked), 1u);
}

TEST(Weighted, Capped) {
  const std::string text = attention("200", "300", "32", "16", "f32", R"(
  %cap = stablehlo.constant dense<3.0> : tensor<2x200x300xf32>
  %u = stablehlo.divide %s, %cap : tensor<2x200x300xf32>
  %h = stablehlo.tanh %u : tensor<2x200x300xf32>
  %x = stablehlo.multiply %h, %cap : tensor<2x200x300xf32>
)");
  expectRight(text);
  EXPECT_EQ(groupsOf(text), 1u);
}

TEST(Weighted, Products) {
  const std::string text = attention("140", "150", "32", "256", "f32", R"(
  %a = stablehlo.broadcast_in_dim %slopes, dims = [0] : (tensor<2xf32>) -> tensor<2x140x150xf32>
  %b = stablehlo.broadcast_in_dim %far, dims = [1, 2] : (tensor<140x150xf32>) -> tensor<2x140x150xf32>
  %ab = stablehlo.multiply %a, %b : tensor<2x140x150xf32>
  %y = stablehlo.subtract %s, %ab : tensor<2x140x150xf32>
  %i = stablehlo.iota dim = 0 : tensor<140x150xi32>
  %j = stablehlo.iota dim = 1 : tensor<140x150xi32>
  %late = stablehlo.compare LT, %i, %j, SIGNED : (tensor<140x150xi32>, tensor<140x150xi32>) -> tensor<140x150xi1>
  %either = stablehlo.or %late, %mask : tensor<140x150xi1>
  %both = stablehlo.broadcast_in_dim %either, dims = [1, 2] : (tensor<140x150xi1>) -> tensor<2x140x150xi1>
  %lower = stablehlo.constant dense<-3.4e38> : tensor<2x140x150xf32>
  %z = stablehlo.select %both, %lower, %y : tensor<2x140x150xi1>, tensor<2x140x150xf32>
  %n = stablehlo.constant dense<0.7> : tensor<2x140x150xf32>
  %x = stablehlo.multiply %z, %n : tensor<2x140x150xf32>
)",
                                     ", %slopes: tensor<2xf32>, %far: tensor<140x150xf32>, %mask: tensor<140x150xi1>");
  expectRight(text);
  EXPECT_EQ(groupsOf(text), 1u);
}

} // namespace
