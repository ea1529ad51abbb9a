// The matmul of the Tensor engine (docs/numerics.md: order of a matmul). Output tiles stay in registers while k runs; what a
// tile reads is first gathered into panels without gaps, because the rows of the operands may lie a whole SBUF partition
// apart. Each output is one chain of fused multiply-adds over ascending k, whatever the tile shape.
#include "glia/Numerics/Gemm.h"
#include "Numerics/Simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "Numerics/Gemm.cpp"
#include <hwy/foreach_target.h>
#include "Numerics/Vector-inl.h"

#include <hwy/aligned_allocator.h>
#include <hwy/cache_control.h>

HWY_BEFORE_NAMESPACE();
namespace glia::HWY_NAMESPACE {

using Df = hn::ScalableTag<float>;
using Vf = hn::Vec<Df>;

// Rows of a tile: as many as leave registers for two vectors of the panel and one broadcast value.
#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 12;
#elif HWY_TARGET == HWY_NEON
constexpr int kRows = 8;
#else
constexpr int kRows = 6;
#endif
constexpr int kVectors = 2;
constexpr int64_t kColumns = kVectors * static_cast<int64_t>(kLanes<Df>);

struct Tile {
  const float *stationary; // [k][row]
  const float *moving;     // [k][kColumns]
  float *out;
  int64_t outStride, K, columns;
  bool accumulate;
};

template <int R> void tile(const Tile &t) {
  const Df d;
  constexpr int64_t lanes = static_cast<int64_t>(kLanes<Df>);
  Vf acc[R][kVectors];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < kVectors; ++v)
      acc[r][v] = hn::Zero(d);
  const float *a = t.stationary, *b = t.moving;
  for (int64_t k = 0; k < t.K; ++k, a += R, b += kColumns) {
    const Vf b0 = hn::LoadU(d, b), b1 = hn::LoadU(d, b + lanes);
    for (int r = 0; r < R; ++r) {
      const Vf x = hn::Set(d, a[r]);
      acc[r][0] = fma(d, x, b0, acc[r][0]);
      acc[r][1] = fma(d, x, b1, acc[r][1]);
    }
  }
  HWY_UNROLL(16)
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < kVectors; ++v) {
      float *o = t.out + r * t.outStride + v * lanes;
      const int64_t left = t.columns - v * lanes;
      if (left >= lanes) {
        hn::StoreU(oneNaN(d, t.accumulate ? hn::Add(hn::LoadU(d, o), acc[r][v]) : acc[r][v]), d, o);
      } else if (left > 0) {
        const Vf sum = t.accumulate ? hn::Add(RowInput<float>{o}.loadTail(d, 0, left), acc[r][v]) : acc[r][v];
        storeTail(d, oneNaN(d, sum), o, left);
      }
    }
}

template <int R> void lastTile(const Tile &t, int64_t rows) {
  if constexpr (R > 0) {
    if (rows == R)
      tile<R>(t);
    else
      lastTile<R - 1>(t, rows);
  }
}

HWY_INLINE float widened(float x) { return x; }
HWY_INLINE float widened(uint16_t x) { // bf16 is the upper half of fp32
  const uint32_t bits = static_cast<uint32_t>(x) << 16;
  float out;
  std::memcpy(&out, &bits, 4);
  return out;
}

