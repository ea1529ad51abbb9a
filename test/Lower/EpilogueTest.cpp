// Pointwise operations behind a contraction are part of its kernel, and every value between is rounded to its type.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

// The text is right on every target, in so many groups.
void expectGroups(const std::string &text, size_t groups) {
  expectRight(text);
  GraphCheck report;
  std::vector<HostTensor> inputs = randomInputs(graph::parseGraph(text, "test.mlir").main(), 2);
  EXPECT_EQ(differences(text, "trn2", inputs, &report), "");
  EXPECT_EQ(report.groups, groups);
}

TEST(Epilogue, LinearLayerWithActivationAndResidual) {
  expectGroups(R"(func.func public @main(%x: tensor<3x50x70xbf16>, %w: tensor<70x130xbf16>, %b: tensor<130xbf16>,
                                         %r: tensor<3x50x130xbf16>) -> (tensor<3x50x130xbf16>, tensor<3x50x130xf32>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<3x50x70xbf16>, tensor<70x130xbf16>) -> tensor<3x50x130xbf16>
    %1 = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<130xbf16>) -> tensor<1x1x130xbf16>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<1x1x130xbf16>) -> tensor<3x50x130xbf16>
    %3 = stablehlo.add %0, %2 : tensor<3x50x130xbf16>
    %4 = stablehlo.tanh %3 : tensor<3x50x130xbf16>
    %half = stablehlo.constant dense<0.5> : tensor<3x50x130xbf16>
    %5 = stablehlo.multiply %4, %half : tensor<3x50x130xbf16>
    %6 = stablehlo.add %r, %5 : tensor<3x50x130xbf16>
    %7 = stablehlo.convert %6 : (tensor<3x50x130xbf16>) -> tensor<3x50x130xf32>
    return %5, %7 : tensor<3x50x130xbf16>, tensor<3x50x130xf32>
  })",
               1);
}

TEST(Epilogue, OneNumberPerRowColumnAndBatch) {
  expectGroups(R"(func.func public @main(%x: tensor<5x140x30xf32>, %w: tensor<5x30x40xf32>, %rows: tensor<140xf32>,
                                         %batch: tensor<5xf32>, %columns: tensor<5x40xf32>) -> tensor<5x140x40xf32> {
    %0 = stablehlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<5x140x30xf32>, tensor<5x30x40xf32>) -> tensor<5x140x40xf32>
    %1 = stablehlo.broadcast_in_dim %rows, dims = [1] : (tensor<140xf32>) -> tensor<5x140x40xf32>
    %2 = stablehlo.subtract %0, %1 : tensor<5x140x40xf32>
    %3 = stablehlo.broadcast_in_dim %batch, dims = [0] : (tensor<5xf32>) -> tensor<5x140x40xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<5x140x40xf32>
    %5 = stablehlo.broadcast_in_dim %columns, dims = [0, 2] : (tensor<5x40xf32>) -> tensor<5x140x40xf32>
    %6 = stablehlo.maximum %4, %5 : tensor<5x140x40xf32>
    return %6 : tensor<5x140x40xf32>
  })",
               1);
}

TEST(Epilogue, TransposesAreAWayOfStoring) {
  // Heads between positions and width again, and the gradient of a weight the other way round.
  expectGroups(R"(func.func public @main(%p: tensor<2x3x33x40xbf16>, %v: tensor<2x40x3x64xbf16>, %y: tensor<66x150xbf16>,
                                         %b: tensor<2x33x192xbf16>) -> (tensor<2x33x192xbf16>, tensor<150x192xbf16>) {
    %0 = stablehlo.dot_general %v, %p, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x40x3x64xbf16>, tensor<2x3x33x40xbf16>) -> tensor<2x3x64x33xbf16>
    %1 = stablehlo.transpose %0, dims = [0, 3, 1, 2] : (tensor<2x3x64x33xbf16>) -> tensor<2x33x3x64xbf16>
    %2 = stablehlo.reshape %1 : (tensor<2x33x3x64xbf16>) -> tensor<2x33x192xbf16>
    %3 = stablehlo.reshape %2 : (tensor<2x33x192xbf16>) -> tensor<66x192xbf16>
    %4 = stablehlo.dot_general %3, %y, contracting_dims = [0] x [0] : (tensor<66x192xbf16>, tensor<66x150xbf16>) -> tensor<192x150xbf16>
    %5 = stablehlo.transpose %4, dims = [1, 0] : (tensor<192x150xbf16>) -> tensor<150x192xbf16>
    return %2, %5 : tensor<2x33x192xbf16>, tensor<150x192xbf16>
  })",
               2);
}

