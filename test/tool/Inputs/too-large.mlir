func.func @main(%x: tensor<60000x60000xf32>, %w: tensor<60000x60000xf32>) -> tensor<60000x60000xf32> {
  %0 = stablehlo.add %x, %w : tensor<60000x60000xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<60000x60000xf32>, tensor<60000x60000xf32>) -> tensor<60000x60000xf32>
  return %1 : tensor<60000x60000xf32>
}
