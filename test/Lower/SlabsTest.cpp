// Reductions over an axis that is not the last, with what is before and behind them: one kernel.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

std::string tensor(std::initializer_list<int> shape, const std::string &type) {
  std::string out = "tensor<";
  for (int n : shape)
    out += std::to_string(n) + "x";
  return out + type + ">";
}

std::string softmax(int outer, int depth, int inner, const std::string &type = "f32",
                    const std::string &low = "0xFF800000") {
  const std::string full = tensor({outer, depth, inner}, type), kept = tensor({outer, inner}, type),
                    one = "tensor<" + type + ">";
  return "func.func @main(%x: " + full + ") -> " + full + " {\n  %low = stablehlo.constant dense<" + low + "> : " + one +
         "\n  %zero = stablehlo.constant dense<0.0> : " + one +
         "\n  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (" + full + ", " +
         one + ") -> " + kept + "\n  %b = stablehlo.broadcast_in_dim %m, dims = [0, 2] : (" + kept + ") -> " + full +
         "\n  %d = stablehlo.subtract %x, %b : " + full + "\n  %e = stablehlo.exponential %d : " + full +
         "\n  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (" + full + ", " + one +
         ") -> " + kept + "\n  %t = stablehlo.broadcast_in_dim %s, dims = [0, 2] : (" + kept + ") -> " + full +
         "\n  %y = stablehlo.divide %e, %t : " + full + "\n  return %y : " + full + "\n}";
}

// Parts of the depth on the partitions (also some that are left over), the whole depth on one, groups of inner indices on them.
TEST(Slabs, Softmax) {
  for (const auto &[outer, depth, inner] :
       {std::array{2, 512, 128}, {3, 131, 5}, {1, 300, 130}, {130, 3, 7}, {2, 4, 1000}, {1, 2, 2}})
    EXPECT_EQ(groupsOf(softmax(outer, depth, inner)), 1u) << outer << " " << depth << " " << inner;
  expectRight(softmax(2, 200, 33));
  expectRight(softmax(3, 150, 20, "bf16", "0xFF80"));
}

// NaN and infinities stay with their outer and inner index.
TEST(Slabs, Extremes) {
  const std::string text =
      R"(func.func @main(%x: tensor<300x40xf32>) -> (tensor<40xf32>, tensor<300x40xf32>, tensor<40xf32>) {
  %c = stablehlo.constant dense<[[0x7FC00000, 0x7F800000, 0xFF800000, 1.0]]> : tensor<1x4xf32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %high = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %part = stablehlo.slice %x [0:299, 0:40] : (tensor<300x40xf32>) -> tensor<299x40xf32>
  %left = stablehlo.slice %x [0:1, 0:36] : (tensor<300x40xf32>) -> tensor<1x36xf32>
  %odd = stablehlo.concatenate %left, %c, dim = 1 : (tensor<1x36xf32>, tensor<1x4xf32>) -> tensor<1x40xf32>
  %y = stablehlo.concatenate %part, %odd, dim = 0 : (tensor<299x40xf32>, tensor<1x40xf32>) -> tensor<300x40xf32>
  %m = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<300x40xf32>, tensor<f32>) -> tensor<40xf32>
  %n = stablehlo.reduce(%y init: %high) applies stablehlo.minimum across dimensions = [0] : (tensor<300x40xf32>, tensor<f32>) -> tensor<40xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<40xf32>) -> tensor<300x40xf32>
  %d = stablehlo.maximum %y, %b : tensor<300x40xf32>
  return %m, %d, %n : tensor<40xf32>, tensor<300x40xf32>, tensor<40xf32>
})";
  expectRight(text);
}

