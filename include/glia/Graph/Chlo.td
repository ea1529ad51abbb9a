// The dialect `chlo`: operations that JAX prints beside StableHLO ones. The forms with implicit broadcasting are not among them.
include "glia/Graph/Base.td"

def Chlo_Dialect : Dialect {
  let name = "chlo";
  let cppNamespace = "::glia::graph::chlo";
  let summary = "Higher operations on tensors that front ends print beside `stablehlo`.";
  let useDefaultAttributePrinterParser = 1;
}

class Chlo_Op<string mnemonic, list<Trait> traits = []> : Op<Chlo_Dialect, mnemonic, [Pure] # traits> {
  let skipDefaultBuilders = 1;
  let builders = [G_Builder];
}
// Text: `%a, %b : type, type -> type`.
class Chlo_ElementwiseOp<string mnemonic> : Chlo_Op<mnemonic> {
  code form = [{
    static ::mlir::ParseResult parse(::mlir::OpAsmParser &p, ::mlir::OperationState &s) {
      return ::glia::graph::parseArrowForm(p, s);
    }
    void print(::mlir::OpAsmPrinter &p) { ::glia::graph::printArrowForm(p, *this); }
  }];
  let extraClassDeclaration = form # [{
    ::llvm::LogicalResult verify() { return ::glia::graph::verifySameType(*this); }
  }];
}
class Chlo_UnaryOp<string mnemonic, Type type = G_FloatOrComplexTensor> : Chlo_ElementwiseOp<mnemonic> {
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
}
class Chlo_TestOp<string mnemonic> : Chlo_ElementwiseOp<mnemonic> {
  let arguments = (ins G_FloatTensor:$operand);
  let results = (outs G_PredTensor:$result);
  let extraClassDeclaration = form # [{
    ::llvm::LogicalResult verify() { return ::glia::graph::verifySameShape(*this); }
  }];
}

def Chlo_AcosOp : Chlo_UnaryOp<"acos">;
def Chlo_AcoshOp : Chlo_UnaryOp<"acosh">;
def Chlo_AsinOp : Chlo_UnaryOp<"asin">;
def Chlo_AsinhOp : Chlo_UnaryOp<"asinh">;
def Chlo_AtanOp : Chlo_UnaryOp<"atan">;
def Chlo_AtanhOp : Chlo_UnaryOp<"atanh">;
def Chlo_BesselI1eOp : Chlo_UnaryOp<"bessel_i1e", G_FloatTensor>;
def Chlo_ConjOp : Chlo_UnaryOp<"conj">;
def Chlo_CoshOp : Chlo_UnaryOp<"cosh">;
def Chlo_DigammaOp : Chlo_UnaryOp<"digamma", G_FloatTensor>;
def Chlo_ErfOp : Chlo_UnaryOp<"erf", G_FloatTensor>;
def Chlo_ErfInvOp : Chlo_UnaryOp<"erf_inv", G_FloatTensor>;
def Chlo_ErfcOp : Chlo_UnaryOp<"erfc", G_FloatTensor>;
def Chlo_LgammaOp : Chlo_UnaryOp<"lgamma", G_FloatTensor>;
def Chlo_SinhOp : Chlo_UnaryOp<"sinh">;
def Chlo_SquareOp : Chlo_UnaryOp<"square", G_NumberTensor>;
def Chlo_TanOp : Chlo_UnaryOp<"tan">;
def Chlo_IsInfOp : Chlo_TestOp<"is_inf">;
def Chlo_IsPosInfOp : Chlo_TestOp<"is_pos_inf">;
def Chlo_IsNegInfOp : Chlo_TestOp<"is_neg_inf">;

class Chlo_BinaryOp<string mnemonic, string first, string second, Type type = G_FloatTensor> : Chlo_ElementwiseOp<mnemonic> {
  let arguments = !dag(ins, [type, type], [first, second]);
  let results = (outs type:$result);
}
def Chlo_NextAfterOp : Chlo_BinaryOp<"next_after", "x", "y">;
def Chlo_PolygammaOp : Chlo_BinaryOp<"polygamma", "n", "x">;
def Chlo_ZetaOp : Chlo_BinaryOp<"zeta", "x", "q">;
def Chlo_MulhiOp : Chlo_BinaryOp<"mulhi", "lhs", "rhs", G_IntTensor>;

def Chlo_ConstantOp : Chlo_Op<"constant", [ConstantLike, AllTypesMatch<["value", "output"]>]> {
  let arguments = (ins ElementsAttr:$value);
  let results = (outs G_Tensor:$output);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}
def Chlo_TopKOp : Chlo_Op<"top_k"> {
  let arguments = (ins G_Tensor:$operand, I64Attr:$k, DefaultValuedOptionalAttr<BoolAttr, "true">:$is_stable);
  let results = (outs G_Tensor:$values, G_IntTensor:$indices);
  let assemblyFormat = [{
    `(` $operand `,` `k` `=` $k (`,` `is_stable` `=` $is_stable^)? `)` attr-dict `:` type($operand) `->`
    `(` type($values) `,` type($indices) `)`
  }];
  let hasVerifier = 1;
}

class Chlo_EnumAttr<I32EnumAttr e, string mnem> : EnumAttr<Chlo_Dialect, e, mnem>;
def Chlo_PrecisionAttr : Chlo_EnumAttr<G_Precision, "precision">;
def Chlo_RaggedDotDimensionNumbers : AttrDef<Chlo_Dialect, "RaggedDotDimensionNumbers"> {
  let mnemonic = "ragged_dot";
  let parameters = (ins G_Dims:$lhsBatchingDimensions, G_Dims:$rhsBatchingDimensions, G_Dims:$lhsContractingDimensions,
                        G_Dims:$rhsContractingDimensions, G_Dims:$lhsRaggedDimensions, G_Dims:$rhsGroupDimensions);
  let hasCustomAssemblyFormat = 1;
}
def Chlo_RaggedDotOp : Chlo_Op<"ragged_dot"> {
  let arguments = (ins G_Tensor:$lhs, G_Tensor:$rhs, G_IntTensor:$group_sizes,
                       Chlo_RaggedDotDimensionNumbers:$ragged_dot_dimension_numbers,
                       OptionalAttr<TypedArrayAttrBase<Chlo_PrecisionAttr, "precisions">>:$precision_config);
  let results = (outs G_Tensor:$result);
}
def Chlo_ScanOp : Op<Chlo_Dialect, "scan", [AttrSizedOperandSegments, AttrSizedResultSegments, RecursiveMemoryEffects]> {
  let arguments = (ins Variadic<G_Tensor>:$inputs, Variadic<G_Tensor>:$inits, I64Attr:$dimension,
                       OptionalAttr<I64Attr>:$scan_dim_size, DefaultValuedOptionalAttr<BoolAttr, "false">:$is_reverse,
                       OptionalAttr<BoolAttr>:$is_associative);
  let results = (outs Variadic<G_Tensor>:$outputs, Variadic<G_Tensor>:$carries);
  let regions = (region SizedRegion<1>:$body);
}
