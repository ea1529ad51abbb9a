// What the verifiers say.
// REQUIRES: compiler
// RUN: glia-opt %s -split-input-file -verify-diagnostics

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@+1 {{operand #1 is 'tensor<3x2xf32>', and 'tensor<2x3xf32>' is expected}}
  %0 = stablehlo.add %a, %b : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}
// -----
func.func @f(%a: tensor<?xf32>) {
  // expected-error@+1 {{operand #0 must be tensor of floats or complex values of static shape}}
  %0 = stablehlo.tanh %a : tensor<?xf32>
  return
}
// -----
func.func @f(%a: tensor<4xi32>) {
  // expected-error@+1 {{operand #0 must be tensor of floats of static shape, but got 'tensor<4xi32>'}}
  %0 = stablehlo.floor %a : tensor<4xi32>
  return
}
// -----
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected 2 operand type(s) and 1 result type, found 1 and 1}}
  %0 = stablehlo.add %a, %a : (tensor<4xf32>) -> tensor<4xf32>
  return
}
// -----
func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{failed to satisfy constraint: #stablehlo.result_accuracy}}
  %0 = stablehlo.exponential %a {result_accuracy = "TOTALORDER"} : tensor<4xf32>
  return
}
// -----
func.func @f(%a: tensor<4xi32>) {
  // expected-error@+1 {{TOTALORDER compares floats}}
  %0 = stablehlo.compare LT, %a, %a, TOTALORDER : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return
}
// -----
func.func @f(%p: tensor<2xi1>, %a: tensor<4xf32>) {
  // expected-error@+1 {{the condition is 'tensor<2xi1>'}}
  %0 = stablehlo.select %p, %a, %a : tensor<2xi1>, tensor<4xf32>
  return
}
// -----
func.func @f(%a: tensor<3xf32>) {
  // expected-error@+1 {{dimension 0 of the operand has size 3, and dimension 1 of the result has size 4}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<3xf32>) -> tensor<3x4xf32>
  return
}
// -----
func.func @f(%a: tensor<3xf32>) {
  // expected-error@+1 {{dims holds 7, and there are 2 dimensions}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [7] : (tensor<3xf32>) -> tensor<3x4xf32>
  return
}
// -----
func.func @f(%a: tensor<3x4xf32>) {
  // expected-error@+1 {{dims holds 1 twice}}
  %0 = stablehlo.transpose %a, dims = [1, 1] : (tensor<3x4xf32>) -> tensor<4x4xf32>
  return
}
// -----
func.func @f(%a: tensor<3x4xf32>) {
  // expected-error@+1 {{have different numbers of elements}}
  %0 = stablehlo.reshape %a : (tensor<3x4xf32>) -> tensor<11xf32>
  return
}
// -----
func.func @f(%a: tensor<3x4xf32>) {
  // expected-error@+1 {{[0:5:1] is no slice of dimension 1}}
  %0 = stablehlo.slice %a [0:3, 0:5] : (tensor<3x4xf32>) -> tensor<3x5xf32>
  return
}
// -----
func.func @f(%a: tensor<3x4xf32>) {
  // expected-error@+1 {{result is 'tensor<3x3xf32>', and the operands give 'tensor<3x2xf32>'}}
  %0 = stablehlo.slice %a [0:3, 0:4:2] : (tensor<3x4xf32>) -> tensor<3x3xf32>
  return
}
// -----
func.func @f(%a: tensor<3x4xf32>, %b: tensor<2x5xf32>) {
  // expected-error@+1 {{differ elsewhere than in dimension 0}}
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<3x4xf32>, tensor<2x5xf32>) -> tensor<5x4xf32>
  return
}
// -----
func.func @f(%a: tensor<3xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{impossible size}}
  %0 = stablehlo.pad %a, %s, low = [9223372036854775807], high = [9223372036854775807], interior = [9223372036854775807] : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}
