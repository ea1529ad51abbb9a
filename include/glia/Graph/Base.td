// The dialect `stablehlo`: what every file of ops needs: enums, attributes, types, constraints, classes of ops.
#ifndef GLIA_GRAPH_BASE_TD
#define GLIA_GRAPH_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_Dialect : Dialect {
  let name = "stablehlo";
  let cppNamespace = "::glia::graph";
  let hasConstantMaterializer = 1;
  let summary = "Graphs of tensor operations, in the public text form of StableHLO.";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
  private: // one function per file of ops, so that each is compiled on its own
    void addElementwiseOps();
    void addMovementOps();
    void addComputeOps();
    void addControlOps();
    void addCommunicationOps();
    void addDynamicOps();
  public:
  }];
}

// ---- enums: printed #stablehlo<comparison_direction LT>; inside an op that has a form of its own, LT ------------------------

class G_Enum<string name, list<I32EnumAttrCase> cases> : I32EnumAttr<name, name, cases> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::glia::graph";
}
class G_EnumAttr<I32EnumAttr e, string mnem> : EnumAttr<Graph_Dialect, e, mnem>;
class G_Case<string name, int value> : I32EnumAttrCase<name, value>;

def G_ComparisonDirection : G_Enum<"ComparisonDirection", [G_Case<"EQ", 0>, G_Case<"NE", 1>, G_Case<"GE", 2>, G_Case<"GT", 3>,
                                                           G_Case<"LE", 4>, G_Case<"LT", 5>]>;
def G_ComparisonType : G_Enum<"ComparisonType", [G_Case<"NOTYPE", 0>, G_Case<"FLOAT", 1>, G_Case<"TOTALORDER", 2>,
                                                 G_Case<"SIGNED", 3>, G_Case<"UNSIGNED", 4>]>;
def G_Precision : G_Enum<"Precision", [G_Case<"DEFAULT", 0>, G_Case<"HIGH", 1>, G_Case<"HIGHEST", 2>]>;
def G_FftType : G_Enum<"FftType", [G_Case<"FFT", 0>, G_Case<"IFFT", 1>, G_Case<"RFFT", 2>, G_Case<"IRFFT", 3>]>;
def G_Transpose : G_Enum<"Transpose", [G_Case<"TRANSPOSE_INVALID", 0>, G_Case<"NO_TRANSPOSE", 1>, G_Case<"TRANSPOSE", 2>,
                                       G_Case<"ADJOINT", 3>]>;
def G_RngDistribution : G_Enum<"RngDistribution", [G_Case<"UNIFORM", 1>, G_Case<"NORMAL", 2>]>;
def G_RngAlgorithm : G_Enum<"RngAlgorithm", [G_Case<"DEFAULT", 0>, G_Case<"THREE_FRY", 1>, G_Case<"PHILOX", 2>]>;
def G_ResultAccuracyMode : G_Enum<"ResultAccuracyMode", [G_Case<"DEFAULT", 0>, G_Case<"HIGHEST", 1>, G_Case<"TOLERANCE", 2>]>;
// This one is a plain i32 in the text.
def G_CustomCallApiVersion : I32EnumAttr<"CustomCallApiVersion", "version of the calling convention, 0 to 4", [
    G_Case<"API_VERSION_UNSPECIFIED", 0>, G_Case<"API_VERSION_ORIGINAL", 1>, G_Case<"API_VERSION_STATUS_RETURNING", 2>,
    G_Case<"API_VERSION_STATUS_RETURNING_UNIFIED", 3>, G_Case<"API_VERSION_TYPED_FFI", 4>]> {
  let cppNamespace = "::glia::graph";
}

def G_ComparisonDirectionAttr : G_EnumAttr<G_ComparisonDirection, "comparison_direction">;
def G_ComparisonTypeAttr : G_EnumAttr<G_ComparisonType, "comparison_type">;
def G_PrecisionAttr : G_EnumAttr<G_Precision, "precision">;
def G_FftTypeAttr : G_EnumAttr<G_FftType, "fft_type">;
def G_TransposeAttr : G_EnumAttr<G_Transpose, "transpose">;
def G_RngDistributionAttr : G_EnumAttr<G_RngDistribution, "rng_distribution">;
def G_RngAlgorithmAttr : G_EnumAttr<G_RngAlgorithm, "rng_algorithm">;
def G_ResultAccuracyModeAttr : G_EnumAttr<G_ResultAccuracyMode, "result_accuracy_mode"> { let assemblyFormat = "`<` $value `>`"; }

