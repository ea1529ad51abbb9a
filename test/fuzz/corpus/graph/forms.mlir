// The text forms that have a syntax of their own are printed as they are read, also from their generic form.
// REQUIRES: compiler
// RUN: glia-opt %s | FileCheck %s
// RUN: glia-opt %s | glia-opt | FileCheck %s
// RUN: glia-opt %s --mlir-print-op-generic | glia-opt | FileCheck %s
// RUN: glia-opt %s --mlir-print-debuginfo | glia-opt | FileCheck %s

// CHECK: module @jit_f attributes {mhlo.num_partitions = 1 : i32}
module @jit_f attributes {mhlo.num_partitions = 1 : i32} {

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%a: tensor<2x3xf32>, %i: tensor<2x3xi32>, %p: tensor<2x3xi1>, %s: tensor<f32>, %c: tensor<2xcomplex<f32>>) {
  // CHECK: stablehlo.add %arg0, %arg0 : tensor<2x3xf32>
  %0 = stablehlo.add %a, %a : tensor<2x3xf32>
  // CHECK: stablehlo.tanh %arg0 {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2x3xf32>
  %1 = stablehlo.tanh %a {result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-5, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2x3xf32>
  // CHECK: stablehlo.exponential %arg0 : tensor<2x3xf32>
  %2 = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : tensor<2x3xf32>
  // CHECK: stablehlo.convert %arg1 : (tensor<2x3xi32>) -> tensor<2x3xbf16>
  %3 = stablehlo.convert %i : (tensor<2x3xi32>) -> tensor<2x3xbf16>
  // CHECK: stablehlo.compare{{ +}}LT, %arg0, %arg0,{{ +}}FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %4 = stablehlo.compare LT, %a, %a, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: stablehlo.compare{{ +}}GE, %arg1, %arg1 : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
  %5 = "stablehlo.compare"(%i, %i) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
  // CHECK: stablehlo.select %arg2, %arg0, %arg0 : tensor<2x3xi1>, tensor<2x3xf32>
  %6 = stablehlo.select %p, %a, %a : tensor<2x3xi1>, tensor<2x3xf32>
  // CHECK: stablehlo.clamp %arg3, %arg0, %arg3 : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %7 = stablehlo.clamp %s, %a, %s : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK: stablehlo.reduce_precision %arg0, format = e5m10 : tensor<2x3xf32>
  %8 = stablehlo.reduce_precision %a, format = e5m10 : tensor<2x3xf32>
  // CHECK: stablehlo.real %arg4 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %9 = stablehlo.real %c : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  // CHECK: stablehlo.complex %{{.*}}, %{{.*}} : tensor<2xcomplex<f32>>
  %10 = stablehlo.complex %9, %9 : tensor<2xcomplex<f32>>
  // CHECK: stablehlo.is_finite %arg0 : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %11 = stablehlo.is_finite %a : (tensor<2x3xf32>) -> tensor<2x3xi1>
  return
}

// CHECK-LABEL: func.func @movement
func.func @movement(%a: tensor<4x6xf32>, %s: tensor<f32>, %i: tensor<i32>) {
  // CHECK: %c = stablehlo.constant dense<-1> : tensor<3xi64>
  %0 = stablehlo.constant dense<-1> : tensor<3xi64>
  // CHECK: %cst = stablehlo.constant {note = "x"} dense<0.000000e+00> : tensor<f8E4M3FN>
  %1 = stablehlo.constant {note = "x"} dense<0.0> : tensor<f8E4M3FN>
  // CHECK: stablehlo.iota dim = 1 : tensor<2x5xi32>
  %2 = stablehlo.iota dim = 1 : tensor<2x5xi32>
  // CHECK: stablehlo.broadcast_in_dim %arg0, dims = [2, 0] : (tensor<4x6xf32>) -> tensor<6x1x4xf32>
  %3 = stablehlo.broadcast_in_dim %a, dims = [2, 0] : (tensor<4x6xf32>) -> tensor<6x1x4xf32>
  // CHECK: stablehlo.reshape %arg0 : (tensor<4x6xf32>) -> tensor<24xf32>
  %4 = stablehlo.reshape %a : (tensor<4x6xf32>) -> tensor<24xf32>
  // CHECK: stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %5 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  // CHECK: stablehlo.slice %arg0 [1:3, 0:6:2] : (tensor<4x6xf32>) -> tensor<2x3xf32>
  %6 = stablehlo.slice %a [1:3:1, 0:6:2] : (tensor<4x6xf32>) -> tensor<2x3xf32>
  // CHECK: stablehlo.concatenate %arg0, %arg0, dim = 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %7 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  // CHECK: stablehlo.pad %arg0, %arg1, low = [1, -1], high = [0, 2], interior = [2, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<11x7xf32>
  %8 = stablehlo.pad %a, %s, low = [1, -1], high = [0, 2], interior = [2, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<11x7xf32>
  // CHECK: stablehlo.reverse %arg0, dims = [1] : tensor<4x6xf32>
  %9 = stablehlo.reverse %a, dims = [1] : tensor<4x6xf32>
  // CHECK: stablehlo.dynamic_slice %arg0, %arg2, %arg2, sizes = [1, 6] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
  %10 = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 6] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
  // CHECK: stablehlo.dynamic_update_slice %arg0, %{{.*}}, %arg2, %arg2 : (tensor<4x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  %11 = stablehlo.dynamic_update_slice %a, %10, %i, %i : (tensor<4x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  // CHECK: stablehlo.bitcast_convert %arg0 : (tensor<4x6xf32>) -> tensor<4x6x2xi16>
  %12 = stablehlo.bitcast_convert %a : (tensor<4x6xf32>) -> tensor<4x6x2xi16>
  return
}

// CHECK-LABEL: func.func @contractions
func.func @contractions(%a: tensor<2x3x4xbf16>, %b: tensor<2x4x5xbf16>, %x: tensor<1x8x9x4xf32>, %w: tensor<3x3x2x6xf32>) {
  // CHECK: stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, DEFAULT] : (tensor<2x3x4xbf16>, tensor<2x4x5xbf16>) -> tensor<2x3x5xf32>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, DEFAULT] : (tensor<2x3x4xbf16>, tensor<2x4x5xbf16>) -> tensor<2x3x5xf32>
  // CHECK: stablehlo.dot_general %arg0, %arg1, contracting_dims = [] x [], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> :
  %1 = stablehlo.dot_general %a, %b, contracting_dims = [] x [], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3x4xbf16>, tensor<2x4x5xbf16>) -> tensor<2x3x4x2x4x5xf32>
  // CHECK: stablehlo.convolution(%arg2, %arg3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = {{\[\[}}1, 1], [0, 2]], lhs_dilate = [1, 2], rhs_dilate = [2, 1], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x9x4xf32>, tensor<3x3x2x6xf32>) -> tensor<1x3x17x6xf32>
  %2 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 2], rhs_dilate = [2, 1], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x9x4xf32>, tensor<3x3x2x6xf32>) -> tensor<1x3x17x6xf32>
  // CHECK: stablehlo.convolution(%arg2, %arg3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x9x4xf32>, tensor<3x3x2x6xf32>) -> tensor<1x6x7x6xf32>
  %3 = "stablehlo.convolution"(%x, %w) {batch_group_count = 1 : i64, feature_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>} : (tensor<1x8x9x4xf32>, tensor<3x3x2x6xf32>) -> tensor<1x6x7x6xf32>
  return
}

