#include "glia/ISA/Matrix.h"
#include "glia/Numerics/Convert.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace glia {

GemmOperand packRows(Exec &x, int slot, std::vector<float> &values, bool always) {
  const Region &r = x.region(slot);
  if (r.dtype == DType::F32 && r.contiguous && r.pitch % 4 == 0 && !always) {
    if (x.recorder)
      for (int p = 0; p < r.partitions; ++p)
        x.readF32(slot, p);
    return {reinterpret_cast<const float *>(r.base), r.pitch / 4};
  }
  const size_t need = r.partitions * r.elements;
  if (values.size() < need)
    values.resize(need);
  for (int p = 0; p < r.partitions; ++p) {
    float *row = values.data() + p * r.elements;
    if (r.contiguous && !x.recorder) // straight into place
      loadF32(r.dtype, r.row(p), sizeOf(r.dtype), row, r.elements);
    else
      std::memcpy(row, x.readF32(slot, p), r.elements * 4);
    if (r.dtype == DType::TF32)
      for (int64_t i = 0; i < r.elements; ++i)
        row[i] = roundToTF32(row[i]);
  }
  return {values.data(), r.elements};
}

// The offsets of all elements of a partition, in elements.
static void listColumns(const Region &r, std::vector<int32_t> &columns) {
  columns.assign(1, 0);
  const int size = sizeOf(r.dtype);
  for (int d = 0; d < r.rank; ++d) {
    const std::vector<int32_t> outer = std::move(columns);
    const int32_t stride = static_cast<int32_t>(r.strides[d] / size), count = static_cast<int32_t>(r.counts[d]);
    columns.clear();
    columns.reserve(outer.size() * static_cast<size_t>(count));
    for (int32_t at : outer)
      for (int32_t i = 0; i < count; ++i)
        columns.push_back(at + i * stride);
  }
}

GemmOperand factor(Exec &x, int slot, FactorSpace &space) {
  const Region &r = x.region(slot);
  const int size = sizeOf(r.dtype);
  const bool inPlace = (r.dtype == DType::F32 || r.dtype == DType::BF16) && r.pitch % size == 0 &&
                       reinterpret_cast<uintptr_t>(r.base) % static_cast<uintptr_t>(size) == 0;
  if (!inPlace)
    return packRows(x, slot, space.values);
  for (int p = 0; x.recorder && p < r.partitions; ++p)
    x.readF32(slot, p);
  GemmOperand out{r.base, r.pitch / size, r.dtype == DType::BF16};
  if (!r.contiguous) {
    listColumns(r, space.columns);
    out.columns = space.columns.data();
  }
  return out;
}

void multiplyInto(Exec &x, int dst, GemmOperand stationary, GemmOperand moving, int64_t K, int64_t M, int64_t N,
                  bool accumulate) {
  const Region &d = x.region(dst);
  if (accumulate && x.recorder)
    for (int m = 0; m < M; ++m)
      x.readRaw(dst, m);
  if (d.dtype == DType::F32 && d.contiguous && d.pitch % 4 == 0) {
    gemm(stationary, moving, reinterpret_cast<float *>(d.base), d.pitch / 4, K, M, N, accumulate);
    for (int m = 0; x.recorder && m < M; ++m)
      x.commitF32(dst, m);
    return;
  }
  std::vector<float> sum(M * N);
  gemm(stationary, moving, sum.data(), N, K, M, N, false);
  std::vector<float> before(accumulate ? N : 0);
  for (int m = 0; m < M; ++m) {
    if (accumulate)
      std::memcpy(before.data(), x.readF32(dst, m), N * 4);
    float *out = x.writeF32(dst, m);
    for (int64_t n = 0; n < N; ++n)
      out[n] = accumulate ? before[n] + sum[m * N + n] : sum[m * N + n];
    x.commitF32(dst, m);
  }
}

