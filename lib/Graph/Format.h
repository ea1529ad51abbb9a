// The parts of the ops' text forms that TableGen cannot express (`custom<...>` in the .td files). Text.cpp has the bodies.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::graph {

using mlir::OpAsmParser;
using mlir::OpAsmPrinter;
using mlir::OperandRange;
using mlir::Operation;
using mlir::ParseResult;
using mlir::Type;
using mlir::TypeRange;
using Types = llvm::SmallVectorImpl<Type>;
using Unresolved = llvm::SmallVectorImpl<OpAsmParser::UnresolvedOperand>;

// One type for all, or `(types) -> type`.
ParseResult parseOneOrAllTypes(OpAsmParser &p, llvm::ArrayRef<Type *> operands, Type &result);
void printOneOrAllTypes(OpAsmPrinter &p, llvm::ArrayRef<Type> operands, Type result);

inline ParseResult parseSameOperandsAndResultType(OpAsmParser &p, Type &a, Type &result) {
  return parseOneOrAllTypes(p, {&a}, result);
}
inline void printSameOperandsAndResultType(OpAsmPrinter &p, Operation *, Type a, Type result) {
  printOneOrAllTypes(p, {a}, result);
}
inline ParseResult parseSameOperandsAndResultType(OpAsmParser &p, Type &a, Type &b, Type &c, Type &result) {
  return parseOneOrAllTypes(p, {&a, &b, &c}, result);
}
inline void printSameOperandsAndResultType(OpAsmPrinter &p, Operation *, Type a, Type b, Type c, Type result) {
  printOneOrAllTypes(p, {a, b, c}, result);
}

ParseResult parseComplexOpType(OpAsmParser &p, Type &lhs, Type &rhs, Type &result);
void printComplexOpType(OpAsmPrinter &p, Operation *, Type lhs, Type rhs, Type result);
ParseResult parseSelectOpType(OpAsmParser &p, Type &pred, Type &onTrue, Type &onFalse, Type &result);
void printSelectOpType(OpAsmPrinter &p, Operation *, Type pred, Type onTrue, Type onFalse, Type result);
ParseResult parseTupleOpType(OpAsmParser &p, Types &operands, Type &result);
void printTupleOpType(OpAsmPrinter &p, Operation *, TypeRange operands, Type result);
ParseResult parsePairwiseOpType(OpAsmParser &p, Types &operands, Types &results);
void printPairwiseOpType(OpAsmPrinter &p, Operation *, TypeRange operands, TypeRange results);
ParseResult parseVariadicSameOperandsAndResultType(OpAsmParser &p, Unresolved &operands, Types &types, Type &result);
void printVariadicSameOperandsAndResultType(OpAsmPrinter &p, Operation *, OperandRange operands, TypeRange types,
                                            Type result);

ParseResult parseExponentMantissa(OpAsmParser &p, mlir::IntegerAttr &exponent, mlir::IntegerAttr &mantissa); // e8m10
void printExponentMantissa(OpAsmPrinter &p, Operation *, mlir::IntegerAttr exponent, mlir::IntegerAttr mantissa);
ParseResult parseSliceRanges(OpAsmParser &p, mlir::DenseI64ArrayAttr &start, mlir::DenseI64ArrayAttr &limit,
                             mlir::DenseI64ArrayAttr &strides); // [0:4:2, 1:3]
void printSliceRanges(OpAsmPrinter &p, Operation *, llvm::ArrayRef<int64_t> start, llvm::ArrayRef<int64_t> limit,
                      llvm::ArrayRef<int64_t> strides);
ParseResult parseVariadicOperandWithAttribute(OpAsmParser &p, Unresolved &operands); // %a, %b, and the last comma
void printVariadicOperandWithAttribute(OpAsmPrinter &p, Operation *, OperandRange operands);
ParseResult parseCustomCallTarget(OpAsmParser &p, mlir::StringAttr &target);
void printCustomCallTarget(OpAsmPrinter &p, Operation *, mlir::StringAttr target);

// ---- contractions and windows (WindowText.cpp) ------------------------------------------------------------------------------
ParseResult parsePrecisionConfig(OpAsmParser &p,
                                 mlir::ArrayAttr &precision); // `, precision = [HIGHEST, HIGHEST]` or nothing
void printPrecisionConfig(OpAsmPrinter &p, Operation *, mlir::ArrayAttr precision);
ParseResult parsePrecisionConfigAndAlgorithm(OpAsmParser &p, mlir::ArrayAttr &precision, DotAlgorithmAttr &algorithm);
void printPrecisionConfigAndAlgorithm(OpAsmPrinter &p, Operation *, mlir::ArrayAttr precision, DotAlgorithmAttr algorithm);
ParseResult parseDotDimensionNumbers(OpAsmParser &p, DotDimensionNumbersAttr &dims); // batching_dims = [0] x [0], ...
void printDotDimensionNumbers(OpAsmPrinter &p, Operation *, DotDimensionNumbersAttr dims);
ParseResult parseConvolutionDimensions(OpAsmParser &p, ConvDimensionNumbersAttr &dims);
void printConvolutionDimensions(OpAsmPrinter &p, Operation *, ConvDimensionNumbersAttr dims);
ParseResult parseWindowAttributes(OpAsmParser &p, mlir::DenseI64ArrayAttr &strides, mlir::DenseIntElementsAttr &padding,
                                  mlir::DenseI64ArrayAttr &lhsDilation, mlir::DenseI64ArrayAttr &rhsDilation,
                                  mlir::DenseBoolArrayAttr &reversal);
void printWindowAttributes(OpAsmPrinter &p, Operation *, mlir::DenseI64ArrayAttr strides, mlir::DenseIntElementsAttr padding,
                           mlir::DenseI64ArrayAttr lhsDilation, mlir::DenseI64ArrayAttr rhsDilation,
                           mlir::DenseBoolArrayAttr reversal);

} // namespace glia::graph