TEST(Epilogue, ReductionsTakeWhatOnlyTheyRead) {
  expectGroups(
      R"(func.func public @main(%x: tensor<150x70xbf16>, %w: tensor<70x60xbf16>) -> (tensor<150xf32>, tensor<150x60xbf16>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<150x70xbf16>, tensor<70x60xbf16>) -> tensor<150x60xbf16>
    %two = stablehlo.constant dense<2.0> : tensor<150x60xbf16>
    %1 = stablehlo.multiply %0, %two : tensor<150x60xbf16>
    %2 = stablehlo.convert %1 : (tensor<150x60xbf16>) -> tensor<150x60xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<150x60xf32>, tensor<f32>) -> tensor<150xf32>
    return %3, %1 : tensor<150xf32>, tensor<150x60xbf16>
  })",
      2);
}

// x w + b + (s (t u)), of type `type`, with t u before or behind the longer product; `turned`: the result the other way round.
std::string updateOfLowRank(const std::string &type, int rank, bool first, bool turned) {
  const auto of = [&](const std::string &dims) { return "tensor<" + dims + "x" + type + ">"; };
  const std::string r = std::to_string(rank),
                    longer = "    %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (" + of("3x100x150") +
                             ", " + of("150x270") + ") -> " + of("3x100x270") + "\n",
                    shorter = "    %1 = stablehlo.dot_general %t, %u, contracting_dims = [2] x [1] : (" + of("3x100x" + r) +
                              ", " + of("270x" + r) + ") -> " + of("3x100x270") + "\n";
  std::string text = "func.func public @main(%x: " + of("3x100x150") + ", %w: " + of("150x270") + ", %b: " + of("270") +
                     ", %t: " + of("3x100x" + r) + ", %u: " + of("270x" + r) + ") -> " +
                     of(turned ? "270x3x100" : "3x100x270") + " {\n" + (first ? shorter + longer : longer + shorter) +
                     "    %2 = stablehlo.broadcast_in_dim %b, dims = [2] : (" + of("270") + ") -> " + of("3x100x270") +
                     "\n    %3 = stablehlo.add %0, %2 : " + of("3x100x270") +
                     "\n    %s = stablehlo.constant dense<0.3> : " + of("3x100x270") +
                     "\n    %4 = stablehlo.multiply %1, %s : " + of("3x100x270") +
                     "\n    %5 = stablehlo.add %3, %4 : " + of("3x100x270") + "\n";
  if (turned)
    text += "    %6 = stablehlo.transpose %5, dims = [2, 0, 1] : (" + of("3x100x270") + ") -> " + of("270x3x100") +
            "\n    return %6 : " + of("270x3x100") + "\n}";
  else
    text += "    return %5 : " + of("3x100x270") + "\n}";
  return text;
}

TEST(Epilogue, AShortProductBesideALongOne) {
  expectGroups(updateOfLowRank("bf16", 9, false, false), 1);
  expectGroups(updateOfLowRank("f32", 9, true, true), 1);
  expectGroups(updateOfLowRank("bf16", 128, false, false), 1);
}

TEST(Epilogue, AProductThatIsNotShortIsAKernelOfItsOwn) { expectGroups(updateOfLowRank("f32", 129, false, false), 2); }

TEST(Epilogue, WhatIsInFrontOfAProductIsNotBehindIt) {
  expectGroups(R"(func.func public @main(%a: tensor<f32>, %x: tensor<11x6xf32>) -> tensor<6xf32> {
    %0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<11xf32>
    %1 = stablehlo.dot_general %x, %0, contracting_dims = [0] x [0] : (tensor<11x6xf32>, tensor<11xf32>) -> tensor<6xf32>
    return %1 : tensor<6xf32>
  })",
               2);
}

TEST(Epilogue, AShortProductThatTheLongOneReads) {
  expectGroups(
      R"(func.func public @main(%x: tensor<280x9xf32>, %u: tensor<9x280xf32>, %w: tensor<280x280xf32>) -> tensor<280x280xf32> {
    %0 = stablehlo.dot_general %x, %u, contracting_dims = [1] x [0] : (tensor<280x9xf32>, tensor<9x280xf32>) -> tensor<280x280xf32>
    %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<280x280xf32>, tensor<280x280xf32>) -> tensor<280x280xf32>
    %2 = stablehlo.add %1, %0 : tensor<280x280xf32>
    return %2 : tensor<280x280xf32>
  })",
      2);
}

TEST(Epilogue, ValuesThatComeFromTheContractionItselfByAnotherWay) {
  // The sum of the rows needs all of the product: its user cannot be in the kernel of the product.
  expectGroups(R"(func.func public @main(%x: tensor<40x30xf32>, %w: tensor<30x50xf32>) -> tensor<40x50xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<40x30xf32>, tensor<30x50xf32>) -> tensor<40x50xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<40x50xf32>, tensor<f32>) -> tensor<50xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<50xf32>) -> tensor<40x50xf32>
    %3 = stablehlo.add %0, %2 : tensor<40x50xf32>
    return %3 : tensor<40x50xf32>
  })",
               2);
}

