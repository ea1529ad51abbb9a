// Tensors of more dimensions than the machine's have: in HBM the first ones are one.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

TEST(Rank, Movement) {
  expectRight(R"(
func.func @main(%x: tensor<2x1x2x3x2x1x2x2x2x2xf32>) -> (tensor<2x2x2x3x2x1x2x1x2x2xf32>, tensor<2x1x2x3x2x1x2x1x2x2xf32>, tensor<2x1x2x3x2x1x2x2x2x2xf32>) {
  %t = stablehlo.transpose %x, dims = [0, 2, 4, 3, 6, 1, 7, 5, 8, 9] : (tensor<2x1x2x3x2x1x2x2x2x2xf32>) -> tensor<2x2x2x3x2x1x2x1x2x2xf32>
  %s = stablehlo.slice %x [0:2, 0:1, 0:2, 0:3, 0:2, 0:1, 0:2, 1:2, 0:2, 0:2] : (tensor<2x1x2x3x2x1x2x2x2x2xf32>) -> tensor<2x1x2x3x2x1x2x1x2x2xf32>
  %r = stablehlo.reverse %x, dims = [0, 3, 9] : tensor<2x1x2x3x2x1x2x2x2x2xf32>
  return %t, %s, %r : tensor<2x2x2x3x2x1x2x1x2x2xf32>, tensor<2x1x2x3x2x1x2x1x2x2xf32>, tensor<2x1x2x3x2x1x2x2x2x2xf32>
})");
}

TEST(Rank, Arithmetic) {
  expectRight(R"(
func.func @main(%x: tensor<2x1x2x3x2x1x2x2x2x2xf32>, %b: tensor<2x3x2xf32>) -> (tensor<2x1x2x3x2x1x2x2x2x2xf32>, tensor<2x1x2x3x2x1x2x2x2xf32>, tensor<2x3x2xf32>) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %b, dims = [2, 3, 9] : (tensor<2x3x2xf32>) -> tensor<2x1x2x3x2x1x2x2x2x2xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<2x1x2x3x2x1x2x2x2x2xf32>
  %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [9] : (tensor<2x1x2x3x2x1x2x2x2x2xf32>, tensor<f32>) -> tensor<2x1x2x3x2x1x2x2x2xf32>
  %3 = stablehlo.reduce(%1 init: %c) applies stablehlo.maximum across dimensions = [0, 1, 4, 5, 6, 7, 8] : (tensor<2x1x2x3x2x1x2x2x2x2xf32>, tensor<f32>) -> tensor<2x3x2xf32>
  return %1, %2, %3 : tensor<2x1x2x3x2x1x2x2x2x2xf32>, tensor<2x1x2x3x2x1x2x2x2xf32>, tensor<2x3x2xf32>
})");
}

TEST(Rank, Contraction) {
  expectRight(R"(
func.func @main(%x: tensor<2x1x2x3x2x1x2x2x2x3xf32>, %y: tensor<2x3x2x4xf32>) -> tensor<2x2x1x3x2x1x2x2x3x4xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [2] x [0], contracting_dims = [8] x [2] : (tensor<2x1x2x3x2x1x2x2x2x3xf32>, tensor<2x3x2x4xf32>) -> tensor<2x2x1x3x2x1x2x2x3x3x4xf32>
  %1 = stablehlo.slice %0 [0:2, 0:2, 0:1, 0:3, 0:2, 0:1, 0:2, 0:2, 1:2, 0:3, 0:4] : (tensor<2x2x1x3x2x1x2x2x3x3x4xf32>) -> tensor<2x2x1x3x2x1x2x2x1x3x4xf32>
  %2 = stablehlo.reshape %1 : (tensor<2x2x1x3x2x1x2x2x1x3x4xf32>) -> tensor<2x2x1x3x2x1x2x2x3x4xf32>
  return %2 : tensor<2x2x1x3x2x1x2x2x3x4xf32>
})");
}

TEST(Rank, Indices) {
  expectRight(R"(
func.func @main(%x: tensor<2x1x2x3x2x1x2x2x2x5xf32>, %i: tensor<i32>, %u: tensor<1x1x2x3x2x1x1x2x2x5xf32>) -> (tensor<2x1x2x3x2x1x1x2x2x2xf32>, tensor<2x1x2x3x2x1x2x2x2x5xf32>) {
  %0 = stablehlo.dynamic_slice %x, %i, %i, %i, %i, %i, %i, %i, %i, %i, %i, sizes = [2, 1, 2, 3, 2, 1, 1, 2, 2, 2] : (tensor<2x1x2x3x2x1x2x2x2x5xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x1x2x3x2x1x1x2x2x2xf32>
  %1 = stablehlo.dynamic_update_slice %x, %u, %i, %i, %i, %i, %i, %i, %i, %i, %i, %i : (tensor<2x1x2x3x2x1x2x2x2x5xf32>, tensor<1x1x2x3x2x1x1x2x2x5xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x1x2x3x2x1x2x2x2x5xf32>
  return %0, %1 : tensor<2x1x2x3x2x1x1x2x2x2xf32>, tensor<2x1x2x3x2x1x2x2x2x5xf32>
})");
}

TEST(Rank, Sixteen) {
  const std::string t = "tensor<2x1x2x1x2x1x3x1x2x1x2x1x2x1x2x2xf32>";
  expectRight(
      "func.func @main(%x: " + t + ") -> (tensor<2x2x1x2x1x2x1x2x1x3x1x2x1x2x1x2xf32>, tensor<2x1x1x1x3x1x2x2xf32>, " + t +
      ") {\n%c = stablehlo.constant dense<0.0> : tensor<f32>\n%r = stablehlo.reverse %x, dims = [0, 6, 14] : " + t +
      "\n%p = stablehlo.transpose %r, dims = [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0] : (" + t +
      ") -> tensor<2x2x1x2x1x2x1x2x1x3x1x2x1x2x1x2xf32>\n%s = stablehlo.reduce(%r init: %c) applies stablehlo.add across "
      "dimensions = [2, 4, 5, 8, 9, 10, 13, 15] : (" +
      t +
      ", tensor<f32>) -> tensor<2x1x1x3x1x1x2x2xf32>\n%q = stablehlo.reshape %s : (tensor<2x1x1x3x1x1x2x2xf32>) -> "
      "tensor<2x1x1x1x3x1x2x2xf32>\nreturn %p, %q, %r : tensor<2x2x1x2x1x2x1x2x1x3x1x2x1x2x1x2xf32>, "
      "tensor<2x1x1x1x3x1x2x2xf32>, " +
      t + "\n}");
}

} // namespace
