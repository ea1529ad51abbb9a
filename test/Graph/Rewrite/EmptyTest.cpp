// Tensors without elements next to others: what is left has the right numbers.
#include "Check/CheckGraph.h"

using namespace glia;

namespace {

// Every place of a window holds the start, which counts once more.
TEST(Empty, WindowsHoldTheStart) {
  expectRight(R"(
func.func @main(%e: tensor<0x4xf32>, %s: tensor<f32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xi32>, tensor<3x4xf32>) {
  %c = stablehlo.constant dense<1.5> : tensor<f32>
  %k = stablehlo.constant dense<3> : tensor<i32>
  %i = stablehlo.convert %e : (tensor<0x4xf32>) -> tensor<0x4xi32>
  %0 = "stablehlo.reduce_window"(%e, %c) <{padding = dense<[[2, 2], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<0x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %1:2 = "stablehlo.reduce_window"(%e, %i, %c, %k) <{padding = dense<[[2, 2], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %d: tensor<f32>, %f: tensor<i32>):
    %m = stablehlo.multiply %a, %d : tensor<f32>
    %n = stablehlo.multiply %b, %f : tensor<i32>
    stablehlo.return %m, %n : tensor<f32>, tensor<i32>
  }) : (tensor<0x4xf32>, tensor<0x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<3x4xf32>, tensor<3x4xi32>)
  %2 = "stablehlo.reduce_window"(%e, %s) <{padding = dense<[[2, 2], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<0x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  return %0, %1#0, %1#1, %2 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xi32>, tensor<3x4xf32>
})");
}

TEST(Empty, UpdatesPaddingAndParts) {
  expectRight(R"(
func.func @main(%x: tensor<3x4xf32>, %e: tensor<0x4xf32>, %s: tensor<f32>, %i: tensor<i32>) -> (tensor<3x4xf32>, tensor<2x6xf32>, tensor<6x4xf32>) {
  %0 = stablehlo.dynamic_update_slice %x, %e, %i, %i : (tensor<3x4xf32>, tensor<0x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
  %1 = stablehlo.pad %e, %s, low = [1, 1], high = [1, 1], interior = [3, 0] : (tensor<0x4xf32>, tensor<f32>) -> tensor<2x6xf32>
  %2 = stablehlo.concatenate %x, %e, %x, dim = 0 : (tensor<3x4xf32>, tensor<0x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
  return %0, %1, %2 : tensor<3x4xf32>, tensor<2x6xf32>, tensor<6x4xf32>
})");
}

TEST(Empty, Statistics) {
  expectRight(R"(
func.func @main(%e: tensor<0x4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y, %m, %v = "stablehlo.batch_norm_training"(%e, %x, %x) <{epsilon = 0.001 : f32, feature_index = 1 : i64}> : (tensor<0x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<0x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %m, %v : tensor<4xf32>, tensor<4xf32>
})");
}

} // namespace
