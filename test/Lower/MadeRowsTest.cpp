// Rows that are made for one contraction only are made in its kernel.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

std::string of(const std::string &dims, const std::string &type) { return "tensor<" + dims + "x" + type + ">"; }

// Values whose names begin with `n`: each row of `from` over the root of the mean of its squares, computed in fp32.
std::string norm(const std::string &n, const std::string &from, int64_t rows, int64_t columns, const std::string &type) {
  const std::string r = std::to_string(rows), full = r + "x" + std::to_string(columns), wide = of(full, "f32"),
                    narrow = of(full, type), row = of(r, "f32");
  return "  %" + n + "0 = stablehlo.convert " + from + " : (" + narrow + ") -> " + wide + "\n  %" + n +
         "1 = stablehlo.multiply %" + n + "0, %" + n + "0 : " + wide + "\n  %" + n +
         "z = stablehlo.constant dense<0.0> : tensor<f32>\n  %" + n + "2 = stablehlo.reduce(%" + n + "1 init: %" + n +
         "z) applies stablehlo.add across dimensions = [1] : (" + wide + ", tensor<f32>) -> " + row + "\n  %" + n +
         "n = stablehlo.constant dense<" + std::to_string(columns) + ".0> : " + row + "\n  %" + n +
         "3 = stablehlo.divide %" + n + "2, %" + n + "n : " + row + "\n  %" + n + "4 = stablehlo.rsqrt %" + n +
         "3 : " + row + "\n  %" + n + "5 = stablehlo.broadcast_in_dim %" + n + "4, dims = [0] : (" + row + ") -> " + wide +
         "\n  %" + n + "6 = stablehlo.multiply %" + n + "0, %" + n + "5 : " + wide + "\n  %" + n + " = stablehlo.convert %" +
         n + "6 : (" + wide + ") -> " + narrow + "\n";
}

std::string product(const std::string &result, const std::string &a, const std::string &b, int64_t m, int64_t k, int64_t n,
                    const std::string &type) {
  const auto dims = [&](int64_t x, int64_t y) { return of(std::to_string(x) + "x" + std::to_string(y), type); };
  return "  " + result + " = stablehlo.dot_general " + a + ", " + b + ", contracting_dims = [1] x [0] : (" + dims(m, k) +
         ", " + dims(k, n) + ") -> " + dims(m, n) + "\n";
}

// norm(x) w, with an activation behind it.
std::string normThenProduct(int64_t m, int64_t k, int64_t n, const std::string &type) {
  const auto dims = [&](int64_t x, int64_t y) { return of(std::to_string(x) + "x" + std::to_string(y), type); };
  return "func.func public @main(%x: " + dims(m, k) + ", %w: " + dims(k, n) + ") -> " + dims(m, n) + " {\n" +
         norm("h", "%x", m, k, type) + product("%y", "%h", "%w", m, k, n, type) +
         "  %t = stablehlo.tanh %y : " + dims(m, n) + "\n  return %t : " + dims(m, n) + "\n}";
}

TEST(MadeRows, NormInFrontOfAProduct) {
  for (const char *type : {"f32", "bf16"})
    for (const auto &[m, k, n] : {std::tuple{200, 130, 300}, {33, 300, 40}}) {
      const std::string text = normThenProduct(m, k, n, type);
      expectRight(text);
      EXPECT_EQ(groupsOf(text), 1u) << text;
    }
}

TEST(MadeRows, WhatIsNotFiniteStaysInItsRow) { expectRightNotFinite(normThenProduct(150, 140, 70, "bf16"), 140); }

TEST(MadeRows, RowsThatTwoProductsReadAreMadeOnce) {
  const std::string text =
      "func.func public @main(%x: tensor<64x130xf32>, %w: tensor<130x90xf32>, %v: tensor<130x80xf32>) -> "
      "(tensor<64x90xf32>, tensor<64x80xf32>) {\n" +
      norm("h", "%x", 64, 130, "f32") + product("%y", "%h", "%w", 64, 130, 90, "f32") +
      product("%u", "%h", "%v", 64, 130, 80, "f32") + "  return %y, %u : tensor<64x90xf32>, tensor<64x80xf32>\n}";
  expectRight(text);
  EXPECT_EQ(groupsOf(text), 3u);
}

TEST(MadeRows, RowsOfAProductStayInItsKernel) {
  const std::string text = "func.func public @main(%x: tensor<140x50xf32>, %w: tensor<50x90xf32>, %v: tensor<90x80xf32>) -> "
                           "tensor<140x80xf32> {\n" +
                           product("%y", "%x", "%w", 140, 50, 90, "f32") + norm("h", "%y", 140, 90, "f32") +
                           product("%u", "%h", "%v", 140, 90, 80, "f32") + "  return %u : tensor<140x80xf32>\n}";
  expectRight(text);
  EXPECT_EQ(groupsOf(text), 2u);
}

TEST(MadeRows, TwoCores) {
  const std::string text = normThenProduct(256, 130, 70, "bf16");
  EXPECT_EQ(differences(text, "trn2", randomInputs(graph::parseGraph(text, "test.mlir").main(), 3), nullptr, 2), "");
}

} // namespace
