// Ops that compute each element of the result from the elements at the same place.
include "glia/Graph/Base.td"

// The text form is shared: `%a, %b : type` when all types are equal, else `%a, %b : (types) -> type`.
class G_ElementwiseOp<string mnemonic, list<Trait> traits = []> : G_PureOp<mnemonic, traits> {
  code sharedForm = [{
    static ::mlir::ParseResult parse(::mlir::OpAsmParser &p, ::mlir::OperationState &s) {
      return ::glia::graph::parseElementwise(p, s);
    }
    void print(::mlir::OpAsmPrinter &p) { ::glia::graph::printElementwise(p, *this); }
  }];
  code sameType = [{
    ::llvm::LogicalResult verify() { return ::glia::graph::verifySameType(*this); }
  }];
  let extraClassDeclaration = sharedForm # sameType;
}
class G_UnaryOp<string mnemonic, Type type> : G_ElementwiseOp<mnemonic> {
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
}
class G_AccurateUnaryOp<string mnemonic, Type type = G_FloatOrComplexTensor> : G_UnaryOp<mnemonic, type> {
  let arguments = (ins type:$operand, G_OptionalAccuracy:$result_accuracy);
}
class G_BinaryOp<string mnemonic, Type type, list<Trait> traits = []> : G_ElementwiseOp<mnemonic, traits> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
}

def G_CbrtOp : G_AccurateUnaryOp<"cbrt">;
def G_CeilOp : G_UnaryOp<"ceil", G_FloatTensor>;
def G_ClzOp : G_UnaryOp<"count_leading_zeros", G_IntTensor>;
def G_CosineOp : G_AccurateUnaryOp<"cosine">;
def G_ExpOp : G_AccurateUnaryOp<"exponential">;
def G_Expm1Op : G_AccurateUnaryOp<"exponential_minus_one">;
def G_FloorOp : G_UnaryOp<"floor", G_FloatTensor>;
def G_LogOp : G_AccurateUnaryOp<"log">;
def G_Log1pOp : G_AccurateUnaryOp<"log_plus_one">;
def G_LogisticOp : G_AccurateUnaryOp<"logistic">;
def G_NegOp : G_UnaryOp<"negate", G_NumberTensor>;
def G_NotOp : G_UnaryOp<"not", G_BitsTensor>;
def G_PopulationCountOp : G_UnaryOp<"popcnt", G_IntTensor>;
def G_RoundOp : G_UnaryOp<"round_nearest_afz", G_FloatTensor>;
def G_RoundNearestEvenOp : G_UnaryOp<"round_nearest_even", G_FloatTensor>;
def G_RsqrtOp : G_AccurateUnaryOp<"rsqrt">;
def G_SignOp : G_UnaryOp<"sign", G_NumberTensor>;
def G_SineOp : G_AccurateUnaryOp<"sine">;
def G_SqrtOp : G_AccurateUnaryOp<"sqrt">;
def G_TanOp : G_AccurateUnaryOp<"tan">;
def G_TanhOp : G_AccurateUnaryOp<"tanh">;

def G_AddOp : G_BinaryOp<"add", G_Tensor, [Commutative]>;
def G_AndOp : G_BinaryOp<"and", G_BitsTensor, [Commutative]>;
def G_Atan2Op : G_BinaryOp<"atan2", G_FloatOrComplexTensor>;
def G_DivOp : G_BinaryOp<"divide", G_NumberTensor>;
def G_MaxOp : G_BinaryOp<"maximum", G_Tensor, [Commutative]>;
def G_MinOp : G_BinaryOp<"minimum", G_Tensor, [Commutative]>;
def G_MulOp : G_BinaryOp<"multiply", G_Tensor, [Commutative]>;
def G_OrOp : G_BinaryOp<"or", G_BitsTensor, [Commutative]>;
def G_PowOp : G_BinaryOp<"power", G_NumberTensor>;
def G_RemOp : G_BinaryOp<"remainder", G_RealTensor>;
def G_ShiftLeftOp : G_BinaryOp<"shift_left", G_IntTensor>;
def G_ShiftRightArithmeticOp : G_BinaryOp<"shift_right_arithmetic", G_IntTensor>;
def G_ShiftRightLogicalOp : G_BinaryOp<"shift_right_logical", G_IntTensor>;
def G_SubtractOp : G_BinaryOp<"subtract", G_NumberTensor>;
def G_XorOp : G_BinaryOp<"xor", G_BitsTensor, [Commutative]>;

// Results of another element type.
class G_ConvertingOp<string mnemonic, Type from, Type to> : G_ElementwiseOp<mnemonic> {
  let arguments = (ins from:$operand);
  let results = (outs to:$result);
  let extraClassDeclaration = sharedForm;
  let hasVerifier = 1;
}
def G_AbsOp : G_ConvertingOp<"abs", G_NumberTensor, G_RealTensor>;
def G_ConvertOp : G_ConvertingOp<"convert", G_Tensor, G_Tensor>;
def G_ImagOp : G_ConvertingOp<"imag", G_FloatOrComplexTensor, G_FloatTensor>;
def G_RealOp : G_ConvertingOp<"real", G_FloatOrComplexTensor, G_FloatTensor>;
def G_IsFiniteOp : G_ConvertingOp<"is_finite", G_FloatTensor, G_PredTensor> {
  let arguments = (ins G_FloatTensor:$x);
  let results = (outs G_PredTensor:$y);
}
def G_ComplexOp : G_PureOp<"complex"> {
  let arguments = (ins G_FloatTensor:$lhs, G_FloatTensor:$rhs);
  let results = (outs G_ComplexTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` custom<ComplexTypes>(type($lhs), type($rhs), type($result))";
  let hasVerifier = 1;
}
def G_ReducePrecisionOp : G_PureOp<"reduce_precision"> {
  let arguments = (ins G_FloatTensor:$operand, I32Attr:$exponent_bits, I32Attr:$mantissa_bits);
  let results = (outs G_FloatTensor:$output);
  let assemblyFormat = [{
    $operand `,` `format` `=` custom<FloatFormat>($exponent_bits, $mantissa_bits) attr-dict `:`
    custom<OneTypeForAll>(type($operand), type($output))
  }];
  let hasVerifier = 1;
}
def G_CompareOp : G_PureOp<"compare"> {
  let arguments = (ins G_Tensor:$lhs, G_Tensor:$rhs, G_ComparisonDirectionAttr:$comparison_direction,
                       OptionalAttr<G_ComparisonTypeAttr>:$compare_type);
  let results = (outs G_PredTensor);
  let assemblyFormat = [{
    $comparison_direction `,` $lhs `,` $rhs (`,` $compare_type^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}
def G_SelectOp : G_PureOp<"select"> {
  let arguments = (ins G_PredTensor:$pred, G_Tensor:$on_true, G_Tensor:$on_false);
  let results = (outs G_Tensor:$result);
  let assemblyFormat = [{
    operands attr-dict `:` custom<SelectTypes>(type($pred), type($on_true), type($on_false), type($result))
  }];
  let hasVerifier = 1;
}
def G_ClampOp : G_PureOp<"clamp"> {
  let arguments = (ins G_Tensor:$min, G_Tensor:$operand, G_Tensor:$max);
  let results = (outs G_Tensor:$result);
  let assemblyFormat = [{
    $min `,` $operand `,` $max attr-dict `:`
    custom<OneTypeForAll>(type($min), type($operand), type($max), type($result))
  }];
  let hasVerifier = 1;
}
