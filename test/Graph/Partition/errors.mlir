// What cannot be divided is refused by name.
// REQUIRES: compiler
// RUN: not glia-opt --split-input-file --partition %s 2>&1 >/dev/null | FileCheck %s

// CHECK: GRAPH-SHARDING: a sharding names the axis "z", which its mesh does not have
module @axis attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.negate %a : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// CHECK: GRAPH-SHARDING: a sharding names a mesh that the module does not have
module @missing attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@other, [{"x"}, {}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.negate %a : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// CHECK: GRAPH-SHARDING: a sharding uses the axis "x" twice
module @twice attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"x"}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.negate %a : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// CHECK: GRAPH-SHARDING: a sharding has 1 dimensions, and its tensor 2
module @rank attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.negate %a : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// CHECK: GRAPH-SHARDING: a sharding is on a mesh of 2 devices, and the module has 4 partitions
module @few attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.negate %a : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// CHECK: GRAPH-SHARDING: a value is placed on one device of several
module @one attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <[], device_ids=[1]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.negate %a : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// CHECK: GRAPH-SHARDING: the meshes of the graph divide the same devices in ways that have no common grid
module @grids attributes {mhlo.num_partitions = 6 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=3]>
  sdy.mesh @other = <["x"=3, "y"=2]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.negate %a : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// CHECK: GRAPH-SHARDING: two meshes have the devices of the program in orders that have no common grid
module @orders attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  sdy.mesh @other = <["x"=2, "y"=2], device_ids=[1, 0, 2, 3]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.negate %a : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// CHECK: GRAPH-SHARDING: a value that is not reduced yet
module @unreduced attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>}) -> tensor<8x8xf32> {
    %0 = stablehlo.negate %a : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// CHECK: GRAPH-SHARDING: a sharding has an axis of the computation behind another one
module @behind attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"y", "x"}, {}]>] out_shardings=[<@mesh, [{"x", ?}, {?}]>] manual_axes={"x"} (%p: tensor<2x8xf32>) {
      sdy.return %p : tensor<2x8xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// CHECK: GRAPH-SHARDING: an argument or a result of a computation for the parts of devices has not the shape of a part
module @shape attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%p: tensor<4x8xf32>) {
      sdy.return %p : tensor<4x8xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// CHECK: GRAPH-SHARDING: the operation 'stablehlo.all_gather' speaks of single devices
module @outside attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
    %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// CHECK: GRAPH-SHARDING: parts that are written by hand in the form before Shardy (@SPMDFullToShardShape) are not supported
module @by_hand attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%a: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,2]<=[4]}"}) -> tensor<4x4xf32> {
    %0 = stablehlo.custom_call @SPMDFullToShardShape(%a) {mhlo.sharding = "{manual}"} : (tensor<8x8xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}

// -----

// CHECK: GRAPH-SHARDING: the sharding "{devices=[2,2]<=[5]}" is not understood
module @count attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%a: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,2]<=[5]}"}) -> tensor<8x8xf32> {
    return %a : tensor<8x8xf32>
  }
}

// -----

// CHECK: GRAPH-SHARDING: the devices of the sharding "{devices=[4,1]0,2,3,1}" lie on no grid
module @no_grid attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%a: tensor<8x8xf32> {mhlo.sharding = "{devices=[4,1]0,2,3,1}"}) -> tensor<8x8xf32> {
    return %a : tensor<8x8xf32>
  }
}

// -----

// CHECK: GRAPH-SHARDING: a value is placed on one device of several
module @maximal attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%a: tensor<8x8xf32> {mhlo.sharding = "{maximal device=0}"}) -> tensor<8x8xf32> {
    return %a : tensor<8x8xf32>
  }
}

// -----

// CHECK: GRAPH-SHARDING: a computation for the parts of devices uses a value from outside
module @captured attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x", "y"} (%p: tensor<8x8xf32>) {
      %1 = stablehlo.add %p, %a : tensor<8x8xf32>
      sdy.return %1 : tensor<8x8xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}
