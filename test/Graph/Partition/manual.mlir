// The body of a computation that is written for parts stays as it is; what goes in and out is brought to where it is wanted.
// REQUIRES: compiler
// RUN: glia-opt --split-input-file --partition %s 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=PLACES <%t.err

// PLACES: remark: argument 0 {devices=[2,4]<=[4,2]T(1,0)}
// PLACES: remark: result 0 {devices=[4,1,2]<=[8] last_tile_dim_replicate}

// CHECK: module @m attributes {mhlo.num_partitions = 8 : i32}
// CHECK-NOT: sdy
module @m attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  // CHECK: func.func public @main(%[[A:.*]]: tensor<8x8xf32>) -> tensor<4x16xf32>
  func.func public @main(%a: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> tensor<16x16xf32> {
    // Rows over y and columns over x become rows over x and columns over y.
    // CHECK: %[[G:.*]] = "stablehlo.all_gather"(%[[A]]) {{.*}}dense<{{\[\[}}0, 1], [2, 3], [4, 5], [6, 7]]>{{.*}} -> tensor<16x8xf32>
    // CHECK: %[[T:.*]] = "stablehlo.all_to_all"(%[[G]]) {{.*}}dense<{{\[\[}}0, 2, 4, 6], [1, 3, 5, 7]]>{{.*}} -> tensor<4x32xf32>
    // CHECK: stablehlo.dynamic_slice %[[T]], {{.*}} sizes = [4, 16]
    // CHECK: "stablehlo.all_reduce"({{.*}}dense<{{\[\[}}0, 1], [2, 3], [4, 5], [6, 7]]>
    // CHECK-NEXT: ^bb0
    // CHECK-NEXT: stablehlo.add
    // CHECK-NEXT: stablehlo.return
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%p: tensor<4x16xf32>) {
      %1 = "stablehlo.all_reduce"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
      ^bb0(%b: tensor<f32>, %c: tensor<f32>):
        %2 = stablehlo.add %b, %c : tensor<f32>
        %3 = sdy.sharding_constraint %2 <@mesh, []> : tensor<f32>
        stablehlo.return %3 : tensor<f32>
      }) : (tensor<4x16xf32>) -> tensor<4x16xf32>
      %4 = sdy.sharding_constraint %1 <@mesh, [{}, {}]> : tensor<4x16xf32>
      sdy.return %4 : tensor<4x16xf32>
    } : (tensor<16x32xf32>) -> tensor<16x16xf32>
    return %0 : tensor<16x16xf32>
  }
}

// -----

// Written for the parts along x; along y it is divided as everything else, the exchange in it included.
// CHECK: func.func public @main(%[[A:.*]]: tensor<4x16xf32>) -> tensor<4x16xf32>
// CHECK-NEXT: %[[S:.*]] = "stablehlo.all_reduce"(%[[A]]) {{.*}}dense<{{\[\[}}0, 2, 4, 6], [1, 3, 5, 7]]>
// CHECK: stablehlo.negate %[[S]] : tensor<4x16xf32>
// CHECK-NEXT: return
module @partly attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%a: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<16x32xf32> {
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x", ?}, {?}]>] manual_axes={"x"} (%p: tensor<4x32xf32>) {
      %1 = "stablehlo.all_reduce"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
      ^bb0(%b: tensor<f32>, %c: tensor<f32>):
        %2 = stablehlo.add %b, %c : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) : (tensor<4x32xf32>) -> tensor<4x32xf32>
      %3 = stablehlo.negate %1 : tensor<4x32xf32>
      sdy.return %3 : tensor<4x32xf32>
    } : (tensor<16x32xf32>) -> tensor<16x32xf32>
    return %0 : tensor<16x32xf32>
  }
}
