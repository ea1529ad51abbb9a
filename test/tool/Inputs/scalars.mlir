module {
  func.func public @main(%arg0: tensor<f32>, %arg1: tensor<3xi1>, %arg2: tensor<0x3xf32>) -> (tensor<f32>, tensor<3xi1>, tensor<0x3xf32>) {
    %0 = stablehlo.add %arg0, %arg0 : tensor<f32>
    %1 = stablehlo.not %arg1 : tensor<3xi1>
    return %0, %1, %arg2 : tensor<f32>, tensor<3xi1>, tensor<0x3xf32>
  }
}
