// Each rewrite of a graph, with a mistake planted behind it, is found by the check: a constant off by one, operands swapped, an operation
// left out. Each case is a graph that its rewrite changes, and is right without the mistake. What changes no result (a guard against numbers
// that do not come, a factor of one) is no mistake.
#include "Check/CheckGraph.h"

#include <map>

using namespace glia;

namespace {

struct Case {
  const char *rewrite, *text;
  bool idle = false;  // the rewrite has nothing to do in this pipeline, whatever the graph
  bool ranks = false; // the graph is for several, and every fault in it changes what comes out
};

// 64-bit numbers that fit 32.
constexpr const char *kNarrowed = R"(
func.func @main(%x: tensor<6xi32>) -> tensor<6xi32> {
  %c = stablehlo.constant dense<9> : tensor<6xi64>
  %i = stablehlo.iota dim = 0 : tensor<6xi64>
  %w = stablehlo.convert %x : (tensor<6xi32>) -> tensor<6xi64>
  %0 = stablehlo.remainder %w, %c : tensor<6xi64>
  %1 = stablehlo.subtract %0, %i : tensor<6xi64>
  %2 = stablehlo.convert %1 : (tensor<6xi64>) -> tensor<6xi32>
  return %2 : tensor<6xi32>
})";

const Case kCases[] = {
    {"inline calls", R"(
func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> tensor<6xf32> {
  %0 = call @f(%x, %y) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
func.func private @f(%x: tensor<6xf32>, %y: tensor<6xf32>) -> tensor<6xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<6xf32>
  %0 = stablehlo.subtract %x, %y : tensor<6xf32>
  %1 = stablehlo.multiply %0, %c : tensor<6xf32>
  return %1 : tensor<6xf32>
})"},
    {"own constants", R"(
func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> tensor<6xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare EQ, %a, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.select %1, %zero, %a : tensor<i1>, tensor<f32>
    %3 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.select %3, %nan, %2 : tensor<i1>, tensor<f32>
    %5 = stablehlo.compare EQ, %b, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %6 = stablehlo.select %5, %zero, %b : tensor<i1>, tensor<f32>
    %7 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %8 = stablehlo.select %7, %nan, %6 : tensor<i1>, tensor<f32>
    %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %9 : tensor<i1>
  }) : (tensor<6xf32>) -> tensor<6xf32>
  %10 = stablehlo.subtract %0, %y : tensor<6xf32>
  return %10 : tensor<6xf32>
})"},
    {"widen small integers", R"(
func.func @main(%x: tensor<40xi32>, %y: tensor<40xi32>) -> tensor<40xi32> {
  %a = stablehlo.convert %x : (tensor<40xi32>) -> tensor<40xi4>
  %b = stablehlo.convert %y : (tensor<40xi32>) -> tensor<40xi4>
  %c = stablehlo.constant dense<3> : tensor<40xi4>
  %0 = stablehlo.subtract %a, %b : tensor<40xi4>
  %1 = stablehlo.multiply %0, %c : tensor<40xi4>
  %2 = stablehlo.convert %1 : (tensor<40xi4>) -> tensor<40xi32>
  return %2 : tensor<40xi32>
})"},
    {"pair sends", R"(
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> tensor<6xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %s = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<6xf32>, !stablehlo.token) -> !stablehlo.token
  %r:2 = "stablehlo.recv"(%s) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> (tensor<6xf32>, !stablehlo.token)
  %1 = stablehlo.subtract %r#0, %y : tensor<6xf32>
  return %1 : tensor<6xf32>
}})",
     false, true},
    {"fold devices", R"(
func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> tensor<6xf32> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6xf32>) -> tensor<6xf32>
  %1 = stablehlo.subtract %0, %y : tensor<6xf32>
  return %1 : tensor<6xf32>
})"},
    {"number ranks", R"(
module attributes {mhlo.num_partitions = 3 : i32} {
func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> tensor<6xf32> {
  %0 = stablehlo.partition_id : tensor<ui32>
  %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<f32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<6xf32>
  %3 = stablehlo.subtract %x, %2 : tensor<6xf32>
  return %3 : tensor<6xf32>
}})",
     false, true},
    {"decompose collectives", R"(
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> tensor<6xf32> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6xf32>) -> tensor<6xf32>
  %1 = stablehlo.subtract %0, %y : tensor<6xf32>
  return %1 : tensor<6xf32>
}})",
     false, true},
    {"fold dynamic", R"(
func.func @main(%x: tensor<4x6xf32>, %y: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %start = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %limit = stablehlo.constant dense<[3, 5]> : tensor<2xi64>
  %step = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %0 = stablehlo.real_dynamic_slice %x, %start, %limit, %step : (tensor<4x6xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2xf32>
  %1 = stablehlo.subtract %0, %y : tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
})"},
    // No triangular_solve: it corrects itself once, and so mistakes too.
    {"decompose linear algebra", R"(
func.func @main(%x: tensor<3x3xf32>, %y: tensor<4x3xf32>, %u: tensor<3xf32>) -> (tensor<3x3xf32>, tensor<4x3xf32>) {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %s = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %0 = stablehlo.cholesky %s, lower = true : tensor<3x3xf32>
  %1 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%y, %u) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %0, %1 : tensor<3x3xf32>, tensor<4x3xf32>
})"},
    {"decompose Fourier transforms", R"(
func.func @main(%x: tensor<2x5xf32>) -> tensor<2x3xcomplex<f32>> {
  %0 = stablehlo.fft %x, type = RFFT, length = [5] : (tensor<2x5xf32>) -> tensor<2x3xcomplex<f32>>
  return %0 : tensor<2x3xcomplex<f32>>
})"},
    {"split complex", R"(
func.func @main(%x: tensor<6xcomplex<f32>>, %y: tensor<6xcomplex<f32>>) -> tensor<6xcomplex<f32>> {
  %c = stablehlo.constant dense<(1.5, -2.0)> : tensor<6xcomplex<f32>>
  %0 = stablehlo.subtract %x, %c : tensor<6xcomplex<f32>>
  %1 = stablehlo.multiply %0, %y : tensor<6xcomplex<f32>>
  return %1 : tensor<6xcomplex<f32>>
})"},
    {"scan loops", R"(
func.func @main(%a: tensor<9x6xf32>, %b: tensor<9x6xf32>, %h: tensor<6xf32>) -> (tensor<6xf32>, tensor<9x6xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %e = stablehlo.constant dense<0.0> : tensor<9x6xf32>
  %r:3 = stablehlo.while(%i = %zero, %g = %h, %y = %e) : tensor<i32>, tensor<6xf32>, tensor<9x6xf32>
   cond {
    %n = stablehlo.constant dense<9> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %a, %i, %z, sizes = [1, 6] : (tensor<9x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x6xf32>) -> tensor<6xf32>
    %2 = stablehlo.dynamic_slice %b, %i, %z, sizes = [1, 6] : (tensor<9x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
    %3 = stablehlo.reshape %2 : (tensor<1x6xf32>) -> tensor<6xf32>
    %4 = stablehlo.multiply %1, %g : tensor<6xf32>
    %5 = stablehlo.subtract %4, %3 : tensor<6xf32>
    %6 = stablehlo.subtract %5, %1 : tensor<6xf32>
    %7 = stablehlo.reshape %6 : (tensor<6xf32>) -> tensor<1x6xf32>
    %8 = stablehlo.dynamic_update_slice %y, %7, %i, %z : (tensor<9x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<9x6xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %5, %8 : tensor<i32>, tensor<6xf32>, tensor<9x6xf32>
  }
  return %r#1, %r#2 : tensor<6xf32>, tensor<9x6xf32>
})"},
    {"unroll loops", R"(
func.func @main(%x: tensor<6xi32>, %y: tensor<6xi32>) -> tensor<6xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %z = %x) : tensor<i32>, tensor<6xi32>
   cond {
    %n = stablehlo.constant dense<2> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %w = stablehlo.subtract %z, %y : tensor<6xi32>
    %v = stablehlo.broadcast_in_dim %j, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %u = stablehlo.multiply %w, %v : tensor<6xi32>
    stablehlo.return %j, %u : tensor<i32>, tensor<6xi32>
  }
  return %r#1 : tensor<6xi32>
})"},
    {"remove empty", R"(
func.func @main(%x: tensor<3x4xf32>, %e: tensor<0x4xf32>, %y: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>) {
  %c = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.concatenate %x, %e, dim = 0 : (tensor<3x4xf32>, tensor<0x4xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.subtract %0, %y : tensor<3x4xf32>
  %2 = stablehlo.reduce(%e init: %c) applies stablehlo.add across dimensions = [0] : (tensor<0x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %1, %2 : tensor<3x4xf32>, tensor<4xf32>
})"},
    {"fold scans", R"(
func.func @main(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %b [0:4, 0:2:2] : (tensor<4x3xf32>) -> tensor<4x1xf32>
  %1 = stablehlo.slice %a [0:4, 1:3:2] : (tensor<4x3xf32>) -> tensor<4x1xf32>
  %2 = stablehlo.slice %b [0:4, 1:3:2] : (tensor<4x3xf32>) -> tensor<4x1xf32>
  %3 = stablehlo.multiply %1, %0 : tensor<4x1xf32>
  %4 = stablehlo.add %3, %2 : tensor<4x1xf32>
  %5 = stablehlo.slice %a [0:4, 2:3:2] : (tensor<4x3xf32>) -> tensor<4x1xf32>
  %6 = stablehlo.slice %b [0:4, 2:3:2] : (tensor<4x3xf32>) -> tensor<4x1xf32>
  %7 = stablehlo.multiply %4, %5 : tensor<4x1xf32>
  %8 = stablehlo.add %6, %7 : tensor<4x1xf32>
  %9 = stablehlo.slice %b [0:4, 0:1] : (tensor<4x3xf32>) -> tensor<4x1xf32>
  %10 = stablehlo.concatenate %9, %8, dim = 1 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
  %11 = stablehlo.pad %10, %zero, low = [0, 0], high = [0, 0], interior = [0, 1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x3xf32>
  %12 = stablehlo.pad %4, %zero, low = [0, 1], high = [0, 1], interior = [0, 1] : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x3xf32>
  %13 = stablehlo.add %11, %12 : tensor<4x3xf32>
  %14 = stablehlo.subtract %13, %a : tensor<4x3xf32>
  return %14 : tensor<4x3xf32>
})"},
    {"decompose reductions", R"(
func.func @main(%x: tensor<7x9xf32>) -> (tensor<7xf32>, tensor<7xi32>) {
  %s = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 1 : tensor<7x9xi32>
  %r:2 = stablehlo.reduce(%x init: %s), (%i init: %z) across dimensions = [1] : (tensor<7x9xf32>, tensor<7x9xi32>, tensor<f32>, tensor<i32>) -> (tensor<7xf32>, tensor<7xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>)  {
    %2 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>
    %4 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.minimum %c, %d : tensor<i32>
    %6 = stablehlo.select %2, %c, %d : tensor<i1>, tensor<i32>
    %7 = stablehlo.select %4, %5, %6 : tensor<i1>, tensor<i32>
    stablehlo.return %3, %7 : tensor<f32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<7xf32>, tensor<7xi32>
})"},
    {"decompose windows", R"(
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<7xf32>, tensor<7xf32>) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %r:2 = "stablehlo.reduce_window"(%x, %y, %c, %c) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %d: tensor<f32>, %e: tensor<f32>):
    %0 = stablehlo.subtract %d, %a : tensor<f32>
    %1 = stablehlo.subtract %b, %e : tensor<f32>
    stablehlo.return %0, %1 : tensor<f32>, tensor<f32>
  }) : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>) -> (tensor<7xf32>, tensor<7xf32>)
  return %r#0, %r#1 : tensor<7xf32>, tensor<7xf32>
})"},
    {"decompose scatters", R"(
func.func @main(%x: tensor<6xf32>, %u: tensor<3xf32>) -> tensor<6xf32> {
  %i = stablehlo.constant dense<[[1], [4], [1]]> : tensor<3x1xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.subtract %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
})"},
    {"decompose batch norms", R"(
func.func @main(%x: tensor<5x4xf32>, %s: tensor<4xf32>, %o: tensor<4xf32>, %m: tensor<4xf32>) -> tensor<5x4xf32> {
  %v = stablehlo.multiply %m, %m : tensor<4xf32>
  %0 = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v) <{epsilon = 0.5 : f32, feature_index = 1 : i64}> : (tensor<5x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
})"},
    {"decompose dots", R"(
func.func @main(%x: tensor<5x4xf32>, %y: tensor<4x3xf32>) -> tensor<4x5x3xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4x5x3xf32>
  %0 = stablehlo.dot_general %x, %y, batching_dims = [1] x [0], contracting_dims = [] x [] : (tensor<5x4xf32>, tensor<4x3xf32>) -> tensor<4x5x3xf32>
  %1 = stablehlo.subtract %0, %c : tensor<4x5x3xf32>
  return %1 : tensor<4x5x3xf32>
})"},
    {"fold kernel reverses", R"(
func.func @main(%x: tensor<1x2x7xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x5xf32> {
  %r = stablehlo.reverse %w, dims = [2] : tensor<3x2x3xf32>
  %c = stablehlo.constant dense<2.0> : tensor<1x3x5xf32>
  %0 = stablehlo.convolution(%x, %r) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x5xf32>
  %1 = stablehlo.subtract %0, %c : tensor<1x3x5xf32>
  return %1 : tensor<1x3x5xf32>
})"},
    {"decompose convolutions", R"(
func.func @main(%x: tensor<1x2x4x3x3xf32>, %w: tensor<3x2x2x2x2xf32>) -> tensor<1x3x3x2x2xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<1x3x3x2x2xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x4x3x3xf32>, tensor<3x2x2x2x2xf32>) -> tensor<1x3x3x2x2xf32>
  %1 = stablehlo.subtract %0, %c : tensor<1x3x3x2x2xf32>
  return %1 : tensor<1x3x3x2x2xf32>
})"},
    {"decompose random", R"(
func.func @main(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>) {
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  return %0, %1 : tensor<2xui64>, tensor<4xui32>
})"},
    {"fold gelus", R"(
func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %half = stablehlo.constant dense<0.5> : tensor<6xf32>
  %one = stablehlo.constant dense<1.0> : tensor<6xf32>
  %c = stablehlo.constant dense<0.707106769> : tensor<6xf32>
  %d = stablehlo.constant dense<1.41421354> : tensor<6xf32>
  %0 = stablehlo.multiply %half, %x : tensor<6xf32>
  %1 = stablehlo.negate %x : tensor<6xf32>
  %2 = stablehlo.multiply %1, %c : tensor<6xf32>
  %3 = chlo.erfc %2 : tensor<6xf32> -> tensor<6xf32>
  %4 = stablehlo.multiply %0, %3 : tensor<6xf32>
  %5 = stablehlo.divide %y, %d : tensor<6xf32>
  %6 = chlo.erf %5 : tensor<6xf32> -> tensor<6xf32>
  %7 = stablehlo.add %6, %one : tensor<6xf32>
  %8 = stablehlo.multiply %y, %7 : tensor<6xf32>
  %9 = stablehlo.multiply %8, %half : tensor<6xf32>
  return %4, %9 : tensor<6xf32>, tensor<6xf32>
})"},
    {"decompose functions", R"(
func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = chlo.cosh %x : tensor<6xf32> -> tensor<6xf32>
  return %0 : tensor<6xf32>
})"},
    {"decompose bits", R"(
func.func @main(%x: tensor<6xui16>, %y: tensor<6xui16>) -> tensor<6xui16> {
  %c = stablehlo.constant dense<50021> : tensor<6xui16>
  %a = stablehlo.multiply %x, %c : tensor<6xui16>
  %b = stablehlo.multiply %y, %c : tensor<6xui16>
  %0 = chlo.mulhi %a, %b : tensor<6xui16>, tensor<6xui16> -> tensor<6xui16>
  return %0 : tensor<6xui16>
})"},
    {"fold constants", R"(
func.func @main(%x: tensor<6xi32>) -> tensor<6xi32> {
  %a = stablehlo.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
  %b = stablehlo.constant dense<7> : tensor<6xi32>
  %0 = stablehlo.subtract %a, %b : tensor<6xi32>
  %1 = stablehlo.subtract %x, %0 : tensor<6xi32>
  return %1 : tensor<6xi32>
})"},
    {"simplify identities", R"(
func.func @main(%x: tensor<4x6xf32>, %y: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<6x4xf32>
  %0 = stablehlo.multiply %y, %c : tensor<6x4xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %2 = stablehlo.subtract %1, %x : tensor<4x6xf32>
  %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %4 = stablehlo.subtract %3, %c : tensor<6x4xf32>
  return %4 : tensor<6x4xf32>
})"},
    {"erase unused", R"(
func.func @main(%x: tensor<6xbf16>, %y: tensor<6xbf16>) -> tensor<6xbf16> {
  %c = stablehlo.constant dense<5.0> : tensor<6xbf16>
  %w = stablehlo.convert %x : (tensor<6xbf16>) -> tensor<6xf64>
  %0 = stablehlo.multiply %w, %w : tensor<6xf64>
  %1 = stablehlo.subtract %x, %y : tensor<6xbf16>
  %2 = stablehlo.add %1, %c : tensor<6xbf16>
  return %2 : tensor<6xbf16>
})"},
    {"decompose wide sorts", R"(
func.func @main(%x: tensor<5xi64>) -> tensor<5xi64> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %p = stablehlo.compare GT, %a, %b, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<5xi64>) -> tensor<5xi64>
  return %0 : tensor<5xi64>
})"},
    {"decompose wide integers", R"(
func.func @main(%x: tensor<3x5xi64>) -> tensor<3xi64> {
  %c = stablehlo.constant dense<7> : tensor<i64>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<3x5xi64>, tensor<i64>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
})"},
    {"split words", R"(
func.func @main(%x: tensor<6xi64>, %y: tensor<6xi64>) -> tensor<6xi64> {
  %c = stablehlo.constant dense<5000000007> : tensor<6xi64>
  %0 = stablehlo.subtract %x, %y : tensor<6xi64>
  %1 = stablehlo.add %0, %c : tensor<6xi64>
  return %1 : tensor<6xi64>
})"},
    {"narrow types", kNarrowed},
    {"decompose sorts", R"(
func.func @main(%x: tensor<3x9xf32>) -> tensor<3x9xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<3x9xf32>) -> tensor<3x9xf32>
  return %0 : tensor<3x9xf32>
})"},
    {"decompose narrowed reductions", R"(
func.func @main(%x: tensor<5x6xi32>) -> tensor<5xi32> {
  %c = stablehlo.constant dense<9> : tensor<5x6xi64>
  %z = stablehlo.constant dense<5> : tensor<i64>
  %w = stablehlo.convert %x : (tensor<5x6xi32>) -> tensor<5x6xi64>
  %0 = stablehlo.remainder %w, %c : tensor<5x6xi64>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<5x6xi64>, tensor<i64>) -> tensor<5xi64>
  %2 = stablehlo.convert %1 : (tensor<5xi64>) -> tensor<5xi32>
  return %2 : tensor<5xi32>
})"},
    {"decompose narrowed bits", R"(
func.func @main(%x: tensor<9xf32>, %y: tensor<9xf32>) -> tensor<9xi1> {
  %v = stablehlo.convert %x : (tensor<9xf32>) -> tensor<9xf64>
  %w = stablehlo.convert %y : (tensor<9xf32>) -> tensor<9xf64>
  %0 = stablehlo.compare LT, %v, %w, TOTALORDER : (tensor<9xf64>, tensor<9xf64>) -> tensor<9xi1>
  return %0 : tensor<9xi1>
})"},
    {"decompose integer dots", R"(
func.func @main(%x: tensor<3x5xi8>, %y: tensor<5x4xi8>) -> tensor<3x4xi32> {
  %c = stablehlo.constant dense<3> : tensor<3x4xi32>
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<3x5xi8>, tensor<5x4xi8>) -> tensor<3x4xi32>
  %1 = stablehlo.subtract %0, %c : tensor<3x4xi32>
  return %1 : tensor<3x4xi32>
})"},
    {"fold narrowed constants", R"(
func.func @main(%x: tensor<5x4xi32>) -> tensor<3x4xi32> {
  %c = stablehlo.constant dense<[[1, 300, -5, 7, 70000], [2, 4, 6, 8, 10], [-1, -2, 3, 4, 5]]> : tensor<3x5xi32>
  %0 = stablehlo.dot_general %c, %x, contracting_dims = [1] x [0] : (tensor<3x5xi32>, tensor<5x4xi32>) -> tensor<3x4xi32>
  return %0 : tensor<3x4xi32>
})"},
    {"simplify narrowed identities", kNarrowed},
    {"start windows apart", R"(
func.func @main(%x: tensor<8xf32>, %s: tensor<f32>) -> tensor<7xf32> {
  %r = "stablehlo.reduce_window"(%x, %s) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<7xf32>
  return %r : tensor<7xf32>
})"},
    {"fold logistics", R"(
func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<6xf32>
  %0 = stablehlo.negate %x : tensor<6xf32>
  %1 = stablehlo.exponential %0 : tensor<6xf32>
  %2 = stablehlo.add %one, %1 : tensor<6xf32>
  %3 = stablehlo.divide %x, %2 : tensor<6xf32>
  %4 = stablehlo.exponential %y : tensor<6xf32>
  %5 = stablehlo.add %4, %one : tensor<6xf32>
  %6 = stablehlo.divide %one, %5 : tensor<6xf32>
  return %3, %6 : tensor<6xf32>, tensor<6xf32>
})"},
    {"fold softplus", R"(
func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<6xf32>
  %far = stablehlo.constant dense<20.0> : tensor<6xf32>
  %0 = stablehlo.maximum %x, %zero : tensor<6xf32>
  %1 = stablehlo.subtract %x, %zero : tensor<6xf32>
  %2 = stablehlo.compare NE, %1, %1, FLOAT : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  %3 = stablehlo.add %x, %zero : tensor<6xf32>
  %4 = stablehlo.abs %1 : tensor<6xf32>
  %5 = stablehlo.negate %4 : tensor<6xf32>
  %6 = stablehlo.exponential %5 : tensor<6xf32>
  %7 = stablehlo.log_plus_one %6 : tensor<6xf32>
  %8 = stablehlo.add %0, %7 : tensor<6xf32>
  %9 = stablehlo.select %2, %3, %8 : tensor<6xi1>, tensor<6xf32>
  %10 = stablehlo.compare GT, %y, %far, FLOAT : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  %11 = stablehlo.exponential %y : tensor<6xf32>
  %12 = stablehlo.log_plus_one %11 : tensor<6xf32>
  %13 = stablehlo.select %10, %y, %12 : tensor<6xi1>, tensor<6xf32>
  return %9, %13 : tensor<6xf32>, tensor<6xf32>
})"},
    {"fold signs", R"(
func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<6xf32>
  %a = stablehlo.constant dense<1.5> : tensor<6xf32>
  %b = stablehlo.constant dense<0.25> : tensor<6xf32>
  %0 = stablehlo.compare GT, %x, %zero, FLOAT : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  %1 = stablehlo.select %0, %zero, %x : tensor<6xi1>, tensor<6xf32>
  %2 = stablehlo.exponential_minus_one %1 : tensor<6xf32>
  %3 = stablehlo.multiply %a, %2 : tensor<6xf32>
  %4 = stablehlo.select %0, %x, %3 : tensor<6xi1>, tensor<6xf32>
  %5 = stablehlo.compare GE, %y, %zero, FLOAT : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  %6 = stablehlo.multiply %b, %y : tensor<6xf32>
  %7 = stablehlo.select %5, %y, %6 : tensor<6xi1>, tensor<6xf32>
  return %4, %7 : tensor<6xf32>, tensor<6xf32>
})"},
    {"factor cubes", R"(
func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %c = stablehlo.constant dense<0.5> : tensor<6xf32>
  %0 = stablehlo.multiply %x, %x : tensor<6xf32>
  %1 = stablehlo.multiply %0, %x : tensor<6xf32>
  %2 = stablehlo.multiply %c, %1 : tensor<6xf32>
  %3 = stablehlo.add %x, %2 : tensor<6xf32>
  %4 = stablehlo.multiply %y, %y : tensor<6xf32>
  %5 = stablehlo.multiply %y, %4 : tensor<6xf32>
  %6 = stablehlo.multiply %5, %c : tensor<6xf32>
  %7 = stablehlo.add %6, %y : tensor<6xf32>
  return %3, %7 : tensor<6xf32>, tensor<6xf32>
})"},
    {"fold transposes", R"(
func.func @main(%x: tensor<5x4xf32>, %y: tensor<5x4xf32>) -> tensor<4x4xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<4x4xf32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %0 = stablehlo.dot_general %t, %y, contracting_dims = [1] x [0] : (tensor<4x5xf32>, tensor<5x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.subtract %1, %c : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
})"},
    {"merge equal", R"(
func.func @main(%x: tensor<6xf32>, %y: tensor<6xf32>) -> tensor<6xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<6xf32>
  %0 = stablehlo.subtract %x, %y : tensor<6xf32>
  %1 = stablehlo.subtract %x, %y : tensor<6xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<6xf32>
  %3 = stablehlo.subtract %c, %2 : tensor<6xf32>
  return %3 : tensor<6xf32>
})"},
    {"erase unused at the end", R"(
func.func @main(%x: tensor<6xi1>, %y: tensor<6xf32>) -> tensor<6xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<6xf32>
  %0 = stablehlo.subtract %c, %y : tensor<6xf32>
  %1 = stablehlo.select %x, %0, %c : tensor<6xi1>, tensor<6xf32>
  return %1 : tensor<6xf32>
})",
     true},
};

