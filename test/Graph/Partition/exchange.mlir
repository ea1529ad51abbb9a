// How the parts of a value get from one layout to another.
// REQUIRES: compiler
// RUN: glia-opt --split-input-file --partition %s 2>/dev/null | FileCheck %s

// Every rank has all of it, and cuts its part out: the number of the partition looks up where it begins.
// CHECK-LABEL: @cut
// CHECK: func.func public @main(%[[A:.*]]: tensor<8x8xf32>) -> tensor<8x2xf32>
// CHECK: %[[P:.*]] = stablehlo.partition_id
// CHECK: %[[C:.*]] = stablehlo.constant dense<[0, 0, 2, 2, 4, 4, 6, 6]>
// CHECK: stablehlo.dynamic_slice %[[C]], %[[P]]
// CHECK: stablehlo.dynamic_slice %[[A]], {{.*}} sizes = [8, 2]
module @cut attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    return %a : tensor<8x8xf32>
  }
}

// -----

// CHECK-LABEL: @gather
// CHECK: "stablehlo.all_gather"{{.*}}all_gather_dim = 1{{.*}}dense<{{\[\[}}0, 2, 4, 6], [1, 3, 5, 7]]>{{.*}}use_global_device_ids
// CHECK-NEXT: return
module @gather attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    return %a : tensor<8x8xf32>
  }
}

// -----

// CHECK-LABEL: @move
// CHECK: "stablehlo.all_to_all"{{.*}}concat_dimension = 1{{.*}}split_dimension = 0{{.*}} : (tensor<8x2xf32>) -> tensor<2x8xf32>
// CHECK-NEXT: return
module @move attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    return %a : tensor<8x8xf32>
  }
}

// -----

// The same parts on other ranks; who has its part keeps it.
// CHECK-LABEL: @permute
// CHECK: "stablehlo.collective_permute"{{.*}}dense<{{\[\[}}0, 0], [3, 3], [2, 1], [1, 2]]>
// CHECK-NEXT: return
module @permute attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}]>}) {
    return %a : tensor<8x8xf32>
  }
}

// -----

// Parts of an axis, and devices in another order: position 0 of the grid is partition 3.
// CHECK-LABEL: @parts_of_axes
// CHECK: "stablehlo.all_gather"{{.*}}dense<{{\[\[}}3, 2], [1, 0]]>
module @parts_of_axes attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4], device_ids=[3, 2, 1, 0]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {}]>}) {
    return %a : tensor<8x8xf32>
  }
}

// -----

// Both replicas do the same, each among its own partitions.
// CHECK-LABEL: @replicas
// CHECK: "stablehlo.all_reduce"{{.*}}dense<{{\[\[}}0, 1], [2, 3]]>
module @replicas attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<8x8xf32>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// Nothing is said of shardings: each replica has arguments of its own.
// CHECK-LABEL: @unsharded
// CHECK: func.func public @main(%{{.*}}: tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: "stablehlo.all_reduce"
module @unsharded attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
  func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    %0 = func.call @sum(%a) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @sum(%a: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%b: tensor<f32>, %c: tensor<f32>):
      %1 = stablehlo.add %b, %c : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// Two sums over ranks that are added up are one. What a contraction sums over is divided too.
// CHECK-LABEL: @sums
// CHECK: %[[D:.*]] = stablehlo.dot_general
// CHECK: %[[E:.*]] = stablehlo.dot_general
// CHECK: %[[S:.*]] = stablehlo.add %[[D]], %[[E]]
// CHECK: "stablehlo.all_reduce"(%[[S]])
// CHECK-NOT: "stablehlo.all_reduce"
module @sums attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.dot_general %a, %c, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.add %0, %1 : tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
}

// -----

// A sum that is wanted in parts is scattered.
// CHECK-LABEL: @scatter
// CHECK: "stablehlo.reduce_scatter"{{.*}}scatter_dimension = 1
// CHECK: (tensor<8x8xf32>) -> tensor<8x2xf32>
// CHECK-NEXT: return
module @scatter attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// Matrices are factored one by one.
// CHECK-LABEL: @batch
// CHECK: stablehlo.cholesky %{{.*}} : tensor<2x4x4xf32>
// CHECK-NEXT: return
module @batch attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> tensor<8x4x4xf32> {
    %0 = stablehlo.cholesky %a, lower = true : tensor<8x4x4xf32>
    return %0 : tensor<8x4x4xf32>
  }
}

// -----

// The same devices in another order: "data" of one mesh and "seq" of the other are the same axis of the grid, and nothing moves.
// CHECK-LABEL: @orders
// CHECK: func.func public @main(%[[A:.*]]: tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: return %[[A]]
module @orders attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["data"=2, "seq"=2, "model"=2], device_ids=[0, 1, 4, 5, 2, 3, 6, 7]>
  sdy.mesh @other = <["data"=4, "model"=2]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"seq"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@other, [{"data":(1)2}, {}]>}) {
    return %a : tensor<8x8xf32>
  }
}
