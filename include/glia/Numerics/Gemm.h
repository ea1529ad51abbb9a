// The matmul of the Tensor engine: out[m][n] (+)= sum over k ascending of stationary[k][m] * moving[k][n], one fused
// multiply-add per k, starting from 0 (or from out when accumulating: the sum is formed first, then added once).
#pragma once
#include <cstdint>

namespace glia {

struct GemmOperand { // fp32 or bf16 values, row k at data + k * stride
  const void *data;
  int64_t stride; // in values
  bool bf16 = false;
  const int32_t *columns = nullptr; // where in its row each column is, in values; null: they are adjacent
};

// out row m at out + m * outStride (in floats). Any sizes >= 1.
void gemm(GemmOperand stationary, GemmOperand moving, float *out, int64_t outStride, int64_t K, int64_t M, int64_t N,
          bool accumulate);

} // namespace glia
