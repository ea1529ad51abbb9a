// Ops whose parameters are tensors, and the quantising ones. With static types most of them equal an op of the other files.
include "glia/Graph/Base.td"

class G_DynamicOp<string mnemonic> : G_PureOp<mnemonic> {
  let results = (outs G_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
def G_DynamicBroadcastInDimOp : G_DynamicOp<"dynamic_broadcast_in_dim"> {
  let arguments = (ins G_Tensor:$operand, G_IndexTensor:$output_dimensions, DenseI64ArrayAttr:$broadcast_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$known_expanding_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$known_nonexpanding_dimensions);
  let assemblyFormat = [{
    $operand `,` $output_dimensions `,` `dims` `=` $broadcast_dimensions attr-dict `:` functional-type(operands, results)
  }];
}
def G_DynamicIotaOp : G_DynamicOp<"dynamic_iota"> {
  let arguments = (ins G_IndexTensor:$output_shape, I64Attr:$iota_dimension);
  let assemblyFormat = "$output_shape `,` `dim` `=` $iota_dimension attr-dict `:` functional-type(operands, results)";
}
def G_DynamicReshapeOp : G_DynamicOp<"dynamic_reshape"> {
  let arguments = (ins G_Tensor:$operand, G_IndexTensor:$output_shape);
}
def G_DynamicPadOp : G_DynamicOp<"dynamic_pad"> {
  let arguments = (ins G_Tensor:$operand, G_Scalar:$padding_value, G_IndexTensor:$edge_padding_low,
                       G_IndexTensor:$edge_padding_high, G_IndexTensor:$interior_padding);
}
def G_RealDynamicSliceOp : G_DynamicOp<"real_dynamic_slice"> {
  let arguments = (ins G_Tensor:$operand, G_IndexTensor:$start_indices, G_IndexTensor:$limit_indices, G_IndexTensor:$strides);
}
def G_GetDimensionSizeOp : G_DynamicOp<"get_dimension_size"> {
  let arguments = (ins G_Tensor:$operand, I64Attr:$dimension);
  let assemblyFormat = "$operand `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)";
}
def G_SetDimensionSizeOp : G_DynamicOp<"set_dimension_size"> {
  let arguments = (ins G_Tensor:$operand, G_IntScalar:$size, I64Attr:$dimension);
  let assemblyFormat = "$operand `,` $size `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)";
}
def G_DynamicGatherOp : G_PureOp<"dynamic_gather"> {
  let arguments = (ins G_Tensor:$operand, G_IndexTensor:$start_indices, G_IndexTensor:$slice_sizes,
                       G_GatherDimensionNumbers:$dimension_numbers,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs G_Tensor);
}
def G_DynamicConvOp : G_PureOp<"dynamic_conv"> {
  let arguments = (ins G_Tensor:$lhs, G_Tensor:$rhs, G_IndexTensor:$padding, OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation, OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
                       OptionalAttr<DenseBoolArrayAttr>:$window_reversal, G_ConvDimensionNumbers:$dimension_numbers,
                       I64Attr:$feature_group_count, I64Attr:$batch_group_count,
                       OptionalAttr<G_PrecisionConfig>:$precision_config);
  let results = (outs G_Tensor);
}
// Quantised types do not exist here, so these two are only known in order to be refused.
class G_QuantiseOp<string mnemonic> : G_PureOp<mnemonic> {
  let arguments = (ins G_Tensor:$operand);
  let results = (outs G_Tensor:$result);
  let extraClassDeclaration = [{
    static ::mlir::ParseResult parse(::mlir::OpAsmParser &p, ::mlir::OperationState &s) {
      return ::glia::graph::parseElementwise(p, s);
    }
    void print(::mlir::OpAsmPrinter &p) { ::glia::graph::printElementwise(p, *this); }
  }];
}
def G_UniformQuantizeOp : G_QuantiseOp<"uniform_quantize">;
def G_UniformDequantizeOp : G_QuantiseOp<"uniform_dequantize">;
