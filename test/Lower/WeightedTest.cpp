// Scores, their softmax and the product with the values are one kernel; more of them against JAX in test/python/test_weighted_means.py.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

// `middle` makes %x of the scores %s.
std::string attention(const std::string &rows, const std::string &columns, const std::string &deep, const std::string &width,
                      const std::string &type, const std::string &middle) {
  const auto tensor = [&](const std::string &a, const std::string &b, const std::string &t) {
    return "tensor<2x" + a + "x" + b + "x" + t + ">";
  };
  const std::string q = tensor(rows, deep, type), k = tensor(columns, deep, type), v = tensor(columns, width, type),
                    s = tensor(rows, columns, "f32"), w = tensor(rows, columns, type), out = tensor(rows, width, type),
                    row = "tensor<2x" + rows + "xf32>";
  return "func.func public @main(%q: " + q + ", %k: " + k + ", %v: " + v + ") -> " + out + " {\n" +
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

} // namespace
