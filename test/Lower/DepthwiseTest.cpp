// Convolutions of many groups with few channels, and the gradients of their weights, against the reference interpreter on every target.
#include "ConvolutionGraphs.h"

using namespace glia;
using namespace glia::convolutions;

namespace {

Case depthwise(int64_t channels, std::vector<Axis> axes, int64_t batch = 1, int64_t multiplier = 1) {
  return {
      .batch = batch, .channels = channels, .outputs = channels * multiplier, .axes = std::move(axes), .groups = channels};
}

Case channelsLast(Case c) {
  const std::string axes = c.axes.size() == 2 ? "01" : "0";
  c.input = c.result = "b" + axes + "f";
  c.kernel = axes + "io";
  return c;
}

// As JAX writes it: images and channels change places, and groups are of the batch.
Case gradient(int64_t channels, int64_t images, std::vector<Axis> axes, int64_t outputs = 1) {
  return {.input = "fb01",
          .kernel = "io01",
          .result = "fb01",
          .batch = channels,
          .channels = images,
          .outputs = channels * outputs,
          .axes = std::move(axes),
          .batchGroups = channels};
}

TEST(Depthwise, Forward) {
  const Axis same{9, 3, 1, 1, 1}, half{11, 5, 2, 2, 2};
  expectRight(textOf(depthwise(129, {same, half})));
  expectRight(textOf(depthwise(70, {half, same}, 3)));                      // rows of several images share a pass
  expectRight(textOf(depthwise(33, {same, same}, 2, 3)));                   // several outputs of a group
  expectRight(textOf(depthwise(96, {{40, 3, 1, 1, 1}, {45, 3, 1, 1, 1}}))); // several blocks
  expectRight(textOf({.batch = 2, .channels = 80, .outputs = 60, .axes = {same, same}, .groups = 20})); // several channels
}

// Few rows: bands of an image lie on further partitions.
TEST(Depthwise, Bands) {
  const Axis tall{48, 3, 1, 1, 1}, half{64, 5, 2, 1, 2}, wide{16, 3, 1, 1, 1};
  expectRight(textOf(depthwise(2, {tall, wide})));
  expectRight(textOf(depthwise(5, {half, wide}, 2, 2)));
  expectRight(textOf(channelsLast(depthwise(6, {tall, wide}))));
  expectRight(textOf(depthwise(1, {{256, 7, 1, 3, 3}, {8, 3, 1, 1, 1}})));
  expectRight(textOf(depthwise(3, {{32, 4, 1, 1, 2, 2, 1, true}, {16, 3, 1, 1, 2, 2, 1, true}}))); // and phases
}

TEST(Depthwise, WindowsAndBorders) {
  expectRight(textOf(depthwise(65, {{4, 9, 1, 4, 4}, {5, 11, 1, 6, 5}})));                        // larger than the image
  expectRight(textOf(depthwise(130, {{9, 3, 1, -2, -1}, {9, 3, 2, -1, 2}})));                     // negative padding
  expectRight(textOf(depthwise(66, {{3, 2, 1, 9, 9}, {3, 2, 1, 0, 12}})));                        // outputs that see nothing
  expectRight(textOf(depthwise(66, {{12, 3, 1, 2, 2, 1, 2}, {13, 3, 2, 3, 3, 1, 3, true}})));     // dilated, reversed
  expectRight(textOf(depthwise(72, {{6, 3, 1, 1, 2, 2, 1, true}, {5, 5, 2, 2, 3, 3, 1, true}}))); // gradient of the input
  expectRight(textOf(depthwise(65, {{1, 1}, {1, 1}})));
}

TEST(Depthwise, ChannelsLast) {
  const Axis same{12, 3, 1, 1, 1}, half{13, 5, 2, 2, 2};
  expectRight(textOf(channelsLast(depthwise(129, {same, half}))));
  expectRight(textOf(channelsLast(depthwise(70, {half, half}, 3, 2))));
  expectRight(textOf(channelsLast({.channels = 66, .outputs = 22, .axes = {same, same}, .groups = 22})));
}

TEST(Depthwise, OneDimension) {
  Case c = depthwise(40, {{1000, 4, 1, 3, 0}}, 2);
  c.input = c.result = "bf0", c.kernel = "oi0";
  expectRight(textOf(c));
  expectRight(textOf(channelsLast(depthwise(40, {{300, 4, 1, 3, 0}}, 2))));
  Case tall = depthwise(1, {{70000, 3, 1, 1, 1}}); // does not fit at once
  tall.input = tall.result = "bf0", tall.kernel = "oi0";
  expectRight(textOf(tall));
}

TEST(Depthwise, NarrowTypes) {
  const Axis same{12, 3, 1, 1, 1};
  for (const char *type : {"bf16", "f16"}) {
    Case c = depthwise(130, {same, same});
    c.type = c.resultType = type;
    expectRight(textOf(c));
    c.resultType = "f32";
    expectRight(textOf(channelsLast(c)));
    Case g = gradient(70, 3, {{12, 12, 1, 1, 1}, {12, 12, 1, 1, 1}});
    g.type = g.resultType = type;
    expectRight(textOf(g));
  }
}

TEST(Depthwise, WithPointwiseOperations) {
  expectRight(
      R"(func.func @main(%x: tensor<2x70x12x12xf32>, %w: tensor<70x1x3x3xf32>, %b: tensor<70xf32>) -> tensor<2x70x12x12xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 70 : i64} : (tensor<2x70x12x12xf32>, tensor<70x1x3x3xf32>) -> tensor<2x70x12x12xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<70xf32>) -> tensor<2x70x12x12xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x70x12x12xf32>
  %3 = stablehlo.logistic %2 : tensor<2x70x12x12xf32>
  %4 = stablehlo.multiply %2, %3 : tensor<2x70x12x12xf32>
  return %4 : tensor<2x70x12x12xf32>
})");
  // Bands of the image on the partitions, two outputs of a group, channels last.
  expectRight(
      R"(func.func @main(%x: tensor<1x48x16x4xf32>, %w: tensor<3x3x1x8xf32>, %b: tensor<8xf32>) -> tensor<1x48x16x8xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<1x48x16x4xf32>, tensor<3x3x1x8xf32>) -> tensor<1x48x16x8xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [3] : (tensor<8xf32>) -> tensor<1x48x16x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<1x48x16x8xf32>
  %3 = stablehlo.tanh %2 : tensor<1x48x16x8xf32>
  return %3 : tensor<1x48x16x8xf32>
})");
  // The same with bands and channels first.
  expectRight(
      R"(func.func @main(%x: tensor<2x4x48x16xf32>, %w: tensor<8x1x3x3xf32>, %r: tensor<2x8x48x16xf32>) -> tensor<2x8x48x16xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<2x4x48x16xf32>, tensor<8x1x3x3xf32>) -> tensor<2x8x48x16xf32>
  %1 = stablehlo.add %0, %r : tensor<2x8x48x16xf32>
  return %1 : tensor<2x8x48x16xf32>
})");
}

