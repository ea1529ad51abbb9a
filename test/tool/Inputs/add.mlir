module {
  func.func public @main(%arg0: tensor<2x3xf32> loc("x"), %arg1: tensor<2x3xbf16>) -> (tensor<2x3xbf16>, tensor<i32>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    %1 = stablehlo.add %0, %arg1 : tensor<2x3xbf16>
    %c = stablehlo.constant dense<-5> : tensor<i32>
    return %1, %c : tensor<2x3xbf16>, tensor<i32>
  }
}
