// What the row kernels share, compiled once per instruction set: fused multiply-add that is fused everywhere, the one NaN
// every operation gives, and loops over rows with their tails.
#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(GLIA_NUMERICS_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GLIA_NUMERICS_VECTOR_INL_H
#undef GLIA_NUMERICS_VECTOR_INL_H
#else
#define GLIA_NUMERICS_VECTOR_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace glia::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D> constexpr size_t kLanes = hn::MaxLanes(D());

// a * b + c with one rounding. The portable set would round twice.
template <class D, class V = hn::Vec<D>> HWY_INLINE V fma([[maybe_unused]] D d, V a, V b, V c) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  using T = hn::TFromD<D>;
  T x[kLanes<D>], y[kLanes<D>], z[kLanes<D>];
  hn::StoreU(a, d, x);
  hn::StoreU(b, d, y);
  hn::StoreU(c, d, z);
  for (size_t i = 0; i < hn::Lanes(d); ++i)
    z[i] = std::fma(x[i], y[i], z[i]);
  return hn::LoadU(d, z);
#else
  return hn::MulAdd(a, b, c);
#endif
}

// fp64 to fp32. The portable set would turn infinity into the largest number.
template <class D, class V> HWY_INLINE hn::Vec<D> narrow(D d, V v) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  const hn::Rebind<double, D> dd;
  double wide[kLanes<D>];
  float x[kLanes<D>];
  hn::StoreU(v, dd, wide);
  for (size_t i = 0; i < kLanes<D>; ++i)
    x[i] = static_cast<float>(wide[i]);
  return hn::LoadU(d, x);
#else
  return hn::DemoteTo(d, v);
#endif
}

// F on fp32 vectors, computed in fp64: a vector widens to two, one element (the plain C++ set) to one.
template <class F, class D, class... V> HWY_INLINE hn::Vec<D> inDouble(D d, V... v) {
#if HWY_TARGET == HWY_SCALAR
  const hn::Rebind<double, D> dd;
  return narrow(d, F()(dd, hn::PromoteTo(dd, v)...));
#else
  const hn::Half<D> dh;
  const hn::Rebind<double, decltype(dh)> dd;
  const auto low = F()(dd, hn::PromoteTo(dd, hn::LowerHalf(dh, v))...);
  const auto high = F()(dd, hn::PromoteTo(dd, hn::UpperHalf(dh, v))...);
  return hn::Combine(d, narrow(dh, high), narrow(dh, low));
#endif
}

// Hosts differ in the sign and payload of the NaN they make; ours is always 0x7FC00000.
template <class D, class V = hn::Vec<D>> HWY_INLINE V oneNaN(D d, V v) {
  const hn::RebindToUnsigned<D> du;
  return hn::IfThenElse(hn::Eq(v, v), v, hn::BitCast(d, hn::Set(du, 0x7FC00000u)));
}

// The operands of a row kernel: a row, or one value for all elements.
template <class T> struct RowInput {
  const T *data;
  template <class D> HWY_INLINE hn::Vec<D> load(D d, int64_t i) const { return hn::LoadU(d, data + i); }
  template <class D> HWY_INLINE hn::Vec<D> loadTail(D d, int64_t i, int64_t count) const {
    T buffer[kLanes<D>] = {};
    std::memcpy(buffer, data + i, static_cast<size_t>(count) * sizeof(T));
    return hn::LoadU(d, buffer);
  }
};
template <class T> struct ScalarInput {
  T value;
  template <class D> HWY_INLINE hn::Vec<D> load(D d, int64_t) const { return hn::Set(d, value); }
  template <class D> HWY_INLINE hn::Vec<D> loadTail(D d, int64_t, int64_t) const { return hn::Set(d, value); }
};

template <class D, class V, class T> HWY_INLINE void storeTail(D d, V v, T *out, int64_t count) {
  T buffer[kLanes<D>];
  hn::StoreU(v, d, buffer);
  std::memcpy(out, buffer, static_cast<size_t>(count) * sizeof(T));
}

// out[i] = op(a[i], b[i]). Two vectors a turn, so that `out` may be `a` or `b`.
template <class D, class Op, class A, class B, class T>
HWY_INLINE void mapRows(D d, const Op &op, A a, B b, T *out, int64_t n) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto v0 = op(d, a.load(d, i), b.load(d, i));
    const auto v1 = op(d, a.load(d, i + lanes), b.load(d, i + lanes));
    hn::StoreU(v0, d, out + i);
    hn::StoreU(v1, d, out + i + lanes);
  }
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(op(d, a.load(d, i), b.load(d, i)), d, out + i);
  if (i < n)
    storeTail(d, op(d, a.loadTail(d, i, n - i), b.loadTail(d, i, n - i)), out + i, n - i);
}

} // namespace glia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif // once per target