// -----
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{dimension 1 of 'tensor<2x3xf32>' and dimension 0 of 'tensor<2x3xf32>' have different sizes}}
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{unknown precision `BEST`}}
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1], precision = [BEST] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}
// -----
func.func @f(%x: tensor<1x8x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error@+1 {{result is 'tensor<1x8x6xf32>', and the operands give 'tensor<1x6x6xf32>'}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x4xf32>, tensor<3x4x6xf32>) -> tensor<1x8x6xf32>
  return
}
// -----
func.func @f(%x: tensor<1x8x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error@+1 {{the kernel takes 4 input features, and a group has 2}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x4xf32>, tensor<3x4x6xf32>) -> tensor<1x6x6xf32>
  return
}
// -----
func.func @f(%x: tensor<1x8x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error@+1 {{dimension `f` is missing}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x4xf32>, tensor<3x4x6xf32>) -> tensor<1x6x6xf32>
  return
}
// -----
func.func @f(%x: tensor<1x8x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error@+1 {{the window's strides holds 0, and 1 is the least}}
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [0]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x4xf32>, tensor<3x4x6xf32>) -> tensor<1x6x6xf32>
  return
}
// -----
func.func @f(%a: tensor<4x5xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{cannot be applied}}
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.subtract across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
// -----
func.func @f(%a: tensor<4x5xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{region `body` takes ('tensor<f32>', 'tensor<i32>'), and ('tensor<f32>', 'tensor<f32>') is expected}}
  %0 = stablehlo.reduce(%a init: %z) across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
   reducer(%p: tensor<f32>, %q: tensor<i32>) {
    stablehlo.return %p : tensor<f32>
  }
  return
}
// -----
func.func @f(%a: tensor<4x5xf32>, %z: tensor<f32>) {
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    // expected-error@+1 {{gives ('tensor<f32>', 'tensor<f32>'), and ('tensor<f32>') is expected}}
    stablehlo.return %p, %q : tensor<f32>, tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<3x4xf32>
  return
}
// -----
func.func @f(%a: tensor<5x3xf32>, %i: tensor<7x1xi32>) {
  // expected-error@+1 {{slice size 2 does not fit dimension 0}}
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 3>}> : (tensor<5x3xf32>, tensor<7x1xi32>) -> tensor<7x3xf32>
  return
}
// -----
func.func @f(%a: tensor<5x3xf32>, %i: tensor<7x1xi32>) {
  // expected-error@+1 {{unknown field `ofset_dims`; expected one of offset_dims}}
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<ofset_dims = [1]>, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<7x1xi32>) -> tensor<7x3xf32>
  return
}
// -----
func.func @f(%a: tensor<5x3xf32>, %i: tensor<7x1xi32>, %u: tensor<6x3xf32>) {
  // expected-error@+1 {{updates are 'tensor<6x3xf32>', and the indices give 'tensor<7x3xf32>'}}
  %1 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    stablehlo.return %p : tensor<f32>
  }) : (tensor<5x3xf32>, tensor<7x1xi32>, tensor<6x3xf32>) -> tensor<5x3xf32>
  return
}
// -----
func.func @f(%p: tensor<i1>, %x: tensor<4xf32>) {
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    // expected-error@+1 {{gives (), and ('tensor<4xf32>') is expected}}
    stablehlo.return
  }) : (tensor<i1>) -> tensor<4xf32>
  return
}
// -----
func.func @f(%n: tensor<i32>) {
  %0 = stablehlo.while(%i = %n) : tensor<i32>
   cond {
    // expected-error@+1 {{gives ('tensor<i32>'), and ('tensor<i1>') is expected}}
    stablehlo.return %i : tensor<i32>
  } do {
    stablehlo.return %i : tensor<i32>
  }
  return
}
// -----
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{alias of operand 3, and there are 1}}
  %0 = stablehlo.custom_call @t(%x) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 3, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
// -----
func.func @f(%x: tuple<tensor<4xf32>>) {
  // expected-error@+1 {{index 1 of 'tuple<tensor<4xf32>>'}}
  %0 = stablehlo.get_tuple_element %x[1] : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  return
}
// -----
func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{is no batch of square matrices}}
  %0 = stablehlo.cholesky %x, lower = true : tensor<2x3xf32>
  return
}
// -----
func.func @f(%x: tensor<2x3xf32>, %s: tensor<2xf32>) {
  // expected-error@+1 {{operand #1 is 'tensor<2xf32>', and 'tensor<3xf32>' is expected}}
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %s) <{epsilon = 1.0e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}
// -----
func.func @f(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{k = 4 of the last dimension}}
  %values, %indices = chlo.top_k(%x, k = 4) : tensor<2x3xf32> -> (tensor<2x4xf32>, tensor<2x4xi32>)
  return
}
