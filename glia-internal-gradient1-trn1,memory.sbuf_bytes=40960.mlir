module {
  func.func @main(%arg0: tensor<1x1x512x64xbf16>, %arg1: tensor<1x512x64xbf16>, %arg2: tensor<1x1x512x64xbf16>, %arg3: tensor<1x512x64xbf16>) -> (tensor<1x512x64xbf16>, tensor<1x512x64xbf16>, tensor<1x1x512x64xbf16>) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x1x512x64xbf16>, tensor<1x512x64xbf16>) -> tensor<1x1x512x512xbf16>
    %cst = stablehlo.constant dense<1.250000e-01> : tensor<1x1x512x512xbf16>
    %1 = stablehlo.multiply %0, %cst : tensor<1x1x512x512xbf16>
    %cst_0 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %2 = stablehlo.reduce(%1 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<1x1x512x512xbf16>, tensor<bf16>) -> tensor<1x1x512xbf16>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2] : (tensor<1x1x512xbf16>) -> tensor<1x1x512x512xbf16>
    %4 = stablehlo.subtract %1, %3 : tensor<1x1x512x512xbf16>
    %5 = stablehlo.exponential %4 : tensor<1x1x512x512xbf16>
    %6 = stablehlo.convert %5 : (tensor<1x1x512x512xbf16>) -> tensor<1x1x512x512xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [3] : (tensor<1x1x512x512xf32>, tensor<f32>) -> tensor<1x1x512xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<1x1x512x1xf32>
    %9 = stablehlo.convert %8 : (tensor<1x1x512x1xf32>) -> tensor<1x1x512x1xbf16>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<1x1x512x1xbf16>) -> tensor<1x1x512x512xbf16>
    %11 = stablehlo.divide %5, %10 : tensor<1x1x512x512xbf16>
    %12 = stablehlo.multiply %9, %9 : tensor<1x1x512x1xbf16>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<1x1x512x1xbf16>
    %13 = stablehlo.divide %cst_2, %12 : tensor<1x1x512x1xbf16>
    %14 = stablehlo.dot_general %11, %arg2, batching_dims = [0] x [0], contracting_dims = [1, 2] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<1x1x512x512xbf16>, tensor<1x1x512x64xbf16>) -> tensor<1x512x64xbf16>
    %15 = stablehlo.dot_general %arg2, %arg3, batching_dims = [0] x [0], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x1x512x64xbf16>, tensor<1x512x64xbf16>) -> tensor<1x1x512x512xbf16>
    %16 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<1x1x512x1xbf16>) -> tensor<1x1x512x512xbf16>
    %17 = stablehlo.multiply %15, %16 : tensor<1x1x512x512xbf16>
    %18 = stablehlo.multiply %17, %5 : tensor<1x1x512x512xbf16>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %19 = stablehlo.reduce(%18 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<1x1x512x512xbf16>, tensor<bf16>) -> tensor<1x1x512xbf16>
    %20 = stablehlo.reshape %19 : (tensor<1x1x512xbf16>) -> tensor<1x1x512x1xbf16>
    %21 = stablehlo.negate %20 : tensor<1x1x512x1xbf16>
    %22 = stablehlo.divide %15, %10 : tensor<1x1x512x512xbf16>
    %23 = stablehlo.convert %21 : (tensor<1x1x512x1xbf16>) -> tensor<1x1x512x1xf32>
    %24 = stablehlo.reduce(%23 init: %cst_1) applies stablehlo.add across dimensions = [0, 1, 3] : (tensor<1x1x512x1xf32>, tensor<f32>) -> tensor<512xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512x512xf32>
    %26 = stablehlo.convert %25 : (tensor<1x1x512x512xf32>) -> tensor<1x1x512x512xbf16>
    %27 = stablehlo.add %22, %26 : tensor<1x1x512x512xbf16>
    %28 = stablehlo.multiply %27, %5 : tensor<1x1x512x512xbf16>
    %29 = stablehlo.multiply %28, %cst : tensor<1x1x512x512xbf16>
    %30 = stablehlo.dot_general %29, %arg0, batching_dims = [0] x [0], contracting_dims = [1, 2] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<1x1x512x512xbf16>, tensor<1x1x512x64xbf16>) -> tensor<1x512x64xbf16>
    %31 = stablehlo.dot_general %29, %arg1, batching_dims = [0] x [0], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<1x1x512x512xbf16>, tensor<1x512x64xbf16>) -> tensor<1x1x512x64xbf16>
    return %14, %30, %31 : tensor<1x512x64xbf16>, tensor<1x512x64xbf16>, tensor<1x1x512x64xbf16>
  }
}