TEST(Epilogue, ScalarsAndSelections) {
  expectGroups(
      R"(func.func public @main(%x: tensor<300xf32>, %y: tensor<300xf32>, %p: tensor<i1>, %z: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<300xf32>, tensor<300xf32>) -> tensor<f32>
    %1 = stablehlo.add %0, %z : tensor<f32>
    %2 = stablehlo.select %p, %1, %0 : tensor<i1>, tensor<f32>
    return %2 : tensor<f32>
  })",
      1);
}

// Bias, residual and activation behind a convolution: channels first, and channels last, where positions are on the partitions.
TEST(Epilogue, ConvolutionWithBiasAndActivation) {
  expectGroups(R"(func.func public @main(%x: tensor<2x3x19x33xf32>, %w: tensor<140x3x3x3xf32>, %b: tensor<140xf32>,
                                         %r: tensor<2x140x19x33xf32>) -> tensor<2x140x19x33xf32> {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x19x33xf32>, tensor<140x3x3x3xf32>) -> tensor<2x140x19x33xf32>
    %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<140xf32>) -> tensor<2x140x19x33xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x140x19x33xf32>
    %3 = stablehlo.add %2, %r : tensor<2x140x19x33xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<2x140x19x33xf32>
    %4 = stablehlo.maximum %3, %zero : tensor<2x140x19x33xf32>
    return %4 : tensor<2x140x19x33xf32>
  })",
               1);
  expectGroups(
      R"(func.func public @main(%x: tensor<2x14x13x16xbf16>, %w: tensor<3x3x8x32xbf16>, %b: tensor<32xbf16>) -> tensor<2x14x13x32xf32> {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x14x13x16xbf16>, tensor<3x3x8x32xbf16>) -> tensor<2x14x13x32xbf16>
    %1 = stablehlo.broadcast_in_dim %b, dims = [3] : (tensor<32xbf16>) -> tensor<2x14x13x32xbf16>
    %2 = stablehlo.multiply %0, %1 : tensor<2x14x13x32xbf16>
    %3 = stablehlo.convert %2 : (tensor<2x14x13x32xbf16>) -> tensor<2x14x13x32xf32>
    return %3 : tensor<2x14x13x32xf32>
  })",
      1);
}

// The gradient of weights goes into the weights' update; a convolution in phases, with one spatial dimension.
TEST(Epilogue, ConvolutionGradients) {
  expectGroups(
      R"(func.func public @main(%x: tensor<2x40x9x12xf32>, %g: tensor<2x70x9x12xf32>, %w: tensor<70x40x3x3xf32>) -> tensor<70x40x3x3xf32> {
    %0 = stablehlo.convolution(%x, %g) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x40x9x12xf32>, tensor<2x70x9x12xf32>) -> tensor<70x40x3x3xf32>
    %rate = stablehlo.constant dense<0.125> : tensor<70x40x3x3xf32>
    %1 = stablehlo.multiply %0, %rate : tensor<70x40x3x3xf32>
    %2 = stablehlo.subtract %w, %1 : tensor<70x40x3x3xf32>
    return %2 : tensor<70x40x3x3xf32>
  })",
      1);
  expectGroups(R"(func.func public @main(%g: tensor<3x20x31xf32>, %w: tensor<20x6x4xf32>) -> tensor<3x6x64xf32> {
    %0 = stablehlo.convolution(%g, %w) dim_numbers = [b, f, 0]x[i, o, 0]->[b, f, 0], window = {pad = [[3, 3]], lhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x20x31xf32>, tensor<20x6x4xf32>) -> tensor<3x6x64xf32>
    %1 = stablehlo.tanh %0 : tensor<3x6x64xf32>
    return %1 : tensor<3x6x64xf32>
  })",
               1);
}

// What others read too is stored anyway, and what a reduction reads is computed with it.
TEST(Epilogue, ConvolutionThatOthersReadStaysAlone) {
  expectGroups(
      R"(func.func public @main(%x: tensor<1x8x20x20xf32>, %w: tensor<16x8x3x3xf32>) -> (tensor<1x16x18x18xf32>, tensor<1x16x18x18xf32>) {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x20x20xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x18x18xf32>
    %1 = stablehlo.tanh %0 : tensor<1x16x18x18xf32>
    return %0, %1 : tensor<1x16x18x18xf32>, tensor<1x16x18x18xf32>
  })",
      2);
}

} // namespace
