// Integer arithmetic on a tile. The Vector engine computes in fp32, which is exact for 8 and 16 bits; 32-bit integers add, subtract,
// multiply and compare exactly on GpSimd. There is no division, no arithmetic shift and no count of bits: they are made here.
#pragma once
#include "RowsLanes.h"

namespace glia::emit {

// Operations on integers (not i1) that are written here; RowsLanes does the others, and all of i1.
bool isIntegerOperation(mlir::Operation *op);
void integerPointwise(RowsLanes &lanes, mlir::Operation *op, llvm::ArrayRef<Lane> in, const Tile &dst);

// The low bytes of wider integers: how they wrap.
void lowBytes(KernelBuilder &k, const Tile &dst, const Tile &wide);
// The 32-bit type that holds a type's values.
DType widened(DType t);

} // namespace glia::emit