std::string textOf(mlir::func::FuncOp f) {
  std::string out;
  llvm::raw_string_ostream(out) << f;
  return out;
}

// One more, everywhere; a truth value becomes the other one.
mlir::DenseElementsAttr offByOne(mlir::DenseElementsAttr value) {
  if (auto f = llvm::dyn_cast<mlir::FloatType>(value.getElementType()))
    return value.mapValues(
        f, [&](const llvm::APFloat &x) { return (x + llvm::APFloat(x.getSemantics(), 1)).bitcastToAPInt(); });
  return value.mapValues(value.getElementType(), [](const llvm::APInt &x) { return x + 1; });
}

// The mistakes that can be made at an operation, by name.
using Fault = std::function<void(mlir::Operation *)>;
std::map<std::string, Fault> faultsAt(mlir::Operation *op) {
  std::map<std::string, Fault> out;
  const llvm::StringRef name = op->getName().stripDialect();
  if (name == "constant") {
    out["constant off by one"] = [](mlir::Operation *o) {
      o->setAttr("value", offByOne(llvm::cast<mlir::DenseElementsAttr>(o->getAttr("value"))));
    };
    return out;
  }
  static const char *const ordered[] = {"subtract", "divide", "remainder", "shift_right_logical"};
  if (llvm::is_contained(ordered, name))
    out["operands of " + name.str() + " swapped"] = [](mlir::Operation *o) {
      const mlir::Value a = o->getOperand(0), b = o->getOperand(1);
      o->setOperands({b, a});
    };
  if (op->getNumResults() == 1 && op->getNumOperands() > 0 && op->getOperand(0).getType() == op->getResult(0).getType())
    out[name.str() + " left out"] = [](mlir::Operation *o) { o->getResult(0).replaceAllUsesWith(o->getOperand(0)); };
  return out;
}

