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

inline ParseResult parseOneTypeForAll(OpAsmParser &p, Type &a, Type &result) { return parseOneOrAllTypes(p, {&a}, result); }
inline void printOneTypeForAll(OpAsmPrinter &p, Operation *, Type a, Type result) { printOneOrAllTypes(p, {a}, result); }
inline ParseResult parseOneTypeForAll(OpAsmParser &p, Type &a, Type &b, Type &c, Type &result) {
  return parseOneOrAllTypes(p, {&a, &b, &c}, result);
}
inline void printOneTypeForAll(OpAsmPrinter &p, Operation *, Type a, Type b, Type c, Type result) {
  printOneOrAllTypes(p, {a, b, c}, result);
}

ParseResult parseComplexTypes(OpAsmParser &p, Type &lhs, Type &rhs, Type &result);
void printComplexTypes(OpAsmPrinter &p, Operation *, Type lhs, Type rhs, Type result);
ParseResult parseSelectTypes(OpAsmParser &p, Type &pred, Type &onTrue, Type &onFalse, Type &result);
void printSelectTypes(OpAsmPrinter &p, Operation *, Type pred, Type onTrue, Type onFalse, Type result);
ParseResult parseTupleTypes(OpAsmParser &p, Types &operands, Type &result);
void printTupleTypes(OpAsmPrinter &p, Operation *, TypeRange operands, Type result);
ParseResult parseTypesInPairs(OpAsmParser &p, Types &operands, Types &results);
void printTypesInPairs(OpAsmPrinter &p, Operation *, TypeRange operands, TypeRange results);
ParseResult parseOneTypeForMany(OpAsmParser &p, Unresolved &operands, Types &types, Type &result);
void printOneTypeForMany(OpAsmPrinter &p, Operation *, OperandRange operands, TypeRange types, Type result);

ParseResult parseFloatFormat(OpAsmParser &p, mlir::IntegerAttr &exponent, mlir::IntegerAttr &mantissa); // e8m10
void printFloatFormat(OpAsmPrinter &p, Operation *, mlir::IntegerAttr exponent, mlir::IntegerAttr mantissa);
ParseResult parseRanges(OpAsmParser &p, mlir::DenseI64ArrayAttr &start, mlir::DenseI64ArrayAttr &limit,
                        mlir::DenseI64ArrayAttr &strides); // [0:4:2, 1:3]
void printRanges(OpAsmPrinter &p, Operation *, llvm::ArrayRef<int64_t> start, llvm::ArrayRef<int64_t> limit,
                 llvm::ArrayRef<int64_t> strides);
ParseResult parseOperandsThenAttributes(OpAsmParser &p, Unresolved &operands); // %a, %b, and the last comma
void printOperandsThenAttributes(OpAsmPrinter &p, Operation *, OperandRange operands);
ParseResult parseCallTarget(OpAsmParser &p, mlir::StringAttr &target);
void printCallTarget(OpAsmPrinter &p, Operation *, mlir::StringAttr target);

// ---- contractions and windows (WindowText.cpp) ------------------------------------------------------------------------------
ParseResult parsePrecisionList(OpAsmParser &p,
                               mlir::ArrayAttr &precision); // `, precision = [HIGHEST, HIGHEST]` or nothing
void printPrecisionList(OpAsmPrinter &p, Operation *, mlir::ArrayAttr precision);
ParseResult parsePrecisionThenAlgorithm(OpAsmParser &p, mlir::ArrayAttr &precision, DotAlgorithmAttr &algorithm);
void printPrecisionThenAlgorithm(OpAsmPrinter &p, Operation *, mlir::ArrayAttr precision, DotAlgorithmAttr algorithm);
ParseResult parseDotAxes(OpAsmParser &p, DotDimensionNumbersAttr &dims); // batching_dims = [0] x [0], ...
void printDotAxes(OpAsmPrinter &p, Operation *, DotDimensionNumbersAttr dims);
ParseResult parseConvAxes(OpAsmParser &p, ConvDimensionNumbersAttr &dims);
void printConvAxes(OpAsmPrinter &p, Operation *, ConvDimensionNumbersAttr dims);
ParseResult parseWindowFields(OpAsmParser &p, mlir::DenseI64ArrayAttr &strides, mlir::DenseIntElementsAttr &padding,
                              mlir::DenseI64ArrayAttr &lhsDilation, mlir::DenseI64ArrayAttr &rhsDilation,
                              mlir::DenseBoolArrayAttr &reversal);
void printWindowFields(OpAsmPrinter &p, Operation *, mlir::DenseI64ArrayAttr strides, mlir::DenseIntElementsAttr padding,
                       mlir::DenseI64ArrayAttr lhsDilation, mlir::DenseI64ArrayAttr rhsDilation,
                       mlir::DenseBoolArrayAttr reversal);

} // namespace glia::graph
