module {
  func.func public @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8xf32>) -> (tensor<8x8xf32>, tensor<5xcomplex<f32>>) {
    %0 = "stablehlo.cholesky"(%arg0) <{lower = true}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.fft %arg1, type =  RFFT, length = [8] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
    %2 = stablehlo.custom_call @somebodys(%0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %2, %1 : tensor<8x8xf32>, tensor<5xcomplex<f32>>
  }
}