std::vector<std::vector<std::byte>> resultsOf(mlir::ModuleOp module, std::vector<HostTensor> inputs) {
  std::vector<std::vector<std::byte>> out;
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto type = llvm::cast<mlir::RankedTensorType>(main.getArgumentTypes()[i]);
    if (type.getShape().size() > inputs[i].shape.size()) { // a 64-bit integer has become two words: the same bytes
      inputs[i].element = Element::U32;
      inputs[i].shape.push_back(2);
    }
  }
  for (HostTensor &t : interpret(module, "main", inputs))
    out.push_back(std::move(t.bytes));
  return out;
}

class RewriteFault : public testing::TestWithParam<Case> {
protected:
  graph::Graph g = graph::parseGraph(GetParam().text, "test.mlir");
  const std::vector<HostTensor> inputs = randomInputs(g.main(), 1);

  // What the check says if `hook` sees the graph after each rewrite.
  std::string verdict(const RewriteHook &hook) {
    try {
      GraphOptions options;
      options.onRewrite = hook;
      const GraphCheck check = checkGraph(*g.module, inputs, options);
      return check.ok() ? "" : render(check.wrong[0]);
    } catch (const Error &e) {
      return e.what();
    }
  }
};

TEST_P(RewriteFault, IsFound) {
  const Case &c = GetParam();
  struct Place {
    size_t operation;
    std::string fault;
  };
  std::vector<Place> places;
  std::string before;
  std::vector<std::vector<std::byte>> want;
  bool changed = false;
  ASSERT_EQ(verdict([&](std::string_view rewrite, mlir::func::FuncOp main) {
              const std::string after = textOf(main);
              if (rewrite == c.rewrite) {
                changed |= before != after;
                if (!c.ranks)
                  want = resultsOf(main->getParentOfType<mlir::ModuleOp>(), inputs);
                places.clear();
                size_t n = 0;
                for (mlir::Operation &op : main.getBody().front().without_terminator()) {
                  for (const auto &[name, fault] : faultsAt(&op))
                    places.push_back({n, name});
                  ++n;
                }
              }
              before = after;
            }),
            "");
  EXPECT_EQ(changed, !c.idle);
  size_t planted = 0;
  const size_t step = places.size() / 40 + 1; // of very many, some
  for (size_t at = 0; at < places.size(); at += step) {
    const Place &p = places[at];
    bool matters = false;
    const std::string said = verdict([&](std::string_view rewrite, mlir::func::FuncOp main) {
      if (rewrite != c.rewrite)
        return;
      mlir::Operation *op = &*std::next(main.getBody().front().begin(), static_cast<int64_t>(p.operation));
      faultsAt(op).at(p.fault)(op);
      matters = c.ranks || resultsOf(main->getParentOfType<mlir::ModuleOp>(), inputs) != want;
    });
    planted += matters;
    if (matters)
      EXPECT_NE(said, "") << "after " << c.rewrite << ": " << p.fault << ", operation " << p.operation;
  }
  EXPECT_GT(planted, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, RewriteFault, testing::ValuesIn(kCases), [](const auto &info) {
  std::string out;
  for (const char *c = info.param.rewrite; *c; ++c)
    out += *c == ' ' ? '_' : *c;
  return out;
});

TEST(RewriteFaults, CoverEveryRewrite) {
  std::vector<std::string_view> covered;
  for (const Case &c : kCases)
    covered.push_back(c.rewrite);
  EXPECT_EQ(covered, graphRewrites());
}

} // namespace
