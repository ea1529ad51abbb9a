// Numbers, element types and constants in the text form.
#pragma once
#include "glia/Dialect/Nisa.h"

#include <string>

namespace glia::nisa {

// The shortest text that reads back as the same bits: 2.0, 1.0e-05, -inf, nan, or 0x7fc00001 (the bits).
std::string numberText(float v);
// Whole numbers are taken too.
mlir::ParseResult parseNumber(mlir::AsmParser &p, llvm::StringRef what, float &out);
mlir::ParseResult parseIntegerIn(mlir::AsmParser &p, llvm::StringRef what, int64_t lo, int64_t hi, int64_t &out);
bool nextIs(mlir::AsmParser &p, char c); // the next character of the text
bool nextIsNumber(mlir::AsmParser &p);

mlir::ParseResult parseElementType(mlir::AsmParser &p, DType &out);
// f32[128, 512]
mlir::ParseResult parseTensor(mlir::AsmParser &p, Space space, TensorType &out);
void printTensor(mlir::AsmPrinter &p, TensorType t);
llvm::StringRef spaceName(Space s);

// [1, 2, 3] or hex"0011aabb"
mlir::ParseResult parseConstant(mlir::AsmParser &p, TensorType type, llvm::SmallVectorImpl<int8_t> &out);
void printConstant(mlir::AsmPrinter &p, TensorType type, llvm::ArrayRef<int8_t> data);

} // namespace glia::nisa
