// What the generated classes of the graph dialects call: tests of types, and the text and checks that element-wise ops share.
#pragma once
#include "mlir/IR/OpImplementation.h"

namespace glia::graph {

// ---- types (lib/Graph/Types.cpp): ranked tensors of static shape, by element ------------------------------------------------
bool isElement(mlir::Type element); // i1, integers of 2 to 64 bits, floats of 4 to 64 bits, complex<f32>, complex<f64>
bool isTensor(mlir::Type type);
bool isIntTensor(mlir::Type type); // not i1
bool isPredTensor(mlir::Type type);
bool isBitsTensor(mlir::Type type); // integers and i1
bool isFloatTensor(mlir::Type type);
bool isRealTensor(mlir::Type type); // integers, i1 and floats
bool isComplexTensor(mlir::Type type);
bool isFloatOrComplexTensor(mlir::Type type);
bool isNumberTensor(mlir::Type type); // not i1
bool isScalar(mlir::Type type);
bool isIntScalar(mlir::Type type);
bool isIndexTensor(mlir::Type type); // integers or index
bool isValue(mlir::Type type);

// ---- text (lib/Graph/Text.cpp) ----------------------------------------------------------------------------------------------
// `%a, %b {attributes} : type`, or `: (types) -> type` when the types differ.
mlir::ParseResult parseElementwise(mlir::OpAsmParser &p, mlir::OperationState &state);
void printElementwise(mlir::OpAsmPrinter &p, mlir::Operation *op);
// `%a, %b {attributes} : type, type -> type`.
mlir::ParseResult parseArrowForm(mlir::OpAsmParser &p, mlir::OperationState &state);
void printArrowForm(mlir::OpAsmPrinter &p, mlir::Operation *op);

// ---- checks (lib/Graph/VerifyElementwise.cpp) -------------------------------------------------------------------------------
llvm::LogicalResult verifySameType(mlir::Operation *op);  // of all operands and results
llvm::LogicalResult verifySameShape(mlir::Operation *op); // element types may differ

} // namespace glia::graph
