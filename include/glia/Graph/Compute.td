// Contractions, reductions, windows, sorting, norms, linear algebra and random numbers.
include "glia/Graph/Base.td"

class G_RegionOp<string mnemonic, list<Trait> traits = []> : G_Op<mnemonic, [RecursiveMemoryEffects] # traits> {
  let hasRegionVerifier = 1;
}

def G_DotOp : G_PureOp<"dot"> {
  let arguments = (ins G_Tensor:$lhs, G_Tensor:$rhs, OptionalAttr<G_PrecisionConfig>:$precision_config);
  let results = (outs G_Tensor);
  let assemblyFormat = [{
    $lhs `,` $rhs `` custom<PrecisionList>($precision_config) attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}
def G_DotGeneralOp : G_PureOp<"dot_general"> {
  let arguments = (ins G_Tensor:$lhs, G_Tensor:$rhs, G_DotDimensionNumbers:$dot_dimension_numbers,
                       OptionalAttr<G_PrecisionConfig>:$precision_config, OptionalAttr<G_DotAlgorithm>:$algorithm);
  let results = (outs G_Tensor);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` custom<DotAxes>($dot_dimension_numbers) ``
    custom<PrecisionThenAlgorithm>($precision_config, $algorithm) attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}
def G_EinsumOp : G_PureOp<"einsum"> {
  let arguments = (ins G_Tensor:$lhs, G_Tensor:$rhs, StrAttr:$einsum_config);
  let results = (outs G_Tensor);
  let assemblyFormat = "$lhs `,` $rhs `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)";
}
def G_UnaryEinsumOp : G_PureOp<"unary_einsum"> {
  let arguments = (ins G_Tensor:$operand, StrAttr:$einsum_config);
  let results = (outs G_Tensor);
  let assemblyFormat = "$operand `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)";
}
def G_ConvolutionOp : G_PureOp<"convolution"> {
  let arguments = (ins G_Tensor:$lhs, G_Tensor:$rhs, OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<I64ElementsAttr>:$padding, OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation,
                       OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation, OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
                       G_ConvDimensionNumbers:$dimension_numbers, I64Attr:$feature_group_count, I64Attr:$batch_group_count,
                       OptionalAttr<G_PrecisionConfig>:$precision_config);
  let results = (outs G_Tensor);
  let assemblyFormat = [{
    `(` operands `)` `dim_numbers` `=` custom<ConvAxes>($dimension_numbers) `,` `window` `=` `{`
    custom<WindowFields>($window_strides, $padding, $lhs_dilation, $rhs_dilation, $window_reversal) `}` attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def G_ReduceOp : G_RegionOp<"reduce", [SameVariadicOperandSize]> {
  let arguments = (ins Variadic<G_Tensor>:$inputs, Variadic<G_Tensor>:$init_values, DenseI64ArrayAttr:$dimensions);
  let results = (outs Variadic<G_Tensor>);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
}
def G_ReduceWindowOp : G_RegionOp<"reduce_window", [SameVariadicOperandSize]> {
  let arguments = (ins Variadic<G_Tensor>:$inputs, Variadic<G_Tensor>:$init_values, DenseI64ArrayAttr:$window_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides, OptionalAttr<DenseI64ArrayAttr>:$base_dilations,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dilations, OptionalAttr<I64ElementsAttr>:$padding);
  let results = (outs Variadic<G_Tensor>);
  let regions = (region SizedRegion<1>:$body);
}
def G_SelectAndScatterOp : G_RegionOp<"select_and_scatter"> {
  let arguments = (ins G_Tensor:$operand, G_Tensor:$source, G_Tensor:$init_value,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dimensions, OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<I64ElementsAttr>:$padding);
  let results = (outs G_Tensor);
  let regions = (region SizedRegion<1>:$select, SizedRegion<1>:$scatter);
}
def G_MapOp : G_RegionOp<"map"> {
  let arguments = (ins Variadic<G_Tensor>:$inputs, DenseI64ArrayAttr:$dimensions);
  let results = (outs G_Tensor);
  let regions = (region SizedRegion<1>:$computation);
}
def G_SortOp : G_RegionOp<"sort"> {
  let arguments = (ins Variadic<G_Tensor>:$inputs, DefaultValuedOptionalAttr<I64Attr, "-1">:$dimension,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_stable);
  let results = (outs Variadic<G_Tensor>);
  let regions = (region SizedRegion<1>:$comparator);
}

class G_BatchNormOp<string mnemonic> : G_PureOp<mnemonic> { let hasVerifier = 1; }
def G_BatchNormTrainingOp : G_BatchNormOp<"batch_norm_training"> {
  let arguments = (ins G_FloatTensor:$operand, G_FloatTensor:$scale, G_FloatTensor:$offset, F32Attr:$epsilon,
                       I64Attr:$feature_index);
  let results = (outs G_FloatTensor:$output, G_FloatTensor:$batch_mean, G_FloatTensor:$batch_var);
}
def G_BatchNormInferenceOp : G_BatchNormOp<"batch_norm_inference"> {
  let arguments = (ins G_FloatTensor:$operand, G_FloatTensor:$scale, G_FloatTensor:$offset, G_FloatTensor:$mean,
                       G_FloatTensor:$variance, F32Attr:$epsilon, I64Attr:$feature_index);
  let results = (outs G_FloatTensor:$result);
}
def G_BatchNormGradOp : G_BatchNormOp<"batch_norm_grad"> {
  let arguments = (ins G_FloatTensor:$operand, G_FloatTensor:$scale, G_FloatTensor:$mean, G_FloatTensor:$variance,
                       G_FloatTensor:$grad_output, F32Attr:$epsilon, I64Attr:$feature_index);
  let results = (outs G_FloatTensor:$grad_operand, G_FloatTensor:$grad_scale, G_FloatTensor:$grad_offset);
}

def G_FftOp : G_PureOp<"fft"> {
  let arguments = (ins G_FloatOrComplexTensor:$operand, G_FftTypeAttr:$fft_type, DenseI64ArrayAttr:$fft_length);
  let results = (outs G_FloatOrComplexTensor);
  let assemblyFormat = [{
    $operand `,` `type` `=` $fft_type `,` `length` `=` $fft_length attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}
def G_CholeskyOp : G_PureOp<"cholesky"> {
  let arguments = (ins G_FloatOrComplexTensor:$a, DefaultValuedOptionalAttr<BoolAttr, "false">:$lower);
  let results = (outs G_FloatOrComplexTensor:$result);
  let assemblyFormat = [{
    $a (`,` `lower` `=` $lower^)? attr-dict `:` custom<OneTypeForAll>(type($a), type($result))
  }];
  let hasVerifier = 1;
}
def G_TriangularSolveOp : G_PureOp<"triangular_solve"> {
  let arguments = (ins G_FloatOrComplexTensor:$a, G_FloatOrComplexTensor:$b, BoolAttr:$left_side, BoolAttr:$lower,
                       BoolAttr:$unit_diagonal, G_TransposeAttr:$transpose_a);
  let results = (outs G_FloatOrComplexTensor);
  let hasVerifier = 1;
}
def G_RngOp : G_Op<"rng"> {
  let arguments = (ins G_Scalar:$a, G_Scalar:$b, G_IndexTensor:$shape, G_RngDistributionAttr:$rng_distribution);
  let results = (outs G_Tensor:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $shape `,` `distribution` `=` $rng_distribution attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}
def G_RngBitGeneratorOp : G_PureOp<"rng_bit_generator"> {
  let arguments = (ins G_RngAlgorithmAttr:$rng_algorithm, G_RealTensor:$initial_state);
  let results = (outs G_RealTensor:$output_state, G_RealTensor:$output);
  let assemblyFormat = [{
    $initial_state `,` `algorithm` `=` $rng_algorithm attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}
