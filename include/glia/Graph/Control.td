// Control flow, calls out of the graph, tuples and tokens.
include "glia/Graph/Base.td"

def G_ReturnOp : G_PureOp<"return", [Terminator]> {
  let arguments = (ins Variadic<G_Value>:$results);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$results), [{ $_state.addOperands(results); }]>];
  let assemblyFormat = "$results attr-dict (`:` type($results)^)?";
  let hasVerifier = 1;
}
def G_IfOp : G_Op<"if", [RecursiveMemoryEffects]> {
  let arguments = (ins G_PredTensor:$pred);
  let results = (outs Variadic<G_Value>);
  let regions = (region SizedRegion<1>:$true_branch, SizedRegion<1>:$false_branch);
  let hasRegionVerifier = 1;
}
def G_CaseOp : G_Op<"case", [RecursiveMemoryEffects]> {
  let arguments = (ins G_IntScalar:$index);
  let results = (outs Variadic<G_Value>);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let hasRegionVerifier = 1;
}
def G_WhileOp : G_Op<"while", [RecursiveMemoryEffects,
                               DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let arguments = (ins Variadic<G_Value>:$operand);
  let results = (outs Variadic<G_Value>);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}
def G_OptimizationBarrierOp : G_PureOp<"optimization_barrier"> {
  let arguments = (ins Variadic<G_Value>:$operand);
  let results = (outs Variadic<G_Value>:$result);
  let assemblyFormat = "attr-dict ($operand^ `:` custom<TypesInPairs>(type($operand), type($result))):(`(` `)`)?";
  let hasVerifier = 1;
}
def G_CustomCallOp : G_Op<"custom_call", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let arguments = (ins Variadic<G_Value>:$inputs, StrAttr:$call_target_name,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$has_side_effect,
                       OptionalAttr<AnyAttrOf<[StrAttr, DictionaryAttr]>>:$backend_config,
                       DefaultValuedOptionalAttr<G_CustomCallApiVersion,
                                                 "::glia::graph::CustomCallApiVersion::API_VERSION_ORIGINAL">:$api_version,
                       DefaultValuedOptionalAttr<TypedArrayAttrBase<FlatSymbolRefAttr, "functions">, "{}">:$called_computations,
                       OptionalAttr<ArrayAttr>:$operand_layouts, OptionalAttr<ArrayAttr>:$result_layouts,
                       DefaultValuedOptionalAttr<TypedArrayAttrBase<G_OutputOperandAlias, "aliases">, "{}">:$output_operand_aliases,
                       OptionalAttr<ArrayAttr>:$result_tilings);
  let results = (outs Variadic<G_Value>);
  let assemblyFormat = [{
    custom<CallTarget>($call_target_name) `(` $inputs `)` attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}
def G_CompositeOp : G_Op<"composite", [RecursiveMemoryEffects]> {
  let arguments = (ins Variadic<G_Value>:$inputs, StrAttr:$name,
                       DefaultValuedOptionalAttr<DictionaryAttr, "{}">:$composite_attributes, FlatSymbolRefAttr:$decomposition,
                       DefaultValuedOptionalAttr<I32Attr, "0">:$version);
  let results = (outs Variadic<G_Value>);
  let regions = (region VariadicRegion<AnyRegion>:$composite_regions);
  let assemblyFormat = [{
    $name operands (` ` `(` $composite_regions^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}
def G_TupleOp : G_PureOp<"tuple"> {
  let arguments = (ins Variadic<G_Value>:$val);
  let results = (outs G_Tuple:$result);
  let assemblyFormat = "$val attr-dict `:` custom<TupleTypes>(type($val), type($result))";
  let hasVerifier = 1;
}
def G_GetTupleElementOp : G_PureOp<"get_tuple_element"> {
  let arguments = (ins G_Tuple:$operand, I32Attr:$index);
  let results = (outs G_Value);
  let assemblyFormat = "$operand `[` $index `]` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def G_AfterAllOp : G_PureOp<"after_all"> {
  let arguments = (ins Variadic<G_Token>:$inputs);
  let results = (outs G_Token:$result);
  let assemblyFormat = [{
    $inputs attr-dict `:` custom<OneTypeForMany>(ref($inputs), type($inputs), type($result))
  }];
}
def G_CreateTokenOp : G_PureOp<"create_token"> {
  let results = (outs G_Token:$output);
  let assemblyFormat = "attr-dict `:` type(results)";
}
