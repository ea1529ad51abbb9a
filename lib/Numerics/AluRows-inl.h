// The two-operand operations on rows and the reduction of rows, with the same meaning as alu() and aluInt() in Alu.cpp.
// A reduction always runs in 64 lanes, however many the host has, so that its order of operations is one and the same.
// Each type is a file of its own: for all instruction sets of hosts, they take long to compile.
#include "Numerics/AluKernels.h"
#include "Numerics/Math-inl.h"
#include "glia/Numerics/Alu.h"

#if defined(GLIA_NUMERICS_ALU_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GLIA_NUMERICS_ALU_ROWS_INL_H
#undef GLIA_NUMERICS_ALU_ROWS_INL_H
#else
#define GLIA_NUMERICS_ALU_ROWS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace glia::HWY_NAMESPACE {
namespace {

#define OPERATION(name)                                                                                                     \
  struct name {                                                                                                             \
    template <class D, class V> HWY_INLINE V operator()([[maybe_unused]] D d, V a, [[maybe_unused]] V b) const

// --- fp32
template <class D, class V, class M> HWY_INLINE V pick(D d, M first, V a, V b) { // NaN if either is NaN
  const V r = hn::IfThenElse(first, a, b);
  return oneNaN(d, hn::IfThenElse(hn::Eq(a, a), r, a));
}
template <class D, class M> HWY_INLINE hn::Vec<D> truth(D d, M m) {
  return hn::IfThenElseZero(m, hn::Set(d, hn::TFromD<D>{1}));
}
template <class D, class V> HWY_INLINE auto isTrue(D d, V v) { return hn::Not(hn::Eq(v, hn::Zero(d))); }

OPERATION(Add) { return oneNaN(d, hn::Add(a, b)); }
};
OPERATION(Subtract) { return oneNaN(d, hn::Sub(a, b)); }
};
OPERATION(Multiply) { return oneNaN(d, hn::Mul(a, b)); }
}
;
OPERATION(Max) { return pick(d, hn::Gt(a, b), a, b); }
}
;
OPERATION(Min) { return pick(d, hn::Lt(a, b), a, b); }
}
;
OPERATION(AbsMax) { return pick(d, hn::Gt(hn::Abs(a), hn::Abs(b)), a, b); }
}
;
OPERATION(AbsMin) { return pick(d, hn::Lt(hn::Abs(a), hn::Abs(b)), a, b); }
}
;
OPERATION(Square) { return oneNaN(d, hn::Mul(a, a)); }
}
;
OPERATION(Abs) { return hn::Abs(a); }
}
;
OPERATION(Relu) { return oneNaN(d, hn::IfThenElse(hn::Le(a, hn::Zero(d)), hn::Zero(d), a)); }
}
;
OPERATION(Reciprocal) { return oneNaN(d, hn::Div(hn::Set(d, 1.0f), a)); }
}
;

// Computed in fp64 on the two halves. A call each: these are long.
template <class F> struct Wide {
  template <class D, class V> HWY_NOINLINE V operator()(D d, V a, V b) const { return oneNaN(d, inDouble<F>(d, a, b)); }
};
OPERATION(Power64) { return pow64(d, a, b); }
}
;
OPERATION(Rsqrt64) { return hn::Div(hn::Set(d, 1.0), hn::Sqrt(a)); }
}
;

