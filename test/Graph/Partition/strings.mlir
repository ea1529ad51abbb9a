// Shardings as strings, the form before Shardy, mean what they say there.
// REQUIRES: compiler
// RUN: glia-opt --split-input-file --partition %s 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=PLACES <%t.err

// PLACES: argument 0 {devices=[2,1,4]<=[8] last_tile_dim_replicate}
// PLACES: argument 1 {devices=[4,2]<=[2,4]T(1,0)}
// PLACES: argument 2 {replicated}
// PLACES: argument 3 {devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}
// PLACES: argument 4 {devices=[2,4]<=[8]}
// PLACES: result 0 {devices=[2,4]<=[8]}
// CHECK-LABEL: @forms
// CHECK: func.func public @main(%{{.*}}: tensor<8x16xf32>, %{{.*}}: tensor<4x8xf32>, %{{.*}}: tensor<16x16xf32>, %{{.*}}: tensor<16x8xf32>, %{{.*}}: tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK-NOT: mhlo.sharding
module @forms attributes {mhlo.num_partitions = 8 : i32} {
  func.func public @main(%a: tensor<16x16xf32> {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"},
                         %b: tensor<16x16xf32> {mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0)}"},
                         %c: tensor<16x16xf32> {mhlo.sharding = "{replicated}"},
                         %d: tensor<16x16xf32> {mhlo.sharding = "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dims={replicated}}"},
                         %e: tensor<16x16xf32> {mhlo.sharding = "{devices=[2,4]0,1,2,3,4,5,6,7}"})
      -> (tensor<16x16xf32> {mhlo.sharding = "{devices=[2,4]<=[8]}"}) {
    %0 = stablehlo.add %a, %b : tensor<16x16xf32>
    %1 = stablehlo.add %0, %c : tensor<16x16xf32>
    %2 = stablehlo.add %1, %d : tensor<16x16xf32>
    %3 = stablehlo.add %2, %e : tensor<16x16xf32>
    return %3 : tensor<16x16xf32>
  }
}

// -----

// A constraint in the graph; one dimension is left open.
// PLACES: argument 0 {devices=[2,2]<=[4]}
// PLACES: result 0 {devices=[2,2]<=[4]}
// CHECK-LABEL: @constraint
// CHECK: stablehlo.negate %{{.*}} : tensor<4x4xf32>
module @constraint attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%a: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,2]<=[4]}"}) -> tensor<8x8xf32> {
    %0 = stablehlo.custom_call @Sharding(%a) {backend_config = "unspecified_dims=[1]", mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.negate %0 : tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}
