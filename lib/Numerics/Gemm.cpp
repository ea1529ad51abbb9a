// The matmul of the Tensor engine (docs/numerics.md: order of a matmul).
#include "glia/Numerics/Gemm.h"

#include <cmath>

namespace glia {

void gemm(GemmOperand stationary, GemmOperand moving, float *out, int64_t outStride, int64_t K, int64_t M, int64_t N,
          bool accumulate) {
  for (int64_t m = 0; m < M; ++m)
    for (int64_t n = 0; n < N; ++n) {
      float acc = 0;
      for (int64_t k = 0; k < K; ++k)
        acc = std::fma(stationary.data[k * stationary.stride + m], moving.data[k * moving.stride + n], acc);
      float &o = out[m * outStride + n];
      o = accumulate ? o + acc : acc;
    }
}

} // namespace glia
