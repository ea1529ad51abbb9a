// Ops that make tensors or move their elements.
include "glia/Graph/Base.td"

def G_ConstantOp : G_PureOp<"constant", [ConstantLike, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let arguments = (ins ElementsAttr:$value);
  let results = (outs G_Tensor:$output);
  let builders = [OpBuilder<(ins "::mlir::ElementsAttr":$value), [{ build($_builder, $_state, value.getType(), value); }]>,
                  OpBuilder<(ins "::mlir::Type":$output, "::mlir::ElementsAttr":$value), [{
                    $_state.addTypes(output);
                    $_state.getOrAddProperties<Properties>().value = value;
                  }]>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}
def G_IotaOp : G_PureOp<"iota"> {
  let arguments = (ins I64Attr:$iota_dimension);
  let results = (outs G_Tensor:$output);
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($output)";
  let hasVerifier = 1;
}

class G_ReformOp<string mnemonic> : G_PureOp<mnemonic> {
  let results = (outs G_Tensor:$result);
  let hasVerifier = 1;
}
def G_BroadcastOp : G_ReformOp<"broadcast"> {
  let arguments = (ins G_Tensor:$operand, DenseI64ArrayAttr:$broadcast_sizes);
  let assemblyFormat = "$operand `,` `sizes` `=` $broadcast_sizes attr-dict `:` functional-type(operands, results)";
}
def G_BroadcastInDimOp : G_ReformOp<"broadcast_in_dim"> {
  let arguments = (ins G_Tensor:$operand, DenseI64ArrayAttr:$broadcast_dimensions);
  let assemblyFormat = "$operand `,` `dims` `=` $broadcast_dimensions attr-dict `:` functional-type(operands, results)";
}
def G_BitcastConvertOp : G_ReformOp<"bitcast_convert"> {
  let arguments = (ins G_Tensor:$operand);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
def G_ReshapeOp : G_ReformOp<"reshape"> {
  let arguments = (ins G_Tensor:$operand);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
def G_TransposeOp : G_ReformOp<"transpose"> {
  let arguments = (ins G_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let assemblyFormat = "$operand `,` `dims` `=` $permutation attr-dict `:` functional-type(operands, results)";
}
def G_SliceOp : G_ReformOp<"slice"> {
  let arguments = (ins G_Tensor:$operand, DenseI64ArrayAttr:$start_indices, DenseI64ArrayAttr:$limit_indices,
                       DenseI64ArrayAttr:$strides);
  let assemblyFormat = [{
    $operand custom<Ranges>($start_indices, $limit_indices, $strides) attr-dict `:` functional-type(operands, results)
  }];
}
def G_ConcatenateOp : G_ReformOp<"concatenate"> {
  let arguments = (ins Variadic<G_Tensor>:$inputs, I64Attr:$dimension);
  let assemblyFormat = [{
    custom<OperandsThenAttributes>($inputs) `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
}
def G_PadOp : G_ReformOp<"pad"> {
  let arguments = (ins G_Tensor:$operand, G_Scalar:$padding_value, DenseI64ArrayAttr:$edge_padding_low,
                       DenseI64ArrayAttr:$edge_padding_high, DenseI64ArrayAttr:$interior_padding);
  let assemblyFormat = [{
    $operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` `high` `=` $edge_padding_high `,`
    `interior` `=` $interior_padding attr-dict `:` functional-type(operands, results)
  }];
}
def G_ReverseOp : G_ReformOp<"reverse"> {
  let arguments = (ins G_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $dimensions attr-dict `:` custom<OneTypeForAll>(type($operand), type($result))
  }];
}
def G_DynamicSliceOp : G_ReformOp<"dynamic_slice"> {
  let arguments = (ins G_Tensor:$operand, Variadic<G_IntScalar>:$start_indices, DenseI64ArrayAttr:$slice_sizes);
  let assemblyFormat = [{
    $operand `,` custom<OperandsThenAttributes>($start_indices) `sizes` `=` $slice_sizes attr-dict `:`
    functional-type(operands, results)
  }];
}
def G_DynamicUpdateSliceOp : G_ReformOp<"dynamic_update_slice"> {
  let arguments = (ins G_Tensor:$operand, G_Tensor:$update, Variadic<G_IntScalar>:$start_indices);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
def G_GatherOp : G_ReformOp<"gather"> {
  let arguments = (ins G_Tensor:$operand, G_IndexTensor:$start_indices, G_GatherDimensionNumbers:$dimension_numbers,
                       DenseI64ArrayAttr:$slice_sizes, DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
}
def G_ScatterOp : G_Op<"scatter", [SameVariadicOperandSize, RecursiveMemoryEffects]> {
  let arguments = (ins Variadic<G_Tensor>:$inputs, G_IndexTensor:$scatter_indices, Variadic<G_Tensor>:$updates,
                       G_ScatterDimensionNumbers:$scatter_dimension_numbers,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$unique_indices);
  let results = (outs Variadic<G_Tensor>);
  let regions = (region SizedRegion<1>:$update_computation);
  let hasRegionVerifier = 1;
}
def G_TorchIndexSelectOp : G_ReformOp<"torch_index_select"> {
  let arguments = (ins G_Tensor:$operand, G_Tensor:$index, I64Attr:$dim, I64Attr:$batch_dims);
}