// to[m][n] = rows[from[n]][m], M rows of N. A line of each row at a time, so that neither side leaves the cache.
template <class In, class Out>
static void turn(const std::vector<In> &rows, int64_t M, const std::vector<int> &from, std::vector<Out> &to, int64_t N) {
  constexpr int64_t kBlock = 64 / sizeof(In);
  for (int64_t begin = 0; begin < M; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, M);
    for (size_t n = 0; n < from.size(); ++n) {
      if (from[n] < 0)
        continue;
      const In *row = rows.data() + from[n] * M;
      Out *column = to.data() + n;
      for (int64_t m = begin; m < end; ++m)
        column[m * N] = row[m];
    }
  }
}

template <class In, class Out> static void transposeAs(Exec &x, int dst, int src, const std::vector<int> &from) {
  const Region &s = x.region(src), &d = x.region(dst);
  const int64_t M = s.elements, N = d.elements;
  std::vector<In> all(s.partitions * M); // read everything first: dst may be src itself
  for (int k = 0; k < s.partitions; ++k)
    std::memcpy(all.data() + k * M, x.readRaw(src, k), M * sizeof(In));
  std::vector<Out> turned(M * N);
  turn(all, M, from, turned, N);
  for (int m = 0; m < M; ++m) {
    std::memcpy(x.writeRaw(dst, m), turned.data() + m * N, N * sizeof(Out));
    x.commitRaw(dst, m);
  }
}

void transposeRows(Exec &x, int dst, int src, const std::vector<int> &from) {
  const int in = sizeOf(x.region(src).dtype), out = sizeOf(x.region(dst).dtype);
  if (in == 1 && out == 1)
    transposeAs<uint8_t, uint8_t>(x, dst, src, from);
  else if (in == 1 && out == 2) // in the low byte
    transposeAs<uint8_t, uint16_t>(x, dst, src, from);
  else if (in == 2 && out == 2)
    transposeAs<uint16_t, uint16_t>(x, dst, src, from);
  else if (in == 4 && out == 4)
    transposeAs<uint32_t, uint32_t>(x, dst, src, from);
  else if (in == 8 && out == 8)
    transposeAs<uint64_t, uint64_t>(x, dst, src, from);
  else
    throw Error("INTERNAL", format("a transpose from elements of %d bytes to elements of %d", in, out));
}

bool isTransposeType(DType dst, DType src) { return sizeOf(src) == 1 ? sizeOf(dst) == 2 : dst == src; }

std::string transposeTypeText(DType src) { return sizeOf(src) == 1 ? "a type of 2 bytes" : std::string(name(src)); }

void checkOneBank(Check &c, int slot) {
  const OperandInfo &o = c.operand(slot);
  const int64_t bank = c.target.psumBankBytes, size = sizeOf(o.dtype());
  if (o.space != Space::Psum || c.target.integer("limit.moving_free_fp32") * 4 > bank)
    return;
  double low = static_cast<double>(o.byteOffset), high = low + static_cast<double>(size) - 1; // exact as far as it matters
  for (int d = 0; d < o.pattern->rank; ++d)
    (o.pattern->dims[d].stride < 0 ? low : high) += static_cast<double>(o.pattern->dims[d].stride) *
                                                    (static_cast<double>(o.pattern->dims[d].count) - 1) *
                                                    static_cast<double>(size);
  const double lowBank = std::floor(low / static_cast<double>(bank)),
               highBank = std::floor(high / static_cast<double>(bank));
  if (lowBank != highBank)
    c.fail("PSUM-ONE-BANK", slot,
           format("`%s` covers bytes %.0f to %.0f from the start of a bank, and a bank has %lld",
                  std::string(o.objectName).c_str(), low - lowBank * static_cast<double>(bank),
                  high - lowBank * static_cast<double>(bank), (long long)bank),
           format("%.0f to %.0f", low, high), format("one bank of %lld bytes", (long long)bank));
}

} // namespace glia
