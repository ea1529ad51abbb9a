module @model {
  func.func public @main(%arg0: tensor<64x128xf32> loc("x"), %arg1: tensor<128x96xf32> loc("w")) -> (tensor<64x96xf32>, tensor<64xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<64x128xf32>, tensor<128x96xf32>) -> tensor<64x96xf32>
    %1 = call @relu(%0) : (tensor<64x96xf32>) -> tensor<64x96xf32>
    %2 = stablehlo.dot_general %1, %1, contracting_dims = [0] x [0] : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<96x96xf32>
    %3 = stablehlo.dot_general %1, %2, contracting_dims = [1] x [0] : (tensor<64x96xf32>, tensor<96x96xf32>) -> tensor<64x96xf32>
    %4 = call @relu(%3) : (tensor<64x96xf32>) -> tensor<64x96xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.reduce(%4 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<64x96xf32>, tensor<f32>) -> tensor<64xf32>
    return %4, %5 : tensor<64x96xf32>, tensor<64xf32>
  }
  func.func private @relu(%arg0: tensor<64x96xf32>) -> tensor<64x96xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x96xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<64x96xf32>
    return %1 : tensor<64x96xf32>
  }
}
