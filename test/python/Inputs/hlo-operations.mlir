// Operations that JAX does not write, or not in this form: test_graph_formats.py reads them as HLO.
module @ops {
  func.func @main(%x: tensor<2x4xf32>, %p: tensor<i1>, %k: tensor<2xui64>, %im: tensor<1x6x6x1xf32>, %m: tensor<3x3xf32>, %s: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<1x6x6x1xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2xui64>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<i32>, tensor<2x4xf32>, tensor<2x2xf32>, tensor<ui32>, tensor<ui32>) {
    %0 = "stablehlo.if"(%p) ({
      %a = stablehlo.add %x, %x : tensor<2x4xf32>
      stablehlo.return %a : tensor<2x4xf32>
    }, {
      %a = stablehlo.negate %x : tensor<2x4xf32>
      stablehlo.return %a : tensor<2x4xf32>
    }) : (tensor<i1>) -> tensor<2x4xf32>
    %1 = "stablehlo.map"(%x, %0) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.multiply %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) {dimensions = array<i64: 0, 1>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %src = stablehlo.constant dense<1.5> : tensor<1x3x3x1xf32>
    %2 = "stablehlo.select_and_scatter"(%im, %src, %z) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) {window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>} : (tensor<1x6x6x1xf32>, tensor<1x3x3x1xf32>, tensor<f32>) -> tensor<1x6x6x1xf32>
    %3:3 = "stablehlo.batch_norm_training"(%x, %s, %s) {epsilon = 0.001 : f32, feature_index = 1 : i64} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
    %4, %5 = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x4xui32>)
    %6 = stablehlo.cholesky %m, lower = true : tensor<3x3xf32>
    %7 = "stablehlo.triangular_solve"(%6, %m) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %8 = stablehlo.constant dense<4> : tensor<i32>
    %9:2 = stablehlo.custom_call @thing(%x, %x) {has_side_effect = true, backend_config = "abc", api_version = 2 : i32, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 1, operand_tuple_indices = []>]} : (tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    %10 = "stablehlo.all_reduce"(%9#0) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) {replica_groups = dense<[[0]]> : tensor<1x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 0>, use_global_device_ids} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %15 = "stablehlo.all_to_all"(%10) {split_dimension = 1 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %16 = "stablehlo.collective_permute"(%15) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %17 = "stablehlo.collective_broadcast"(%16) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %18 = "stablehlo.all_gather"(%17) {all_gather_dim = 1 : i64, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %19 = "stablehlo.reduce_scatter"(%18) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) {scatter_dimension = 1 : i64, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %id = stablehlo.replica_id : tensor<ui32>
    %part = stablehlo.partition_id : tensor<ui32>
    %11 = stablehlo.reduce_precision %19, format = e5m10 : tensor<2x4xf32>
    %12 = stablehlo.optimization_barrier %11 : tensor<2x4xf32>
    %13 = stablehlo.dot_general %12, %x, contracting_dims = [1] x [1], precision = [HIGH, HIGHEST] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>
    %a0 = stablehlo.constant dense<0.0> : tensor<f32>
    %b0 = stablehlo.constant dense<1.0> : tensor<f32>
    %sh = stablehlo.constant dense<[2, 4]> : tensor<2xi64>
    %14 = stablehlo.rng %a0, %b0, %sh, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x4xf32>
    return %0, %1, %2, %3#0, %3#1, %4, %6, %7, %8, %14, %13, %id, %part : tensor<2x4xf32>, tensor<2x4xf32>, tensor<1x6x6x1xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2xui64>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<i32>, tensor<2x4xf32>, tensor<2x2xf32>, tensor<ui32>, tensor<ui32>
  }
}
