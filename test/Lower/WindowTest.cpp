// Windows against the reference: pooling in both layouts, borders, dilation, running sums, the gradient of max pooling.
#include "Check/CheckGraph.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace glia;

namespace {

struct Window {
  std::string in, out, type = "f32", init = "0.0", op = "add", size, stride, padding, more;
};

std::string reduceWindow(const Window &w) {
  const std::string scalar = "tensor<" + w.type + ">", in = "tensor<" + w.in + "x" + w.type + ">",
                    out = "tensor<" + w.out + "x" + w.type + ">";
  const size_t rank = static_cast<size_t>(std::count(w.size.begin(), w.size.end(), ',')) + 1;
  std::string s =
      "func.func @main(%x: " + in + ") -> " + out + " {\n  %i = stablehlo.constant dense<" + w.init + "> : " + scalar;
  s += "\n  %0 = \"stablehlo.reduce_window\"(%x, %i) <{window_dimensions = array<i64: " + w.size + ">";
  if (!w.stride.empty())
    s += ", window_strides = array<i64: " + w.stride + ">";
  if (!w.padding.empty())
    s += ", padding = dense<" + w.padding + "> : tensor<" + std::to_string(rank) + "x2xi64>";
  s += w.more + "}> ({\n  ^bb0(%a: " + scalar + ", %b: " + scalar + "):\n    %m = stablehlo." + w.op + " %a, %b : " + scalar;
  s += "\n    stablehlo.return %m : " + scalar + "\n  }) : (" + in + ", " + scalar + ") -> " + out +
       "\n  return %0 : " + out + "\n}\n";
  return s;
}

// Numbers with NaN, infinities and many equal ones among them.
std::vector<HostTensor> wild(const std::string &text, uint64_t seed) {
  std::vector<HostTensor> inputs = randomInputs(graph::parseGraph(text, "test.mlir").main(), seed);
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kSome[] = {kNaN, kInf, -kInf, 1, 1, 2, 0.5, -1};
  for (HostTensor &t : inputs) {
    if (!isFloat(t.element))
      continue;
    std::vector<Word> words(t.bytes.size() / info(t.element).bytes);
    decode(t.element, t.bytes.data(), words.data(), words.size());
    for (size_t i = 0; i < words.size(); ++i)
      if (const uint64_t pick = (i * 2654435761u + seed) >> 7; pick % 3 == 0)
        words[i] = std::bit_cast<Word>(kSome[pick / 3 % std::size(kSome)]);
    encode(t.element, words.data(), t.bytes.data(), words.size());
  }
  return inputs;
}

void expectRightWild(const std::string &text) {
  for (const char *target : {"trn1", "trn2", "trn3"})
    EXPECT_EQ(differences(text, target, wild(text, 3)), "") << target;
}

constexpr const char *kLowest = "0xFF800000";

TEST(Windows, MaxPoolingChannelsFirst) {
  const std::string text = reduceWindow({.in = "2x70x29x17",
                                         .out = "2x70x15x9",
                                         .init = kLowest,
                                         .op = "maximum",
                                         .size = "1,1,3,3",
                                         .stride = "1,1,2,2",
                                         .padding = "[[0,0],[0,0],[1,1],[1,1]]"});
  expectRight(text);
  expectRightWild(text);
}

TEST(Windows, MaxPoolingChannelsLast) {
  const std::string text = reduceWindow({.in = "2x29x17x20",
                                         .out = "2x15x9x20",
                                         .type = "bf16",
                                         .init = "0xFF80",
                                         .op = "maximum",
                                         .size = "1,3,3,1",
                                         .stride = "1,2,2,1",
                                         .padding = "[[0,0],[1,1],[1,1],[0,0]]"});
  expectRight(text);
  expectRightWild(text);
}

TEST(Windows, AveragePooling) {
  expectRight(reduceWindow({.in = "3x14x13x40", .out = "3x7x6x40", .size = "1,2,2,1", .stride = "1,2,2,1"}));
  expectRight(reduceWindow({.in = "1x129x12x12",
                            .out = "1x129x12x12",
                            .type = "bf16",
                            .size = "1,1,3,3",
                            .padding = "[[0,0],[0,0],[1,1],[1,1]]"}));
  expectRight(reduceWindow({.in = "1x7x7x513", .out = "1x1x1x513", .size = "1,7,7,1"}));
}

// A plane that does not fit on chip: boxes with a border of their own.
TEST(Windows, LargePlanes) {
  expectRight(reduceWindow({.in = "3x112x112",
                            .out = "3x56x56",
                            .init = kLowest,
                            .op = "maximum",
                            .size = "1,3,3",
                            .stride = "1,2,2",
                            .padding = "[[0,0],[0,1],[0,1]]"}));
  expectRight(reduceWindow(
      {.in = "112x112x3", .out = "56x56x3", .size = "3,3,1", .stride = "2,2,1", .padding = "[[0,1],[0,1],[0,0]]"}));
}

TEST(Windows, DilationAndOddPadding) {
  expectRight(reduceWindow({.in = "4x30",
                            .out = "4x30",
                            .size = "1,3",
                            .stride = "1,2",
                            .padding = "[[0,0],[3,4]]",
                            .more = ", base_dilations = array<i64: 1,2>, window_dilations = array<i64: 1,3>"}));
  expectRight(reduceWindow({.in = "9x40",
                            .out = "7x19",
                            .type = "ui16",
                            .init = "7",
                            .op = "minimum",
                            .size = "3,3",
                            .stride = "1,2",
                            .padding = "[[-1,1],[0,0]]"}));
  expectRight(reduceWindow({.in = "17", .out = "6", .op = "maximum", .size = "4", .stride = "3", .padding = "[[2,2]]"}));
  expectRight(
      reduceWindow({.in = "2x3", .out = "8x3", .init = "-1.5", .op = "maximum", .size = "2,1", .padding = "[[4,3],[0,0]]"}));
}

TEST(Windows, ManyDimensionsAndProducts) {
  expectRight(reduceWindow(
      {.in = "2x3x6x7x8", .out = "2x3x5x3x4", .init = "1.0", .op = "multiply", .size = "1,1,2,2,2", .stride = "1,1,1,2,2"}));
  expectRight(reduceWindow({.in = "2x3", .out = "2x2", .init = "3.0", .op = "multiply", .size = "1,2"}));
}

TEST(Windows, Integers) {
  for (const char *type : {"i8", "ui8", "i16", "ui16", "i32", "ui32"})
    for (const char *op : {"add", "multiply", "maximum"})
      expectRight(reduceWindow({.in = "9x40",
                                .out = "9x38",
                                .type = type,
                                .init = op == std::string("multiply") ? "1" : "0",
                                .op = op,
                                .size = "3,3",
                                .padding = "[[1,1],[0,0]]"}));
  expectRight(reduceWindow({.in = "5x6", .out = "4x6", .type = "i1", .init = "false", .op = "or", .size = "2,1"}));
}

TEST(Windows, RunningSums) {
  for (const char *op : {"add", "maximum", "multiply"})
    for (const char *type : {"f32", "i32"}) {
      const bool whole = type[0] == 'i';
      const std::string init = op == std::string("add")        ? whole ? "0" : "0.0"
                               : op == std::string("multiply") ? whole ? "1" : "1.0"
                               : whole                         ? "-7"
                                                               : "-7.0";
      expectRight(reduceWindow({.in = "130x13",
                                .out = "130x13",
                                .type = type,
                                .init = init,
                                .op = op,
                                .size = "1,13",
                                .padding = "[[0,0],[12,0]]"}));
      expectRight(reduceWindow({.in = "13x130",
                                .out = "13x130",
                                .type = type,
                                .init = init,
                                .op = op,
                                .size = "13,1",
                                .padding = "[[0,12],[0,0]]"}));
    }
  expectRight(reduceWindow({.in = "1x1100", .out = "1x1100", .size = "1,1100", .padding = "[[0,0],[1099,0]]"}));
  expectRight(
      reduceWindow({.in = "1100x1", .out = "1100x1", .op = "maximum", .size = "1100,1", .padding = "[[0,1099],[0,0]]"}));
}

TEST(Windows, RefusesByName) {
  const std::string text = reduceWindow({.in = "4", .out = "5", .init = "1.0", .size = "2", .padding = "[[1,1]]"});
  EXPECT_NE(differences(text, "trn2", randomInputs(graph::parseGraph(text, "test.mlir").main(), 1)).find("padding"),
            std::string::npos);
}

std::string selectAndScatter(const std::string &in, const std::string &windows, const std::string &type,
                             const std::string &size, const std::string &stride, const std::string &padding,
                             const std::string &compare = "GE", const std::string &init = "0.0") {
  const std::string scalar = "tensor<" + type + ">", x = "tensor<" + in + "x" + type + ">",
                    s = "tensor<" + windows + "x" + type + ">";
  const size_t rank = static_cast<size_t>(std::count(size.begin(), size.end(), ',')) + 1;
  return "func.func @main(%x: " + x + ", %s: " + s + ") -> " + x + " {\n  %i = stablehlo.constant dense<" + init +
         "> : " + scalar + "\n  %0 = \"stablehlo.select_and_scatter\"(%x, %s, %i) <{window_dimensions = array<i64: " + size +
         ">, window_strides = array<i64: " + stride + ">, padding = dense<" + padding + "> : tensor<" +
         std::to_string(rank) + "x2xi64>}> ({\n  ^bb0(%a: " + scalar + ", %b: " + scalar +
         "):\n    %m = stablehlo.compare " + compare + ", %a, %b : (" + scalar + ", " + scalar +
         ") -> tensor<i1>\n    stablehlo.return %m : tensor<i1>\n  }, {\n  ^bb0(%a: " + scalar + ", %b: " + scalar +
         "):\n    %m = stablehlo.add %a, %b : " + scalar + "\n    stablehlo.return %m : " + scalar + "\n  }) : (" + x +
         ", " + s + ", " + scalar + ") -> " + x + "\n  return %0 : " + x + "\n}\n";
}

TEST(Windows, GradientOfMaxPooling) {
  const std::string first =
                        selectAndScatter("2x5x13x11", "2x5x7x6", "f32", "1,1,3,3", "1,1,2,2", "[[0,0],[0,0],[1,1],[1,1]]"),
                    last = selectAndScatter("2x12x13x20", "2x6x7x20", "bf16", "1,2,3,1", "1,2,2,1",
                                            "[[0,0],[0,0],[1,1],[0,0]]");
  for (const std::string &text : {first, last}) {
    expectRight(text);
    expectRightWild(text); // equal ones: the first; NaN: as comparisons say
  }
  expectRight(selectAndScatter("130x9", "130x4", "f32", "1,3", "1,2", "[[0,0],[0,0]]", "LT", "0.5"));
}

// The plane does not fit: boxes share windows.
TEST(Windows, GradientOfMaxPoolingOfLargePlanes) {
  expectRight(selectAndScatter("2x40x100", "2x20x50", "f32", "1,3,3", "1,2,2", "[[0,0],[0,1],[0,1]]"));
  expectRight(selectAndScatter("40x100x2", "20x50x2", "f32", "3,3,1", "2,2,1", "[[0,1],[0,1],[0,0]]"));
}

TEST(Windows, GradientOfMaxPoolingOfIntegers) {
  for (const char *type : {"i8", "ui16", "i32"})
    expectRight(selectAndScatter("5x9", "5x4", type, "1,3", "1,2", "[[0,0],[0,0]]", "GE", "1"));
}

// The largest element of each window, and what another tensor has there.
TEST(Windows, SeveralTensorsTogether) {
  expectRight(R"(
func.func @main(%x: tensor<2x9x33xf32>, %t: tensor<2x9x33xbf16>) -> (tensor<2x5x33xf32>, tensor<2x5x33xbf16>) {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %0:2 = "stablehlo.reduce_window"(%x, %t, %lowest, %zero) <{padding = dense<[[0, 0], [1, 1], [2, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 3, 3>, window_strides = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<bf16>, %c: tensor<f32>, %d: tensor<bf16>):
    %1 = stablehlo.compare GE, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.select %1, %a, %c : tensor<i1>, tensor<f32>
    %3 = stablehlo.select %1, %b, %d : tensor<i1>, tensor<bf16>
    stablehlo.return %2, %3 : tensor<f32>, tensor<bf16>
  }) : (tensor<2x9x33xf32>, tensor<2x9x33xbf16>, tensor<f32>, tensor<bf16>) -> (tensor<2x5x33xf32>, tensor<2x5x33xbf16>)
  return %0#0, %0#1 : tensor<2x5x33xf32>, tensor<2x5x33xbf16>
})");
}

// A running sum of exponentials, as a logarithm.
TEST(Windows, BodiesOfSeveralOperations) {
  expectRight(R"(
func.func @main(%x: tensor<8x9xf32>) -> tensor<8x9xf32> {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %lowest) <{padding = dense<[[7, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 8, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    %2 = stablehlo.subtract %a, %b : tensor<f32>
    %3 = stablehlo.compare NE, %2, %2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.add %a, %b : tensor<f32>
    %5 = stablehlo.abs %2 : tensor<f32>
    %6 = stablehlo.negate %5 : tensor<f32>
    %7 = stablehlo.exponential %6 : tensor<f32>
    %8 = stablehlo.log_plus_one %7 : tensor<f32>
    %9 = stablehlo.add %1, %8 : tensor<f32>
    %10 = stablehlo.select %3, %4, %9 : tensor<i1>, tensor<f32>
    stablehlo.return %10 : tensor<f32>
  }) : (tensor<8x9xf32>, tensor<f32>) -> tensor<8x9xf32>
  return %0 : tensor<8x9xf32>
})");
}

// Only a slice without elements is wanted of it.
TEST(Windows, OfWhichNothingIsWanted) {
  expectRight(R"(
func.func @main(%x: tensor<3x7xf32>) -> (tensor<3x0xf32>, tensor<3x7xf32>) {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %c) <{padding = dense<[[0, 2], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<3x7xf32>, tensor<f32>) -> tensor<3x7xf32>
  %1 = stablehlo.slice %0 [0:3, 1:1] : (tensor<3x7xf32>) -> tensor<3x0xf32>
  %3 = stablehlo.negate %x : tensor<3x7xf32>
  return %1, %3 : tensor<3x0xf32>, tensor<3x7xf32>
})");
}

} // namespace
