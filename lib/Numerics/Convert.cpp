// Rows of storage formats to fp32 and back. The loops are plain C++ over ConvertElement.h; compiling this file once per
// instruction set lets the compiler use the widest vectors of each.
#include "glia/Numerics/Convert.h"
#include "Numerics/ConvertElement.h"
#include "Numerics/Simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "Numerics/Convert.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace glia::HWY_NAMESPACE {

template <DType T> void load(const void *src, int64_t stride, float *dst, int64_t n) {
  using E = element::Element<T>;
  using Storage = typename E::Storage;
  auto *p = static_cast<const unsigned char *>(src);
  if (stride == sizeof(Storage)) { // its own loop: only this one becomes vector code
    for (int64_t i = 0; i < n; ++i) {
      Storage s;
      std::memcpy(&s, p + i * static_cast<int64_t>(sizeof s), sizeof s);
      dst[i] = E::load(s);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    Storage s;
    std::memcpy(&s, p + i * stride, sizeof s);
    dst[i] = E::load(s);
  }
}

template <DType T> void store(const float *src, void *dst, int64_t stride, int64_t n) {
  using E = element::Element<T>;
  using Storage = typename E::Storage;
  auto *p = static_cast<unsigned char *>(dst);
  if (stride == sizeof(Storage)) {
    for (int64_t i = 0; i < n; ++i) {
      const Storage s = E::store(src[i]);
      std::memcpy(p + i * static_cast<int64_t>(sizeof s), &s, sizeof s);
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const Storage s = E::store(src[i]);
    std::memcpy(p + i * stride, &s, sizeof s);
  }
}

#define GLIA_EACH_DTYPE(f)                                                                                                  \
  f<DType::F32>, f<DType::TF32>, f<DType::BF16>, f<DType::F16>, f<DType::F8E4M3>, f<DType::F8E4M3FN>, f<DType::F8E5M2>,     \
      f<DType::F8E3M4>, f<DType::I8>, f<DType::U8>, f<DType::I16>, f<DType::U16>, f<DType::I32>, f<DType::U32>,             \
      f<DType::I64>, f<DType::U64>

void loadRow(DType t, const void *src, int64_t stride, float *dst, int64_t n) {
  static constexpr void (*table[kNumDTypes])(const void *, int64_t, float *, int64_t) = {GLIA_EACH_DTYPE(load)};
  table[static_cast<int>(t)](src, stride, dst, n);
}
void storeRow(DType t, const float *src, void *dst, int64_t stride, int64_t n) {
  static constexpr void (*table[kNumDTypes])(const float *, void *, int64_t, int64_t) = {GLIA_EACH_DTYPE(store)};
  table[static_cast<int>(t)](src, dst, stride, n);
}
#undef GLIA_EACH_DTYPE

} // namespace glia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glia {
namespace {
HWY_EXPORT(loadRow);
HWY_EXPORT(storeRow);
} // namespace

float roundToTF32(float v) { return element::roundTF32(v); }

void loadF32(DType t, const void *src, int64_t stride, float *dst, int64_t n) {
  if (t == DType::F32 && stride == sizeof(float)) {
    std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(float));
    return;
  }
  HWY_DYNAMIC_DISPATCH(loadRow)(t, src, stride, dst, n);
}
void storeF32(DType t, const float *src, void *dst, int64_t stride, int64_t n) {
  if (t == DType::F32 && stride == sizeof(float)) {
    std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(float));
    return;
  }
  HWY_DYNAMIC_DISPATCH(storeRow)(t, src, dst, stride, n);
}

float toF32(DType t, const void *element) {
  float v;
  loadF32(t, element, sizeOf(t), &v, 1);
  return v;
}
void fromF32(DType t, float value, void *element) { storeF32(t, &value, element, sizeOf(t), 1); }

} // namespace glia
#endif
