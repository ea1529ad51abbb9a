// The bytes of an operand as a set: runs of adjacent bytes, whatever order its elements come in.
#pragma once
#include "glia/ISA/Exec.h"

#include <algorithm>
#include <bit>

namespace glia::sim {

struct ByteSet {
  int64_t start = 0; // absolute byte in the partition, or in the tensor
  int64_t run = 0;   // adjacent bytes
  int outer = 0;     // dimensions that repeat the run, largest stride first
  std::array<int64_t, kMaxDims> strides{}, counts{};
  bool repeats = false; // some byte is named twice
  int64_t last = 0;     // end of the last run
};

inline ByteSet byteSet(const Region &r) {
  ByteSet s;
  s.start = r.start;
  s.run = sizeOf(r.dtype);
  struct Dim {
    int64_t stride, count;
  };
  std::array<Dim, kMaxDims> dims;
  int n = 0;
  for (int d = 0; d < r.rank; ++d) {
    if (r.counts[d] == 1)
      continue;
    const int64_t stride = r.strides[d];
    if (stride == 0) {
      s.repeats = true;
      continue;
    }
    if (stride < 0)
      s.start += stride * (r.counts[d] - 1);
    dims[n++] = {stride < 0 ? -stride : stride, r.counts[d]};
  }
  std::sort(dims.begin(), dims.begin() + n, [](const Dim &a, const Dim &b) { return a.stride < b.stride; });
  int i = 0;
  for (; i < n && dims[i].stride <= s.run; ++i) {
    s.repeats |= dims[i].stride < s.run;
    s.run += dims[i].stride * (dims[i].count - 1);
  }
  s.last = s.start + s.run;
  int64_t reach = s.run;
  for (; i < n; ++i) {
    s.repeats |= dims[i].stride < reach; // may name a byte twice: repeated tiles that interleave are rare enough
    reach += dims[i].stride * (dims[i].count - 1);
    s.last += dims[i].stride * (dims[i].count - 1);
    ++s.outer;
  }
  for (int k = 0; k < s.outer; ++k) {
    s.strides[k] = dims[n - 1 - k].stride;
    s.counts[k] = dims[n - 1 - k].count;
  }
  return s;
}

// Calls f(lo, hi) for each run; f returns false to stop.
template <class F> bool forEachRun(const ByteSet &s, F &&f) {
  std::array<int64_t, kMaxDims> i{};
  int64_t at = s.start;
  for (;;) {
    if (!f(at, at + s.run))
      return false;
    int d = s.outer - 1;
    for (; d >= 0; --d) {
      at += s.strides[d];
      if (++i[d] < s.counts[d])
        break;
      at -= s.strides[d] * s.counts[d];
      i[d] = 0;
    }
    if (d < 0)
      return true;
  }
}

// Calls f(quad, mask) for each group of 32 partitions that [first, first + count) touches.
template <class F> void forEachQuad(int first, int count, F &&f) {
  for (int p = first, end = first + count; p < end;) {
    const int quad = p / 32, stop = std::min(end, (quad + 1) * 32), n = stop - p;
    f(quad, (n == 32 ? ~0u : (1u << n) - 1) << p % 32);
    p = stop;
  }
}

bool overlap(const Region &a, const Region &b);   // share a byte; both in the same memory
bool identical(const Region &a, const Region &b); // same start, type and pattern

} // namespace glia::sim
