// Rows of unsigned integers.
#include "Numerics/Simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "Numerics/AluUnsignedRows.cpp"
#include <hwy/foreach_target.h>
#include "Numerics/AluRows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glia::HWY_NAMESPACE {

AluKernel<uint32_t> unsignedKernel(AluOp op) { return integer<uint32_t>(op); }

} // namespace glia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glia {
HWY_EXPORT(unsignedKernel);
AluKernel<uint32_t> aluUnsignedKernel(AluOp op) { return HWY_DYNAMIC_DISPATCH(unsignedKernel)(op); }
} // namespace glia
#endif