TEST(Depthwise, GradientOfWeights) {
  const Axis same{14, 14, 1, 1, 1}, half{24, 12, 1, 1, 0, 1, 2};
  expectRight(textOf(gradient(130, 2, {same, same})));
  expectRight(textOf(gradient(40, 8, {half, half}))); // several images side by side, in several passes
  expectRight(textOf(gradient(20, 3, {same, half}, 2)));
  expectRight(textOf(gradient(96, 1, {{40, 40, 1, 1, 1}, {40, 40, 1, 1, 1}}))); // several blocks
  expectRight(textOf(gradient(30, 2, {{9, 9, 2, 4, 4}, {7, 9, 1, 3, 3}})));     // dilated taps; some see nothing of a row
  Case last = gradient(70, 3, {same, same});
  last.input = "f01b", last.kernel = "i01o", last.result = "01bf";
  expectRight(textOf(last));
  expectRight(textOf({.input = "fb0",
                      .kernel = "io0",
                      .result = "fb0",
                      .batch = 20,
                      .channels = 3,
                      .outputs = 20,
                      .axes = {{3000, 3000, 1, 3, 0}},
                      .batchGroups = 20}));
  expectRight(textOf(
      {.batch = 60, .channels = 3, .outputs = 40, .axes = {same, same}, .batchGroups = 20})); // several inputs of a group
}

TEST(Depthwise, RandomAttributes) {
  Draw draw(11);
  const char *targets[] = {"trn1", "trn2", "trn3"};
  const int64_t many[] = {1, 7, 32, 65, 127, 129, 200};
  for (int i = 0, done = 0; done < 36; ++i) {
    Case c;
    const bool flat = draw(0, 3) == 0, ofBatch = draw(0, 2) == 0;
    draw.orders(c, flat);
    const int64_t groups = many[draw(0, 6)];
    (ofBatch ? c.batchGroups : c.groups) = groups;
    c.batch = draw(1, 3) * c.batchGroups;
    c.channels = draw(1, 2) * c.groups;
    c.outputs = draw(1, 2) * groups;
    for (int d = 0; d < (flat ? 1 : 2); ++d)
      c.axes.push_back({draw(1, 9), draw(1, 6), draw(1, 3), draw(-2, 4), draw(-2, 4), draw(0, 2) ? 1 : draw(2, 3),
                        draw(1, 3), draw(0, 1) == 1});
    if (!leavesNothing(c))
      expectRightOn(targets[done++ % 3], c, static_cast<uint64_t>(i));
  }
}

// An infinity or NaN of the input reaches the outputs of its own group whose windows hold it, and no other; padding is no factor.
TEST(Depthwise, NotFinite) {
  const Axis same{12, 3, 1, 1, 1};
  const Case cases[] = {depthwise(70, {same, {13, 5, 2, 2, 2}}), depthwise(3, {{48, 3, 1, 1, 1}, same}),
                        channelsLast(depthwise(70, {same, same}, 2)), depthwise(66, {{6, 3, 1, 1, 2, 2, 1, true}, same}),
                        gradient(70, 3, {{12, 12, 1, 1, 1}, {12, 12, 1, 1, 1}})};
  for (const Case &c : cases)
    expectRightNotFinite(c, true);
}

} // namespace
