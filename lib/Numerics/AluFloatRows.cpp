// Rows of fp32.
#include "Numerics/Simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "Numerics/AluFloatRows.cpp"
#include <hwy/foreach_target.h>
#include "Numerics/AluRows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glia::HWY_NAMESPACE {

AluKernel<float> floatKernel(AluOp op) {
  switch (op) {
  // Within a sum or product any NaN will do; reduceRow() makes it the one NaN at the end.
  case AluOp::Add: return reducible<Add, float, RawAdd>();
  case AluOp::Subtract: return kernel<Subtract, float>();
  case AluOp::Multiply: return reducible<Multiply, float, RawMultiply>();
  case AluOp::Max: return reducible<Max, float>();
  case AluOp::Min: return reducible<Min, float>();
  case AluOp::AbsMax: return reducible<AbsMax, float>();
  case AluOp::AbsMin: return reducible<AbsMin, float>();
  case AluOp::Power: return kernel<Wide<Power64>, float>();
  case AluOp::Square: return kernel<Square, float>();
  case AluOp::Abs: return kernel<Abs, float>();
  case AluOp::Relu: return kernel<Relu, float>();
  case AluOp::Rsqrt: return kernel<Wide<Rsqrt64>, float>();
  case AluOp::Reciprocal: return kernel<Reciprocal, float>();
  default: return shared<float>(op);
  }
}

} // namespace glia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glia {
HWY_EXPORT(floatKernel);
AluKernel<float> aluKernel(AluOp op) { return HWY_DYNAMIC_DISPATCH(floatKernel)(op); }
} // namespace glia
#endif
