// The row loops of one operation for the host's instruction set. Null where the operation has none for that type (bit
// operations on fp32 rows run as integers).
#pragma once
#include "glia/Numerics/Alu.h"

namespace glia {

template <class T> struct AluKernel {
  void (*row)(const T *a, const T *b, T *out, int64_t n) = nullptr;
  void (*rowScalar)(const T *a, T b, bool reverse, T *out, int64_t n) = nullptr;
  T (*reduce)(const T *a, int64_t n) = nullptr;
};
AluKernel<float> aluKernel(AluOp op);
AluKernel<int32_t> aluSignedKernel(AluOp op);
AluKernel<uint32_t> aluUnsignedKernel(AluOp op);

} // namespace glia