// --- fp32 and integers alike (Highway's Ne is false for a NaN on some sets, hence not Eq)
OPERATION(Equal) { return truth(d, hn::Eq(a, b)); }
}
;
OPERATION(NotEqual) { return truth(d, hn::Not(hn::Eq(a, b))); }
}
;
OPERATION(GreaterEqual) { return truth(d, hn::Or(hn::Gt(a, b), hn::Eq(a, b))); }
}
;
OPERATION(Greater) { return truth(d, hn::Gt(a, b)); }
}
;
OPERATION(LessEqual) { return truth(d, hn::Or(hn::Lt(a, b), hn::Eq(a, b))); }
}
;
OPERATION(Less) { return truth(d, hn::Lt(a, b)); }
}
;
OPERATION(LogicalAnd) { return truth(d, hn::And(isTrue(d, a), isTrue(d, b))); }
}
;
OPERATION(LogicalOr) { return truth(d, hn::Or(isTrue(d, a), isTrue(d, b))); }
}
;
OPERATION(LogicalXor) { return truth(d, hn::Xor(isTrue(d, a), isTrue(d, b))); }
}
;
OPERATION(Bypass) { return a; }
}
;
OPERATION(BitAnd) { return hn::And(a, b); }
}
;
OPERATION(BitOr) { return hn::Or(a, b); }
}
;
OPERATION(BitXor) { return hn::Xor(a, b); }
}
;

// --- integers, and fp32 within reductions
OPERATION(RawAdd) { return hn::Add(a, b); }
}
;
OPERATION(SubtractInt) { return hn::Sub(a, b); }
}
;
OPERATION(RawMultiply) { return hn::Mul(a, b); }
}
;
OPERATION(MaxInt) { return hn::Max(a, b); }
}
;
OPERATION(MinInt) { return hn::Min(a, b); }
}
;
OPERATION(BitNot) { return hn::Not(a); }
}
;
template <bool Left> struct Shift { // logical; a count outside 0..31 leaves nothing
  template <class D, class V> HWY_INLINE V operator()(D d, V a, V b) const {
    const hn::RebindToUnsigned<D> du;
    const auto count = hn::BitCast(du, b), low = hn::And(count, hn::Set(du, 31u)), bits = hn::BitCast(du, a);
    const auto shifted = Left ? hn::Shl(bits, low) : hn::Shr(bits, low);
    return hn::BitCast(d, hn::IfThenElseZero(hn::Eq(count, low), shifted));
  }
};
#undef OPERATION

template <class T> using Tag = hn::ScalableTag<T>;

template <class Op, class T> void row(const T *a, const T *b, T *out, int64_t n) {
  mapRows(Tag<T>(), Op(), RowInput<T>{a}, RowInput<T>{b}, out, n);
}
template <class Op, class T> void rowScalar(const T *a, T b, bool reverse, T *out, int64_t n) {
  if (reverse)
    mapRows(Tag<T>(), Op(), ScalarInput<T>{b}, RowInput<T>{a}, out, n);
  else
    mapRows(Tag<T>(), Op(), RowInput<T>{a}, ScalarInput<T>{b}, out, n);
}

// a[j] = op(a[j], b[j]) for j < count; both may be read a vector beyond that.
template <class Op, class T> HWY_NOINLINE void combine(T *a, const T *b, int64_t count) {
  const Tag<T> d;
  constexpr int64_t lanes = static_cast<int64_t>(kLanes<Tag<T>>);
  for (int64_t j = 0; j < count; j += lanes) {
    const auto v = Op()(d, hn::LoadU(d, a + j), hn::LoadU(d, b + j));
    if (count - j >= lanes)
      hn::StoreU(v, d, a + j);
    else
      storeTail(d, v, a + j, count - j);
  }
}

// Lane j takes lane j + half, until one is left.
template <class Op, class D> HWY_INLINE hn::TFromD<D> fold(D, hn::Vec<D> v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kLanes<D> > 1) {
    const hn::Half<D> dh;
    return fold<Op>(dh, Op()(dh, hn::LowerHalf(dh, v), hn::UpperHalf(dh, v)));
  } else
#endif
    return hn::GetLane(v);
}

// The same in memory, for fewer than 64 elements: a lane that has no partner stays as it is.
template <class Op, class T> HWY_NOINLINE T reduceShort(const T *a, int64_t n) {
  HWY_ALIGN T lane[128] = {};
  std::memcpy(lane, a, static_cast<size_t>(n) * sizeof(T));
  for (int64_t half = 32; half; half /= 2)
    if (n > half) {
      combine<Op>(lane, lane + half, n - half < half ? n - half : half);
      n = half;
    }
  return lane[0];
}