// `Width` elements from `first` on, of every k, without gaps.
// Rows lie pages apart, where hardware does not look ahead: what the next panel takes of a row is asked for here.
template <int64_t Width, class T> HWY_INLINE void gather(const T *row, int64_t stride, int64_t K, float *to) {
  constexpr int64_t line = 64 / sizeof(T);
  for (int64_t k = 0; k < K; ++k, row += stride, to += Width) {
    for (int64_t i = 0; i < Width; i += line)
      hwy::Prefetch(row + Width + i);
    for (int64_t i = 0; i < Width; ++i)
      to[i] = widened(row[i]);
  }
}
// The same for columns that lie apart. Mostly a panel falls into one run of adjacent ones.
template <int64_t Width, class T>
void gather(const T *row, int64_t stride, const int32_t *columns, int64_t first, int64_t K, float *HWY_RESTRICT to) {
  if (!columns)
    return gather<Width>(row + first, stride, K, to);
  columns += first;
  bool adjacent = true;
  for (int64_t i = 1; i < Width; ++i)
    adjacent &= columns[i] == columns[0] + i;
  if (adjacent)
    return gather<Width>(row + columns[0], stride, K, to);
  for (int64_t k = 0; k < K; ++k, row += stride, to += Width)
    for (int64_t i = 0; i < Width; ++i)
      to[i] = widened(row[columns[i]]);
}
template <int64_t Width> void gather(GemmOperand from, int64_t first, int64_t K, float *to) {
  if (from.bf16)
    gather<Width>(static_cast<const uint16_t *>(from.data), from.stride, from.columns, first, K, to);
  else
    gather<Width>(static_cast<const float *>(from.data), from.stride, from.columns, first, K, to);
}

// The same for `count` elements in panels of `width`, the missing ones zero.
template <class T>
void gatherPart(const T *row, int64_t stride, const int32_t *columns, int64_t first, int64_t count, int64_t width, int64_t K,
                float *to) {
  for (int64_t k = 0; k < K; ++k, row += stride, to += width)
    for (int64_t i = 0; i < width; ++i)
      to[i] = i < count ? widened(row[columns ? columns[first + i] : first + i]) : 0;
}
void gatherPart(GemmOperand from, int64_t first, int64_t count, int64_t width, int64_t K, float *to) {
  if (from.bf16)
    gatherPart(static_cast<const uint16_t *>(from.data), from.stride, from.columns, first, count, width, K, to);
  else
    gatherPart(static_cast<const float *>(from.data), from.stride, from.columns, first, count, width, K, to);
}

void gemmTarget(GemmOperand stationary, GemmOperand moving, float *out, int64_t outStride, int64_t K, int64_t M, int64_t N,
                bool accumulate) {
  static thread_local hwy::AlignedFreeUniquePtr<float[]> space; // aligned: a vector of a panel is one cache line
  static thread_local int64_t spaceSize = 0;
  const int64_t needed = K * (M + kColumns);
  if (spaceSize < needed) {
    space = hwy::AllocateAligned<float>(static_cast<size_t>(needed));
    spaceSize = needed;
  }
  float *const columnsPanel = space.get(), *const rowPanels = columnsPanel + K * kColumns;
  for (int64_t m = 0; m < M; m += kRows) {
    if (M - m >= kRows)
      gather<kRows>(stationary, m, K, rowPanels + m * K);
    else
      gatherPart(stationary, m, M - m, M - m, K, rowPanels + m * K);
  }
  for (int64_t n = 0; n < N; n += kColumns) {
    const int64_t columns = N - n < kColumns ? N - n : kColumns;
    if (columns == kColumns)
      gather<kColumns>(moving, n, K, columnsPanel);
    else
      gatherPart(moving, n, columns, kColumns, K, columnsPanel);
    for (int64_t m = 0; m < M; m += kRows) {
      const Tile t{rowPanels + m * K, columnsPanel, out + m * outStride + n, outStride, K, columns, accumulate};
      if (M - m >= kRows)
        tile<kRows>(t);
      else
        lastTile<kRows - 1>(t, M - m);
    }
  }
}

} // namespace glia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glia {
HWY_EXPORT(gemmTarget);
void gemm(GemmOperand stationary, GemmOperand moving, float *out, int64_t outStride, int64_t K, int64_t M, int64_t N,
          bool accumulate) {
  HWY_DYNAMIC_DISPATCH(gemmTarget)(stationary, moving, out, outStride, K, M, N, accumulate);
}
} // namespace glia
#endif
