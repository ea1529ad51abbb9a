// Storage formats to fp32 and back, bit for bit as docs/numerics.md says: round to nearest even; integers saturate and
// NaN becomes 0; a float that overflows becomes infinity, or NaN in formats that have no infinity.
#pragma once
#include "glia/Support/DType.h"

#include <cstddef>
#include <cstdint>

namespace glia {

float toF32(DType t, const void *element);
void fromF32(DType t, float value, void *element);

// `n` elements, `stride` bytes apart on the storage side, adjacent on the fp32 side.
void loadF32(DType t, const void *src, int64_t stride, float *dst, int64_t n);
void storeF32(DType t, const float *src, void *dst, int64_t stride, int64_t n);

// The value a tf32 datapath sees: the 13 low mantissa bits rounded away (to nearest even).
float roundToTF32(float v);

} // namespace glia
