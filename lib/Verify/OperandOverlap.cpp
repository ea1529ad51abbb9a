// Whether two strided operands of one memory share a byte.
//
// Boxes that do not meet are disjoint. Otherwise every stride G of the two is tried as a period: if all strides of at
// least G are multiples of it, both operands repeat with period G and it is enough to compare what the smaller strides
// reach, modulo G. That proves column halves, interleaved elements and rows of tiles disjoint. Where that does not
// settle it, the runs of the two are compared; very large ones that are not proved disjoint count as overlapping.
#include "StaticParts.h"
#include "glia/Verify/Footprint.h"

#include <cstdlib>

namespace glia {

namespace {

struct Inner {
  bool periodic = true;
  Wide lo = 0, hi = 0;
};

Inner innerSpan(const Pattern &x, int64_t period) {
  Inner s;
  const int64_t size = sizeOf(x.dtype);
  for (int i = 0; i < x.rank; ++i) {
    const Dim &d = x.dims[i];
    if (d.count == 1)
      continue;
    const int64_t stride = d.stride * size;
    if (std::abs(stride) >= period) {
      s.periodic = s.periodic && stride % period == 0;
      continue;
    }
    const Wide reach = static_cast<Wide>(stride) * (int64_t{d.count} - 1);
    (reach < 0 ? s.lo : s.hi) += reach;
  }
  s.hi += size;
  return s;
}

bool disjointModulo(const Pattern &a, int64_t startA, const Pattern &b, int64_t startB, int64_t period) {
  const Wide apart = static_cast<Wide>(startB) - startA;
  return apartModulo(a, b, apart, apart, period);
}

bool provedByStridesOf(const Pattern &x, const Pattern &a, int64_t startA, const Pattern &b, int64_t startB) {
  for (int i = 0; i < x.rank; ++i) {
    const int64_t period = std::abs(int64_t{x.dims[i].stride} * sizeOf(x.dtype));
    if (x.dims[i].count > 1 && period > 0 && disjointModulo(a, startA, b, startB, period))
      return true;
  }
  return false;
}

} // namespace

bool footprintsMeet(const Pattern &a, int64_t startA, const Pattern &b, int64_t startB) {
  constexpr size_t kMostRuns = 4096;
  std::vector<ByteRun> x, y;
  footprint(a, startA, x, kMostRuns);
  footprint(b, startB, y, kMostRuns);
  return runsMeet(x, y);
}

bool apartModulo(const Pattern &a, const Pattern &b, Wide lo, Wide hi, int64_t period) {
  const Inner x = innerSpan(a, period), y = innerSpan(b, period);
  if (!x.periodic || !y.periodic)
    return false;
  const Wide widthA = x.hi - x.lo, widthB = y.hi - y.lo;
  Wide delta = (lo + y.lo - x.lo) % period; // where b's run begins after a's
  if (delta < 0)
    delta += period;
  return widthA <= delta && delta + (hi - lo) + widthB <= period;
}

bool mayOverlap(const Pattern &a, const PatternFacts &fa, int64_t startA, const Pattern &b, const PatternFacts &fb,
                int64_t startB) {
  if (startA + fa.hi <= startB + fb.lo || startB + fb.hi <= startA + fa.lo)
    return false;
  return !provedByStridesOf(a, a, startA, b, startB) && !provedByStridesOf(b, a, startA, b, startB) &&
         footprintsMeet(a, startA, b, startB);
}

} // namespace glia
