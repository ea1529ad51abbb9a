#include "Definedness.h"

namespace glia::sim {

DefinedBits::DefinedBits(const MemoryInfo &info)
    : always(info.readOnly), rows(info.rows), bytes(info.bytes), words((info.bytes + 63) / 64),
      pages(always ? Pages() : Pages(std::max<int64_t>(words * rows * 8, 1))) {
  for (int r = 0; info.begun && r < rows; ++r)
    set(r, 0, bytes, true);
}

static uint64_t maskFrom(int64_t lo) { return ~uint64_t{0} << (lo & 63); }
static uint64_t maskTo(int64_t hi) { return (hi & 63) ? ~(~uint64_t{0} << (hi & 63)) : ~uint64_t{0}; } // hi > word start

bool DefinedBits::all(int r, int64_t lo, int64_t hi) const {
  if (always || lo >= hi)
    return true;
  const int64_t first = lo >> 6, last = (hi - 1) >> 6;
  if (first == last) {
    const uint64_t m = maskFrom(lo) & maskTo(hi);
    return (word(r, first) & m) == m;
  }
  if ((word(r, first) & maskFrom(lo)) != maskFrom(lo) || (word(r, last) & maskTo(hi)) != maskTo(hi))
    return false;
  uint64_t together = ~uint64_t{0};
  for (int64_t i = first + 1; i < last; ++i)
    together &= word(r, i);
  return together == ~uint64_t{0};
}

void DefinedBits::set(int r, int64_t lo, int64_t hi, bool defined) {
  if (always || lo >= hi)
    return;
  const int64_t first = lo >> 6, last = (hi - 1) >> 6;
  low = std::min(low, first);
  high = std::max(high, last + 1);
  auto put = [&](int64_t i, uint64_t m) { word(r, i) = defined ? word(r, i) | m : word(r, i) & ~m; };
  if (first == last)
    return put(first, maskFrom(lo) & maskTo(hi));
  put(first, maskFrom(lo));
  put(last, maskTo(hi));
  for (int64_t i = first + 1; i < last; ++i)
    word(r, i) = defined ? ~uint64_t{0} : 0;
}

int64_t DefinedBits::firstUndefined(int r) const {
  if (always)
    return -1;
  for (int64_t i = 0; i < words; ++i)
    if (~word(r, i)) {
      const int64_t at = i * 64 + std::countr_one(word(r, i));
      return at < bytes ? at : -1;
    }
  return -1;
}

} // namespace glia::sim
