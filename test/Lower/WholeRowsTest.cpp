// Operations that need whole rows of a contraction are part of its kernel.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

std::string shaped(const std::string &dims, const std::string &type) { return "tensor<" + dims + "x" + type + ">"; }

// Scores of [batch, rows, depth] and [batch, columns, depth], each row as weights that are 1 together.
std::string softmax(const std::string &batch, const std::string &rows, const std::string &columns, const std::string &depth,
                    const std::string &type) {
  const std::string q = shaped(batch + "x" + rows + "x" + depth, type),
                    k = shaped(batch + "x" + columns + "x" + depth, type),
                    s = shaped(batch + "x" + rows + "x" + columns, type), r = shaped(batch + "x" + rows, type);
  return "func.func public @main(%q: " + q + ", %k: " + k + ") -> " + s + " {\n" +
         "  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (" + q + ", " + k +
         ") -> " + s + "\n" + "  %c = stablehlo.constant dense<0.3> : " + s + "\n  %1 = stablehlo.multiply %0, %c : " + s +
         "\n  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n  %first = stablehlo.convert %low : (tensor<f32>) "
         "-> "
         "tensor<" +
         type + ">\n  %zero = stablehlo.constant dense<0.0> : tensor<" + type +
         ">\n  %2 = stablehlo.reduce(%1 init: %first) applies stablehlo.maximum across dimensions = [2] : (" + s +
         ", tensor<" + type + ">) -> " + r + "\n  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (" + r + ") -> " + s +
         "\n  %4 = stablehlo.subtract %1, %3 : " + s + "\n  %5 = stablehlo.exponential %4 : " + s +
         "\n  %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [2] : (" + s + ", tensor<" +
         type + ">) -> " + r + "\n  %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (" + r + ") -> " + s +
         "\n  %8 = stablehlo.divide %5, %7 : " + s + "\n  return %8 : " + s + "\n}";
}

void expectOneGroup(const std::string &text) {
  expectRight(text);
  EXPECT_EQ(groupsOf(text), 1u) << text;
}

TEST(WholeRows, SoftmaxOfScores) {
  for (const char *type : {"f32", "bf16"}) {
    expectOneGroup(softmax("3", "128", "200", "40", type));
    expectOneGroup(softmax("2", "250", "70", "130", type));
    expectOneGroup(softmax("1", "5", "600", "64", type));
  }
}

TEST(WholeRows, RowsThatDoNotFillThePartitionsStayWithTheReductions) {
  const std::string text = softmax("6", "49", "70", "32", "f32");
  expectRight(text);
  EXPECT_EQ(groupsOf(text), 2u);
}

TEST(WholeRows, ResidualAndNormWithBothResults) {
  expectOneGroup(R"(func.func public @main(%x: tensor<2x150x130xbf16>, %w: tensor<130x260xbf16>, %h: tensor<2x150x260xbf16>,
                                           %g: tensor<260xbf16>) -> (tensor<2x150x260xbf16>, tensor<2x150x260xbf16>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<2x150x130xbf16>, tensor<130x260xbf16>) -> tensor<2x150x260xbf16>
    %1 = stablehlo.add %h, %0 : tensor<2x150x260xbf16>
    %2 = stablehlo.convert %1 : (tensor<2x150x260xbf16>) -> tensor<2x150x260xf32>
    %3 = stablehlo.multiply %2, %2 : tensor<2x150x260xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x150x260xf32>, tensor<f32>) -> tensor<2x150xf32>
    %n = stablehlo.constant dense<260.0> : tensor<2x150xf32>
    %5 = stablehlo.divide %4, %n : tensor<2x150xf32>
    %eps = stablehlo.constant dense<1.0e-6> : tensor<2x150xf32>
    %6 = stablehlo.add %5, %eps : tensor<2x150xf32>
    %7 = stablehlo.rsqrt %6 : tensor<2x150xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<2x150xf32>) -> tensor<2x150x260xf32>
    %9 = stablehlo.multiply %2, %8 : tensor<2x150x260xf32>
    %10 = stablehlo.convert %9 : (tensor<2x150x260xf32>) -> tensor<2x150x260xbf16>
    %11 = stablehlo.broadcast_in_dim %g, dims = [2] : (tensor<260xbf16>) -> tensor<2x150x260xbf16>
    %12 = stablehlo.multiply %10, %11 : tensor<2x150x260xbf16>
    return %1, %12 : tensor<2x150x260xbf16>, tensor<2x150x260xbf16>
  })");
}

TEST(WholeRows, LargestOfEachRowAndTheProductItself) {
  expectOneGroup(
      R"(func.func public @main(%x: tensor<70x300xf32>, %w: tensor<90x70xf32>) -> (tensor<300x90xf32>, tensor<300xf32>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [0] x [1] : (tensor<70x300xf32>, tensor<90x70xf32>) -> tensor<300x90xf32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<300x90xf32>, tensor<f32>) -> tensor<300xf32>
    return %0, %1 : tensor<300x90xf32>, tensor<300xf32>
  })");
}

TEST(WholeRows, WhatIsNotFiniteStaysInItsRow) { expectRightNotFinite(softmax("1", "200", "130", "140", "bf16"), 140); }

TEST(WholeRows, RowsThatDoNotFitAreSeveralKernels) { EXPECT_GT(groupsOf(softmax("1", "4", "20000", "8", "f32")), 1u); }

TEST(WholeRows, PartsOfRowsAreNotRows) {
  // The mean over heads of 65 columns each.
  const std::string text = R"(func.func public @main(%x: tensor<130x40xf32>, %w: tensor<40x130xf32>) -> tensor<130x2xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<130x40xf32>, tensor<40x130xf32>) -> tensor<130x130xf32>
    %1 = stablehlo.reshape %0 : (tensor<130x130xf32>) -> tensor<130x2x65xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<130x2x65xf32>, tensor<f32>) -> tensor<130x2xf32>
    return %2 : tensor<130x2xf32>
  })";
  expectRight(text);
  EXPECT_EQ(groupsOf(text), 2u);
}

TEST(WholeRows, TwoCores) {
  const std::string text = softmax("2", "256", "130", "40", "bf16");
  EXPECT_EQ(differences(text, "trn2", randomInputs(graph::parseGraph(text, "test.mlir").main(), 3), nullptr, 2), "");
}

} // namespace
