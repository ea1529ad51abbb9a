module {
  func.func public @main(%arg0: tensor<128x512xf32>) -> tensor<128x512xf32> {
    %0 = stablehlo.negate %arg0 : tensor<128x512xf32>
    %1 = stablehlo.custom_call @glia.nki(%0) {backend_config = "nisa.kernel @scale target \22trn2\22 {\0A  %x = tensor input : f32[128, 512]\0A  %y = tensor output : f32[128, 512]\0A  core 0 {\0A    %t = alloc sbuf : f32[128, 512]\0A    dma_copy dst=%t src=%x\0A    tensor_scalar dst=%t data=%t op0=multiply operand0=2.0\0A    dma_copy dst=%y src=%t\0A  }\0A}\0A"} : (tensor<128x512xf32>) -> tensor<128x512xf32>
    %2 = stablehlo.add %1, %1 : tensor<128x512xf32>
    return %2 : tensor<128x512xf32>
  }
}
