#include "glia/ISA/Exec.h"
#include "glia/Numerics/Convert.h"

#include <algorithm>
#include <cstring>

namespace glia {

int64_t saturate(__int128 v) {
  constexpr int64_t kLimit = int64_t{1} << 60;
  return static_cast<int64_t>(std::clamp<__int128>(v, -kLimit, kLimit));
}

RegionShape regionShape(const Pattern &p) {
  RegionShape out;
  Region &r = out.region;
  const int size = sizeOf(p.dtype);
  __int128 lo = 0, hi = size;
  r.dtype = p.dtype;
  r.rank = p.rank;
  r.partitions = p.partitions ? p.partitions : 1;
  r.elements = p.elementsPerPartition();
  r.contiguous = p.contiguous();
  for (int d = 0; d < p.rank; ++d) {
    r.strides[d] = int64_t{p.dims[d].stride} * size;
    r.counts[d] = p.dims[d].count;
    const __int128 reach = static_cast<__int128>(r.strides[d]) * (r.counts[d] - 1);
    (reach < 0 ? lo : hi) += reach;
  }
  out.lo = saturate(lo);
  out.hi = saturate(hi);
  return out;
}

namespace {

// Calls f(byteOffset, stride, count) for each innermost run of one partition, in element order.
template <class F> void forEachRun(const Region &r, F &&f) {
  const int inner = r.rank - 1;
  std::array<int64_t, kMaxDims> i{};
  int64_t offset = 0;
  for (;;) {
    f(offset, r.strides[inner], r.counts[inner]);
    int d = inner - 1;
    for (; d >= 0; --d) {
      offset += r.strides[d];
      if (++i[d] < r.counts[d])
        break;
      offset -= r.strides[d] * r.counts[d];
      i[d] = 0;
    }
    if (d < 0)
      return;
  }
}

template <class Wide> void gather(const Region &r, const std::byte *row, Wide *out) {
  const int size = sizeOf(r.dtype);
  forEachRun(r, [&](int64_t offset, int64_t stride, int64_t n) {
    const std::byte *src = row + offset;
    for (int64_t k = 0; k < n; ++k, src += stride) {
      if constexpr (std::is_same_v<Wide, std::byte>) {
        std::memcpy(out, src, size);
        out += size;
      } else {
        int32_t v = 0;
        switch (r.dtype) {
        case DType::I8: v = static_cast<int32_t>(static_cast<int8_t>(*src)); break;
        case DType::U8: v = static_cast<uint8_t>(*src); break;
        case DType::I16: {
          int16_t x;
          std::memcpy(&x, src, 2);
          v = x;
          break;
        }
        case DType::U16: {
          uint16_t x;
          std::memcpy(&x, src, 2);
          v = x;
          break;
        }
        default: std::memcpy(&v, src, 4); break;
        }
        *out++ = v;
      }
    }
  });
}

void scatter(const Region &r, std::byte *row, const std::byte *in, int inSize) {
  const int size = sizeOf(r.dtype);
  forEachRun(r, [&](int64_t offset, int64_t stride, int64_t n) {
    std::byte *dst = row + offset;
    for (int64_t k = 0; k < n; ++k, dst += stride, in += inSize)
      std::memcpy(dst, in, size);
  });
}

} // namespace

std::byte *Exec::scratchFor(int slot, int64_t bytes) {
  if (static_cast<int>(scratch.size()) <= slot)
    scratch.resize(slot + 1);
  if (static_cast<int64_t>(scratch[slot].size()) < bytes)
    scratch[slot].resize(bytes);
  return scratch[slot].data();
}

void Exec::noteRow(int slot, int p, bool write) {
  if (!recorder)
    return;
  const Region &r = operands[slot].region;
  const int size = sizeOf(r.dtype);
  forEachRun(r, [&](int64_t offset, int64_t stride, int64_t n) {
    if (stride == size) {
      recorder->touched(slot, r, p, offset, n * size, write);
      return;
    }
    for (int64_t k = 0; k < n; ++k)
      recorder->touched(slot, r, p, offset + k * stride, size, write);
  });
}

float Exec::scalar(int slot, int p) {
  if (operands[slot].immediate)
    return operands[slot].number;
  noteRow(slot, p, false);
  const Region &r = operands[slot].region;
  return toF32(r.dtype, r.row(p));
}

// Rows lie far apart, where the hardware does not look ahead: asks for the beginning of the next one.
template <int Write> static void prefetchRow(const Region &r, int p) {
  constexpr int kLines = 16;
  if (r.elements < kLines * 16 || p + 1 >= r.partitions)
    return;
  const std::byte *next = r.row(p + 1);
  for (int i = 0; i < kLines; ++i)
    __builtin_prefetch(next + 64 * i, Write);
}

const float *Exec::readF32(int slot, int p) {
  const Region &r = operands[slot].region;
  noteRow(slot, p, false);
  if (r.dtype == DType::F32 && r.contiguous) {
    prefetchRow<0>(r, p);
    return reinterpret_cast<const float *>(r.row(p));
  }
  float *out = reinterpret_cast<float *>(scratchFor(slot, r.elements * 4));
  int64_t k = 0;
  forEachRun(r, [&](int64_t offset, int64_t stride, int64_t n) {
    loadF32(r.dtype, r.row(p) + offset, stride, out + k, n);
    k += n;
  });
  return out;
}

const int32_t *Exec::readI32(int slot, int p) {
  const Region &r = operands[slot].region;
  noteRow(slot, p, false);
  if (sizeOf(r.dtype) == 4 && r.contiguous)
    return reinterpret_cast<const int32_t *>(r.row(p));
  int32_t *out = reinterpret_cast<int32_t *>(scratchFor(slot, r.elements * 4));
  gather(r, r.row(p), out);
  return out;
}

const int32_t *Exec::readBits(int slot, int p) {
  Region &r = operands[slot].region;
  const DType own = r.dtype;
  r.dtype = own == DType::I8 ? DType::U8 : own == DType::I16 ? DType::U16 : own;
  const int32_t *out = readI32(slot, p);
  r.dtype = own;
  return out;
}

const std::byte *Exec::readRaw(int slot, int p) {
  const Region &r = operands[slot].region;
  noteRow(slot, p, false);
  if (r.contiguous)
    return r.row(p);
  std::byte *out = scratchFor(slot, r.elements * sizeOf(r.dtype));
  gather(r, r.row(p), out);
  return out;
}

float *Exec::writeF32(int slot, int p) {
  const Region &r = operands[slot].region;
  if (r.dtype == DType::F32 && r.contiguous) {
    prefetchRow<1>(r, p);
    return reinterpret_cast<float *>(r.row(p));
  }
  return reinterpret_cast<float *>(scratchFor(slot, r.elements * 4));
}

void Exec::commitF32(int slot, int p) {
  const Region &r = operands[slot].region;
  noteRow(slot, p, true);
  if (r.dtype == DType::F32 && r.contiguous)
    return;
  const float *in = reinterpret_cast<const float *>(scratchFor(slot, 0));
  forEachRun(r, [&](int64_t offset, int64_t stride, int64_t n) {
    storeF32(r.dtype, in, r.row(p) + offset, stride, n);
    in += n;
  });
}

int32_t *Exec::writeI32(int slot, int p) {
  const Region &r = operands[slot].region;
  if (sizeOf(r.dtype) == 4 && r.contiguous)
    return reinterpret_cast<int32_t *>(r.row(p));
  return reinterpret_cast<int32_t *>(scratchFor(slot, r.elements * 4));
}

void Exec::commitI32(int slot, int p) {
  const Region &r = operands[slot].region;
  noteRow(slot, p, true);
  if (sizeOf(r.dtype) == 4 && r.contiguous)
    return;
  scatter(r, r.row(p), scratchFor(slot, 0), 4); // little-endian: the low bytes come first
}

std::byte *Exec::writeRaw(int slot, int p) {
  const Region &r = operands[slot].region;
  return r.contiguous ? r.row(p) : scratchFor(slot, r.elements * sizeOf(r.dtype));
}

void Exec::commitRaw(int slot, int p) {
  const Region &r = operands[slot].region;
  noteRow(slot, p, true);
  if (!r.contiguous)
    scatter(r, r.row(p), scratchFor(slot, 0), sizeOf(r.dtype));
}

void Exec::trap(std::string code, std::string message) { throw Trap{std::move(code), std::move(message)}; }

} // namespace glia