// ---- attributes: #stablehlo.dot<lhs_contracting_dimensions = [1], ...> ------------------------------------------------------

class G_Attr<string name, string mnem, list<Trait> traits = []> : AttrDef<Graph_Dialect, name, traits> {
  let mnemonic = mnem;
  let summary = "#stablehlo." # mnem;
}
// Named fields in any order; what is empty or 0 is left out. The text is in lib/Graph/Attributes.cpp.
class G_FieldsAttr<string name, string mnem> : G_Attr<name, mnem> { let hasCustomAssemblyFormat = 1; }
def G_Dims : ArrayRefParameter<"int64_t">;

def G_DotDimensionNumbers : G_FieldsAttr<"DotDimensionNumbers", "dot"> {
  let parameters = (ins G_Dims:$lhsBatchingDimensions, G_Dims:$rhsBatchingDimensions, G_Dims:$lhsContractingDimensions,
                        G_Dims:$rhsContractingDimensions);
}
def G_GatherDimensionNumbers : G_FieldsAttr<"GatherDimensionNumbers", "gather"> {
  let parameters = (ins G_Dims:$offsetDims, G_Dims:$collapsedSliceDims, G_Dims:$operandBatchingDims,
                        G_Dims:$startIndicesBatchingDims, G_Dims:$startIndexMap, "int64_t":$indexVectorDim);
}
def G_ScatterDimensionNumbers : G_FieldsAttr<"ScatterDimensionNumbers", "scatter"> {
  let parameters = (ins G_Dims:$updateWindowDims, G_Dims:$insertedWindowDims, G_Dims:$inputBatchingDims,
                        G_Dims:$scatterIndicesBatchingDims, G_Dims:$scatterDimsToOperandDims, "int64_t":$indexVectorDim);
}
// Two forms: [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], and `raw` with named fields.
def G_ConvDimensionNumbers : G_FieldsAttr<"ConvDimensionNumbers", "conv"> {
  let parameters = (ins "int64_t":$inputBatchDimension, "int64_t":$inputFeatureDimension, G_Dims:$inputSpatialDimensions,
                        "int64_t":$kernelInputFeatureDimension, "int64_t":$kernelOutputFeatureDimension,
                        G_Dims:$kernelSpatialDimensions, "int64_t":$outputBatchDimension, "int64_t":$outputFeatureDimension,
                        G_Dims:$outputSpatialDimensions);
}
def G_OutputOperandAlias : G_FieldsAttr<"OutputOperandAlias", "output_operand_alias"> {
  let parameters = (ins G_Dims:$outputTupleIndices, "int64_t":$operandIndex, G_Dims:$operandTupleIndices);
}
def G_ResultAccuracy : G_FieldsAttr<"ResultAccuracy", "result_accuracy"> {
  let parameters = (ins APFloatParameter<"">:$atol, APFloatParameter<"">:$rtol, "int64_t":$ulps,
                        "::glia::graph::ResultAccuracyMode":$mode);
}
def G_DotAlgorithm : G_Attr<"DotAlgorithm", "dot_algorithm"> {
  let parameters = (ins "::mlir::Type":$lhsPrecisionType, "::mlir::Type":$rhsPrecisionType, "::mlir::Type":$accumulationType,
                        "int64_t":$lhsComponentCount, "int64_t":$rhsComponentCount, "int64_t":$numPrimitiveOperations,
                        "bool":$allowImpreciseAccumulation);
  let assemblyFormat = [{
    `<` `lhs_precision_type` `=` $lhsPrecisionType `,` `rhs_precision_type` `=` $rhsPrecisionType `,`
        `accumulation_type` `=` $accumulationType `,` `lhs_component_count` `=` $lhsComponentCount `,`
        `rhs_component_count` `=` $rhsComponentCount `,` `num_primitive_operations` `=` $numPrimitiveOperations `,`
        `allow_imprecise_accumulation` `=` $allowImpreciseAccumulation `>`
  }];
}
def G_ChannelHandle : G_Attr<"ChannelHandle", "channel_handle"> {
  let parameters = (ins "int64_t":$handle, "int64_t":$type);
  let assemblyFormat = "`<` struct(params) `>`";
}
// Bounds of dynamic dimensions, one per dimension, `?` where there is none: only found on types that are refused.
def G_Bounds : G_Attr<"Bounds", "bounds"> {
  let parameters = (ins G_Dims:$bounds);
  let hasCustomAssemblyFormat = 1;
}
def G_TypeExtensions : G_Attr<"TypeExtensions", "type_extensions"> {
  let parameters = (ins G_Dims:$bounds);
  let hasCustomAssemblyFormat = 1;
}
def G_SubAxisInfo : G_Attr<"SubAxisInfo", "sub_axis_info"> {
  let parameters = (ins "int64_t":$pre_size, "int64_t":$size);
  let assemblyFormat = "`(` $pre_size `)` `` $size";
}
def G_AxisRef : G_Attr<"AxisRef", "axis_ref"> {
  let parameters = (ins StringRefParameter<>:$name, OptionalParameter<"SubAxisInfoAttr">:$sub_axis_info);
  let assemblyFormat = "`<` struct(params) `>`";
}
def G_MeshAxis : G_Attr<"MeshAxis", "mesh_axis"> {
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$size);
  let assemblyFormat = "`<` struct(params) `>`";
}
def G_Mesh : G_Attr<"Mesh", "mesh"> {
  let parameters = (ins ArrayRefParameter<"MeshAxisAttr">:$axes, OptionalParameter<"::mlir::DenseIntElementsAttr">:$device_ids);
  let assemblyFormat = "`<` `axes` `` `=` `` `[` $axes `]` (`,` `device_ids` `` `=` `` $device_ids^)? `>`";
}
def G_ReplicaGroupMeshAxes : G_Attr<"ReplicaGroupMeshAxes", "replica_group_mesh_axes"> {
  let parameters = (ins "::mlir::Attribute":$mesh, "::mlir::ArrayAttr":$axes);
  let assemblyFormat = "`<` struct(params) `>`";
}

