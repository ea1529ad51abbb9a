module {
  func.func public @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>) {
    %0 = stablehlo.custom_call @nobodys(%arg0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.custom_call @anybodys(%arg1) : (tensor<8xf32>) -> tensor<8xf32>
    %2 = stablehlo.custom_call @somebodys(%0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %2, %1 : tensor<8x8xf32>, tensor<8xf32>
  }
}
