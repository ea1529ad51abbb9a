// Convolutions against the reference interpreter on every target: fixed ones for each way of lowering, random attributes, and values
// that are not finite.
#include "ConvolutionGraphs.h"

using namespace glia;
using namespace glia::convolutions;

namespace {

// Forward convolutions: channels fill the contraction, or copies of the input do.
TEST(Convolution, Forward) {
  const Axis same{20, 3, 1, 1, 1}, half{21, 3, 2, 1, 1};
  expectRight(textOf({.batch = 2, .channels = 70, .outputs = 130, .axes = {same, same}}));
  expectRight(textOf({.channels = 129, .outputs = 5, .axes = {half, half}}));
  expectRight(textOf({.channels = 32, .outputs = 20, .axes = {half, same}}));
  expectRight(textOf({.batch = 2, .channels = 3, .outputs = 64, .axes = {{33, 7, 2, 3, 3}, {40, 7, 2, 3, 3}}}));
  expectRight(textOf({.channels = 1, .outputs = 7, .axes = {{16, 7, 2, 3, 3}, {16, 7, 2, 3, 3}}}));
  expectRight(textOf({.batch = 3, .channels = 64, .outputs = 128, .axes = {{8, 1}, {9, 1}}}));
  expectRight(textOf({.channels = 2, .outputs = 3, .axes = {{5, 3, 1, 1, 1}, {1300, 3, 1, 1, 1}}})); // several bands
}

// The gradient of the input: strides become dilations of the input, and phases here.
TEST(Convolution, GradientOfInput) {
  const Axis by2{11, 3, 1, 1, 2, 2, 1, true}, by3{6, 5, 1, 2, 3, 3, 1, true};
  expectRight(textOf({.kernel = "io01", .channels = 66, .outputs = 9, .axes = {by2, by2}}));
  expectRight(
      textOf({.kernel = "io01", .batch = 2, .channels = 64, .outputs = 3, .axes = {{16, 7, 1, 3, 4, 2, 1, true}, by3}}));
  expectRight(textOf(
      {.kernel = "io01", .channels = 5, .outputs = 4, .axes = {{9, 2, 1, 0, 0, 3, 1, true}, by3}})); // phases without taps
}

// The gradient of weights: the kernel is as large as the input, and batch and channels change places.
TEST(Convolution, GradientOfWeights) {
  const Axis same{24, 24, 1, 1, 1}, half{24, 12, 1, 1, 0, 1, 2};
  const auto turned = [](Case c) {
    c.input = "fb01", c.kernel = "io01", c.result = "fb01";
    return textOf(c);
  };
  expectRight(turned({.batch = 70, .channels = 1, .outputs = 130, .axes = {same, same}}));
  expectRight(turned({.batch = 5, .channels = 3, .outputs = 6, .axes = {half, half}}));
  expectRight(
      turned({.batch = 3, .channels = 1, .outputs = 64, .axes = {{48, 24, 1, 3, 2, 1, 2}, {50, 25, 1, 3, 2, 1, 2}}}));
  expectRight(turned({.batch = 130, .channels = 2, .outputs = 20, .axes = {{7, 7}, {13, 13}}}));
  expectRight(turned({.batch = 8, .channels = 2, .outputs = 8, .axes = {same, half}, .batchGroups = 4}));
}

TEST(Convolution, ChannelsLast) {
  const Axis same{14, 3, 1, 1, 1}, half{17, 3, 2, 0, 1};
  expectRight(textOf({.input = "b01f",
                      .kernel = "01io",
                      .result = "b01f",
                      .batch = 2,
                      .channels = 40,
                      .outputs = 70,
                      .axes = {same, half}}));
  expectRight(
      textOf({.input = "b01f", .kernel = "01io", .result = "b01f", .channels = 3, .outputs = 8, .axes = {half, half}}));
  expectRight(textOf({.input = "f01b",
                      .kernel = "i01o",
                      .result = "01bf",
                      .batch = 40,
                      .channels = 2,
                      .outputs = 30,
                      .axes = {{14, 14, 1, 1, 1}, {16, 16, 1, 1, 1}}}));
}

TEST(Convolution, OneDimension) {
  expectRight(textOf({.input = "bf0",
                      .kernel = "oi0",
                      .result = "bf0",
                      .batch = 2,
                      .channels = 20,
                      .outputs = 30,
                      .axes = {{70, 5, 1, 2, 2}}}));
  expectRight(textOf(
      {.input = "b0f", .kernel = "0io", .result = "b0f", .channels = 80, .outputs = 3, .axes = {{700, 3, 3, 1, -2, 1, 2}}}));
  expectRight(textOf({.input = "bf", .kernel = "oi", .result = "bf", .batch = 3, .channels = 200, .outputs = 140}));
}

TEST(Convolution, Groups) {
  const Axis same{9, 3, 1, 1, 1};
  expectRight(textOf({.batch = 2, .channels = 12, .outputs = 8, .axes = {same, same}, .groups = 4}));
  expectRight(textOf({.channels = 16, .outputs = 16, .axes = {same, {10, 3, 2, 1, 1}}, .groups = 16}));
  expectRight(textOf({.batch = 6, .channels = 4, .outputs = 9, .axes = {same, same}, .batchGroups = 3}));
}

TEST(Convolution, ThreeDimensions) {
  const Axis same{6, 3, 1, 1, 1}, half{7, 3, 2, 1, 2}, spread{5, 3, 2, 3, 2, 2, 2, true}, cut{9, 2, 1, -1, -2};
  const auto deep = [](Case c) {
    c.input = c.result = "bf012", c.kernel = "oi012";
    return c;
  };
  expectRight(textOf(deep({.batch = 2, .channels = 5, .outputs = 7, .axes = {same, half, same}})));
  expectRight(textOf(deep({.batch = 2, .channels = 6, .outputs = 4, .axes = {spread, same, cut}, .groups = 2})));
  expectRight(textOf(deep({.channels = 70, .outputs = 70, .axes = {cut, same, half}, .groups = 70})));
  expectRight(
      textOf(deep({.batch = 6, .channels = 3, .outputs = 4, .axes = {{6, 6, 1, 1, 1}, same, half}, .batchGroups = 2})));
  expectRight(textOf({.input = "b012f",
                      .kernel = "012io",
                      .result = "b012f",
                      .batch = 2,
                      .channels = 8,
                      .outputs = 20,
                      .axes = {half, same, same},
                      .type = "bf16",
                      .resultType = "bf16"}));
  expectRight(textOf({.input = "0b1f23", // and four
                      .kernel = "3oi102",
                      .result = "f3b201",
                      .channels = 3,
                      .outputs = 4,
                      .axes = {{3, 2}, {4, 3, 1, 1, 1}, {3, 2, 2, 1, 0}, {5, 2}}}));
}

TEST(Convolution, NarrowTypes) {
  const Axis same{12, 3, 1, 1, 1};
  for (const char *type : {"bf16", "f16"}) {
    expectRight(textOf({.channels = 70, .outputs = 20, .axes = {same, same}, .type = type, .resultType = type}));
    expectRight(textOf({.channels = 3, .outputs = 20, .axes = {same, same}, .type = type}));
    expectRight(textOf({.input = "fb01",
                        .kernel = "io01",
                        .result = "fb01",
                        .batch = 20,
                        .channels = 1,
                        .outputs = 6,
                        .axes = {{12, 12, 1, 1, 1}, {12, 12, 1, 1, 1}},
                        .type = type,
                        .resultType = type}));
  }
}

// Weights that do not fit at once: streamed, and channels of a band one part after the other.
TEST(Convolution, ManyChannels) {
  expectRight(textOf({.channels = 1100, .outputs = 3, .axes = {{4, 3, 1, 1, 1}, {5, 3, 1, 1, 1}}}));
  expectRight(textOf({.channels = 130, .outputs = 128, .axes = {{13, 13, 1, 6, 6}, {4, 4, 1, 2, 2, 1, 1, true}}}));
}

TEST(Convolution, RandomAttributes) {
  Draw draw(7);
  const char *targets[] = {"trn1", "trn2", "trn3"};
  for (int i = 0, done = 0; done < 60; ++i) {
    Case c;
    const bool flat = draw(0, 3) == 0;
    draw.orders(c, flat);
    const int64_t groups = draw(0, 2) ? 1 : draw(2, 3);
    (draw(0, 1) ? c.groups : c.batchGroups) = groups;
    c.batch = draw(1, 3) * c.batchGroups;
    c.channels = draw(1, 5) * c.groups;
    c.outputs = draw(1, 5) * groups;
    for (int d = 0; d < (flat ? 1 : 2); ++d)
      c.axes.push_back(
          {draw(1, 9), draw(1, 6), draw(1, 3), draw(-2, 4), draw(-2, 4), draw(1, 3), draw(1, 3), draw(0, 1) == 1});
    if (!leavesNothing(c))
      expectRightOn(targets[done++ % 3], c, static_cast<uint64_t>(i));
  }
}

// An infinity or NaN of the input reaches the outputs whose windows hold it, and no other.
TEST(Convolution, NotFinite) {
  const Axis same{12, 3, 1, 1, 1}, whole{12, 12, 1, 1, 1};
  const Case cases[] = {
      {.channels = 70, .outputs = 8, .axes = {same, same}},
      {.channels = 3, .outputs = 8, .axes = {same, {13, 3, 2, 1, 1}}},
      {.kernel = "io01", .channels = 6, .outputs = 8, .axes = {{6, 3, 1, 1, 2, 2, 1, true}, same}},
      {.input = "fb01", .kernel = "io01", .result = "fb01", .batch = 40, .outputs = 8, .axes = {whole, whole}},
      {.input = "b01f", .kernel = "01io", .result = "b01f", .channels = 40, .outputs = 8, .axes = {same, same}}};
  for (const Case &c : cases)
    expectRightNotFinite(c, false);
}

TEST(Convolution, RefusesByName) {
  Case c{.channels = 2, .axes = {{4, 2}, {4, 2}}};
  c.type = c.resultType = "i1";
  EXPECT_NE(differences(textOf(c), "trn2", {}).find("convolution of truth values"), std::string::npos);
}

} // namespace