// A scale along the depth, a bias along the inner indices, a mask that outer indices share, counts; two reductions, one after the other.
TEST(Slabs, Normalisation) {
  const std::string text =
      R"(func.func @main(%x: tensor<2x3x140x6xf32>, %w: tensor<140xf32>, %b: tensor<6xf32>, %k: tensor<2x140x6xf32>) -> (tensor<2x3x140x6xf32>, tensor<2x3x6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<140.0> : tensor<2x3x6xf32>
  %mask = stablehlo.broadcast_in_dim %k, dims = [0, 2, 3] : (tensor<2x140x6xf32>) -> tensor<2x3x140x6xf32>
  %i = stablehlo.iota dim = 2 : tensor<2x3x140x6xf32>
  %0 = stablehlo.multiply %x, %mask : tensor<2x3x140x6xf32>
  %1 = stablehlo.add %0, %i : tensor<2x3x140x6xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x3x140x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
  %3 = stablehlo.divide %2, %n : tensor<2x3x6xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 3] : (tensor<2x3x6xf32>) -> tensor<2x3x140x6xf32>
  %5 = stablehlo.subtract %1, %4 : tensor<2x3x140x6xf32>
  %6 = stablehlo.multiply %5, %5 : tensor<2x3x140x6xf32>
  %7 = stablehlo.reduce(%6 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x3x140x6xf32>, tensor<f32>) -> tensor<2x3x6xf32>
  %8 = stablehlo.rsqrt %7 : tensor<2x3x6xf32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 3] : (tensor<2x3x6xf32>) -> tensor<2x3x140x6xf32>
  %10 = stablehlo.multiply %5, %9 : tensor<2x3x140x6xf32>
  %11 = stablehlo.broadcast_in_dim %w, dims = [2] : (tensor<140xf32>) -> tensor<2x3x140x6xf32>
  %12 = stablehlo.multiply %10, %11 : tensor<2x3x140x6xf32>
  %13 = stablehlo.broadcast_in_dim %b, dims = [3] : (tensor<6xf32>) -> tensor<2x3x140x6xf32>
  %14 = stablehlo.add %12, %13 : tensor<2x3x140x6xf32>
  return %14, %8 : tensor<2x3x140x6xf32>, tensor<2x3x6xf32>
})";
  expectRight(text);
  EXPECT_EQ(groupsOf(text), 1u);
}

// Small integers and truth values, and a start that counts; too much for the chip is reduced piece by piece.
TEST(Slabs, Types) {
  expectRight(
      R"(func.func @main(%x: tensor<150x9xi8>, %p: tensor<3x20x9xi1>, %y: tensor<150x9xf16>) -> (tensor<9xi8>, tensor<3x9xi1>, tensor<9xf16>) {
  %low = stablehlo.constant dense<-128> : tensor<i8>
  %no = stablehlo.constant dense<false> : tensor<i1>
  %start = stablehlo.constant dense<2.0> : tensor<f16>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<150x9xi8>, tensor<i8>) -> tensor<9xi8>
  %1 = stablehlo.reduce(%p init: %no) applies stablehlo.or across dimensions = [1] : (tensor<3x20x9xi1>, tensor<i1>) -> tensor<3x9xi1>
  %2 = stablehlo.reduce(%y init: %start) applies stablehlo.maximum across dimensions = [0] : (tensor<150x9xf16>, tensor<f16>) -> tensor<9xf16>
  return %0, %1, %2 : tensor<9xi8>, tensor<3x9xi1>, tensor<9xf16>
})");
  expectRight(R"(func.func @main(%x: tensor<7001x130xf32>) -> (tensor<130xf32>, tensor<130xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<1.0> : tensor<f32>
  %e = stablehlo.abs %x : tensor<7001x130xf32>
  %m = stablehlo.reduce(%e init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<7001x130xf32>, tensor<f32>) -> tensor<130xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<7001x130xf32>, tensor<f32>) -> tensor<130xf32>
  return %m, %s : tensor<130xf32>, tensor<130xf32>
})");
}

// Nothing is read: a number that is computed, compared with counts.
TEST(Slabs, NumbersAlone) {
  expectRight(R"(func.func @main() -> (tensor<65x10xf32>, tensor<5x65x10xf32>) {
  %i = stablehlo.iota dim = 0 : tensor<5x65x10xf32>
  %two = stablehlo.constant dense<2.0> : tensor<65x10xf16>
  %bits = stablehlo.bitcast_convert %two : (tensor<65x10xf16>) -> tensor<65x10xi16>
  %less = stablehlo.constant dense<-1> : tensor<65x10xi16>
  %0 = stablehlo.add %bits, %less : tensor<65x10xi16>
  %1 = stablehlo.bitcast_convert %0 : (tensor<65x10xi16>) -> tensor<65x10xf16>
  %2 = stablehlo.convert %1 : (tensor<65x10xf16>) -> tensor<65x10xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [1, 2] : (tensor<65x10xf32>) -> tensor<5x65x10xf32>
  %4 = stablehlo.multiply %i, %3 : tensor<5x65x10xf32>
  %high = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %5 = stablehlo.reduce(%4 init: %high) applies stablehlo.minimum across dimensions = [0] : (tensor<5x65x10xf32>, tensor<f32>) -> tensor<65x10xf32>
  return %5, %3 : tensor<65x10xf32>, tensor<5x65x10xf32>
})");
}

} // namespace
