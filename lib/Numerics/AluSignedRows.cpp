// Rows of signed integers.
#include "Numerics/Simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "Numerics/AluSignedRows.cpp"
#include <hwy/foreach_target.h>
#include "Numerics/AluRows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glia::HWY_NAMESPACE {

AluKernel<int32_t> signedKernel(AluOp op) { return integer<int32_t>(op); }

} // namespace glia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glia {
HWY_EXPORT(signedKernel);
AluKernel<int32_t> aluSignedKernel(AluOp op) { return HWY_DYNAMIC_DISPATCH(signedKernel)(op); }
} // namespace glia
#endif