// CHECK-LABEL: func.func @reductions
func.func @reductions(%a: tensor<4x5xf32>, %i: tensor<4x5xi32>, %z: tensor<f32>, %j: tensor<i32>) {
  // CHECK: stablehlo.reduce(%arg0 init: %arg2) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<f32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<f32>
  // CHECK: stablehlo.reduce(%arg0 init: %arg2), (%arg1 init: %arg3) across dimensions = [1] : (tensor<4x5xf32>, tensor<4x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
  // CHECK-NEXT: reducer(%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>) (%[[C:.*]]: tensor<i32>, %[[D:.*]]: tensor<i32>) {
  // CHECK-NEXT: stablehlo.add %[[A]], %[[B]] : tensor<f32>
  // CHECK-NEXT: stablehlo.add %[[C]], %[[D]] : tensor<i32>
  %1:2 = stablehlo.reduce(%a init: %z), (%i init: %j) across dimensions = [1] : (tensor<4x5xf32>, tensor<4x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
   reducer(%p: tensor<f32>, %q: tensor<f32>) (%r: tensor<i32>, %s: tensor<i32>) {
    %2 = stablehlo.add %p, %q : tensor<f32>
    %3 = stablehlo.add %r, %s : tensor<i32>
    stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
  }
  // An order of operands that `applies` cannot say.
  // CHECK: stablehlo.reduce(%arg0 init: %arg2) across dimensions = [1]
  // CHECK-NEXT: reducer
  %4 = stablehlo.reduce(%a init: %z) across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
   reducer(%p: tensor<f32>, %q: tensor<f32>) {
    %5 = stablehlo.add %q, %p : tensor<f32>
    stablehlo.return %5 : tensor<f32>
  }
  // CHECK: "stablehlo.reduce_window"(%arg0, %arg2) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 1>}> ({
  %6 = "stablehlo.reduce_window"(%a, %z) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %7 = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %7 : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<2x4xf32>
  // CHECK: "stablehlo.sort"(%arg0, %arg1) <{dimension = 1 : i64, is_stable = true}> ({
  %8:2 = "stablehlo.sort"(%a, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>, %r: tensor<i32>, %s: tensor<i32>):
    %9 = stablehlo.compare LT, %p, %q, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %9 : tensor<i1>
  }) : (tensor<4x5xf32>, tensor<4x5xi32>) -> (tensor<4x5xf32>, tensor<4x5xi32>)
  return
}