// Lane j takes elements j, j + 64, ... in order; then lane j takes lane j + 32, then j + 16, ... down to j + 1.
template <class Op, class T> T reduce(const T *a, int64_t n) {
  if (n < 64)
    return reduceShort<Op>(a, n);
  const Tag<T> d;
  constexpr int64_t lanes = static_cast<int64_t>(kLanes<Tag<T>>);
  constexpr int kVectors = static_cast<int>(64 / lanes);
  hn::Vec<Tag<T>> sum[kVectors];
  for (int v = 0; v < kVectors; ++v)
    sum[v] = hn::LoadU(d, a + v * lanes);
  int64_t i = 64;
  for (; i + 64 <= n; i += 64)
    for (int v = 0; v < kVectors; ++v)
      sum[v] = Op()(d, sum[v], hn::LoadU(d, a + i + v * lanes));
  if (i < n) { // only the first lanes get one more
    HWY_ALIGN T lane[64], last[128] = {};
    for (int v = 0; v < kVectors; ++v)
      hn::Store(sum[v], d, lane + v * lanes);
    std::memcpy(last, a + i, static_cast<size_t>(n - i) * sizeof(T));
    combine<Op>(lane, last, n - i);
    for (int v = 0; v < kVectors; ++v)
      sum[v] = hn::Load(d, lane + v * lanes);
  }
  for (int half = kVectors / 2; half; half /= 2)
    for (int v = 0; v < half; ++v)
      sum[v] = Op()(d, sum[v], sum[v + half]);
  return fold<Op>(d, sum[0]);
}

template <class Op, class T> constexpr AluKernel<T> kernel() { return {row<Op, T>, rowScalar<Op, T>, nullptr}; }
template <class Op, class T, class ReduceOp = Op> constexpr AluKernel<T> reducible() {
  return {row<Op, T>, rowScalar<Op, T>, reduce<ReduceOp, T>};
}

template <class T> AluKernel<T> shared(AluOp op) {
  switch (op) {
  case AluOp::Equal: return kernel<Equal, T>();
  case AluOp::NotEqual: return kernel<NotEqual, T>();
  case AluOp::GreaterEqual: return kernel<GreaterEqual, T>();
  case AluOp::Greater: return kernel<Greater, T>();
  case AluOp::LessEqual: return kernel<LessEqual, T>();
  case AluOp::Less: return kernel<Less, T>();
  case AluOp::LogicalAnd: return reducible<LogicalAnd, T>();
  case AluOp::LogicalOr: return reducible<LogicalOr, T>();
  case AluOp::LogicalXor: return reducible<LogicalXor, T>();
  case AluOp::Bypass: return kernel<Bypass, T>();
  default: return {};
  }
}
template <class T> AluKernel<T> integer(AluOp op) {
  switch (op) {
  case AluOp::Add: return reducible<RawAdd, T>();
  case AluOp::Subtract: return kernel<SubtractInt, T>();
  case AluOp::Multiply: return reducible<RawMultiply, T>();
  case AluOp::Max: return reducible<MaxInt, T>();
  case AluOp::Min: return reducible<MinInt, T>();
  case AluOp::BitAnd: return reducible<BitAnd, T>();
  case AluOp::BitOr: return reducible<BitOr, T>();
  case AluOp::BitXor: return reducible<BitXor, T>();
  case AluOp::BitNot: return kernel<BitNot, T>();
  case AluOp::ShiftLeft: return kernel<Shift<true>, T>();
  case AluOp::ShiftRight: return kernel<Shift<false>, T>();
  default: return shared<T>(op);
  }
}

} // namespace

} // namespace glia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif // once per target
