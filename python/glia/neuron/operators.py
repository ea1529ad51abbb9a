"""What `neuronx-cc list-operators` prints: the operators of XLA that a module may hold, in the spelling of XlaBuilder."""

OPERATORS = tuple(
    """
    Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan2 Atanh BatchNormGrad BatchNormInference BatchNormTraining BitcastConvertType
    Broadcast BroadcastInDim Call Cbrt Ceil Clamp Clz Concat Conditional Constant ConvGeneralDilated ConvertElementType Cos Cosh
    CustomCall Div Dot DotGeneral DynamicSlice DynamicUpdateSlice Eq Erf Exp Expm1 Floor Gather Ge GetTupleElement Gt Iota IsFinite Le
    Log Log1p Logistic Lt Map Max Min Mul Ne Neg Not OptimizationBarrier Or Pad Parameter PopulationCount Pow Reduce ReducePrecision
    ReduceWindow Rem Reshape Rev RngBitGenerator Round RoundNearestEven Rsqrt Scatter Select SelectAndScatterWithGeneralPadding
    ShiftLeft ShiftRightArithmetic ShiftRightLogical Sign Sin Sinh Slice Sort Sqrt Sub Tan Tanh TopK Transpose Tuple While Xor
    """.split()
)