// CHECK-LABEL: func.func @indexing
func.func @indexing(%a: tensor<5x3xf32>, %i: tensor<7x1xi32>, %u: tensor<7x3xf32>) {
  // CHECK: "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<7x1xi32>) -> tensor<7x3xf32>
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], offset_dims = [1], start_index_map = [0], index_vector_dim = 1,>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<7x1xi32>) -> tensor<7x3xf32>
  // CHECK: "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  %1 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %2 = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<5x3xf32>, tensor<7x1xi32>, tensor<7x3xf32>) -> tensor<5x3xf32>
  return
}

// CHECK-LABEL: func.func @control
func.func @control(%n: tensor<i32>, %x: tensor<4xf32>, %p: tensor<i1>) {
  // CHECK: %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1) : tensor<i32>, tensor<4xf32>
  // CHECK-NEXT: cond {
  // CHECK: stablehlo.compare{{ +}}LT, %iterArg, %arg0
  // CHECK: } do {
  // CHECK: func.call @callee(%iterArg_0) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.return %iterArg, %{{.*}} : tensor<i32>, tensor<4xf32>
  %0:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i32>, tensor<4xf32>
   cond {
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = func.call @callee(%y) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %i, %1 : tensor<i32>, tensor<4xf32>
  }
  // CHECK: "stablehlo.if"(%arg2) ({
  %2 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.return %0#1 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  // CHECK: "stablehlo.case"(%arg0) ({
  %3 = "stablehlo.case"(%n) ({
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  // CHECK: stablehlo.custom_call @"a b"(%arg1) {api_version = 4 : i32, backend_config = {k = 1 : i64}, has_side_effect = true, operand_layouts = [dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = stablehlo.custom_call @"a b"(%x) {api_version = 4 : i32, backend_config = {k = 1 : i64}, has_side_effect = true, operand_layouts = [dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.composite "my.op" %arg1 {composite_attributes = {eps = 5.000000e-01 : f32}, decomposition = @callee, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = stablehlo.composite "my.op" %x {composite_attributes = {eps = 0.5 : f32}, decomposition = @callee, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.optimization_barrier %arg1, %arg0 : tensor<4xf32>, tensor<i32>
  %6:2 = stablehlo.optimization_barrier %x, %n : tensor<4xf32>, tensor<i32>
  // CHECK: stablehlo.tuple %arg1, %arg0 : tuple<tensor<4xf32>, tensor<i32>>
  %7 = stablehlo.tuple %x, %n : tuple<tensor<4xf32>, tensor<i32>>
  // CHECK: stablehlo.get_tuple_element %{{.*}}[1] : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<i32>
  %8 = stablehlo.get_tuple_element %7[1] : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<i32>
  // CHECK: stablehlo.rng_bit_generator %{{.*}}, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>)
  %c = stablehlo.constant dense<1> : tensor<2xui64>
  %9:2 = stablehlo.rng_bit_generator %c, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>)
  return
}

// CHECK-LABEL: func.func private @callee
func.func private @callee(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: chlo.erf_inv %arg0 : tensor<4xf32> -> tensor<4xf32>
  %0 = chlo.erf_inv %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.next_after %arg0, %0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %1 = chlo.next_after %x, %0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.top_k(%arg0, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
  %values, %indices = chlo.top_k(%x, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @communication
func.func @communication(%x: tensor<4xf32>, %t: !stablehlo.token) {
  // CHECK: "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<{{.*}}> : tensor<1x2xi64>, use_global_device_ids}> ({
  %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.after_all %arg1, %arg1 : !stablehlo.token
  %2 = stablehlo.after_all %t, %t : !stablehlo.token
  // CHECK: stablehlo.partition_id : tensor<ui32>
  %3 = stablehlo.partition_id : tensor<ui32>
  return
}
}