def G_PrecisionConfig : TypedArrayAttrBase<G_PrecisionAttr, "precisions, one per operand">;
def G_ReplicaGroups : AnyAttrOf<[I64ElementsAttr, G_ReplicaGroupMeshAxes]>;
def G_OptionalAccuracy : OptionalAttr<G_ResultAccuracy>;

// ---- types ------------------------------------------------------------------------------------------------------------------

def G_Token : TypeDef<Graph_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "Orders effects.";
}
def G_Future : TypeDef<Graph_Dialect, "Future"> {
  let mnemonic = "future";
  let summary = "The results of an operation that was started.";
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$types);
  let assemblyFormat = "`<` $types `>`";
}

// ---- constraints: shapes are static; what an element may be is in lib/Graph/Types.cpp ---------------------------------------

class G_TensorOf<string test, string text>
    : Type<CPred<"::glia::graph::" # test # "($_self)">, text # " of static shape", "::mlir::RankedTensorType">;
def G_Tensor : G_TensorOf<"isTensor", "tensor">;
def G_IntTensor : G_TensorOf<"isIntTensor", "tensor of integers">;
def G_PredTensor : G_TensorOf<"isPredTensor", "tensor of i1">;
def G_BitsTensor : G_TensorOf<"isBitsTensor", "tensor of integers or i1">;
def G_FloatTensor : G_TensorOf<"isFloatTensor", "tensor of floats">;
def G_RealTensor : G_TensorOf<"isRealTensor", "tensor of integers or floats">;
def G_ComplexTensor : G_TensorOf<"isComplexTensor", "tensor of complex values">;
def G_FloatOrComplexTensor : G_TensorOf<"isFloatOrComplexTensor", "tensor of floats or complex values">;
def G_NumberTensor : G_TensorOf<"isNumberTensor", "tensor of integers, floats or complex values">;
def G_Scalar : G_TensorOf<"isScalar", "tensor without dimensions">;
def G_IntScalar : G_TensorOf<"isIntScalar", "tensor without dimensions of integers">;
def G_IndexTensor : G_TensorOf<"isIndexTensor", "tensor of integers or index">;
def G_Tuple : Type<CPred<"::llvm::isa<::mlir::TupleType>($_self)">, "tuple", "::mlir::TupleType">;
def G_Value : Type<CPred<"::glia::graph::isValue($_self)">, "tensor of static shape, token, tuple, future or buffer">;

// ---- classes of ops ---------------------------------------------------------------------------------------------------------

// Operations are made by name (GraphBuilder, readers): a class with one builder instead of six takes half as long to compile.
def G_Builder : OpBuilder<(ins "::mlir::TypeRange":$types, "::mlir::ValueRange":$operands), [{
  $_state.addTypes(types);
  $_state.addOperands(operands);
}]>;
class G_Op<string mnemonic, list<Trait> traits = []> : Op<Graph_Dialect, mnemonic, traits> {
  let skipDefaultBuilders = 1;
  let builders = [G_Builder];
}
class G_PureOp<string mnemonic, list<Trait> traits = []> : G_Op<mnemonic, [Pure] # traits>;

#endif
