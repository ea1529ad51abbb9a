module {
  func.func @main(%p: tensor<10x10xf32> {tf.aliasing_output = 0 : i32}, %g: tensor<10x10xf32>) -> tensor<10x10xf32> {
    %0 = stablehlo.subtract %p, %g : tensor<10x10xf32>
    return %0 : tensor<10x10xf32>
  }
}
