#include "glia/Runtime/RandomInputs.h"
#include "glia/Numerics/Convert.h"

#include <cstring>
#include <numeric>

namespace glia {

static void fillIntegers(const Tensor &t, Random &random, std::byte *out) {
  const int size = sizeOf(t.dtype);
  const int64_t n = t.elements(), lo = t.hasRange ? t.rangeLo : 0,
                hi = t.hasRange ? t.rangeHi : std::max<int64_t>(100, t.uniqueRows ? n : 0);
  std::vector<int64_t> pool;
  if (t.uniqueRows) { // a shuffle of the range
    pool.resize(hi - lo + 1);
    std::iota(pool.begin(), pool.end(), lo);
    for (size_t i = pool.size(); i > 1; --i)
      std::swap(pool[i - 1], pool[random.below(static_cast<int64_t>(i))]);
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t v = t.uniqueRows ? pool[i % pool.size()] : random.between(lo, hi);
    std::memcpy(out + i * size, &v, size); // little-endian: the low bytes
  }
}

TensorData randomInputs(const Program &p, Random &random) {
  TensorData data;
  for (const Tensor &t : p.tensors) {
    if (t.inputName().empty())
      continue;
    std::vector<std::byte> bytes(t.bytes());
    if (isInteger(t.dtype))
      fillIntegers(t, random, bytes.data());
    else
      for (int64_t i = 0; i < t.elements(); ++i)
        fromF32(t.dtype, static_cast<float>(random.between(-64, 64)) / 16.0f, bytes.data() + i * sizeOf(t.dtype));
    data.emplace(t.inputName(), std::move(bytes));
  }
  return data;
}

void extremeValues(const Program &p, TensorData &inputs, bool largest) {
  for (const Tensor &t : p.tensors)
    if (t.kind == TensorKind::Input && t.hasRange && !t.uniqueRows)
      for (int64_t i = 0; i < t.elements(); ++i)
        std::memcpy(inputs.at(t.name).data() + i * sizeOf(t.dtype), largest ? &t.rangeHi : &t.rangeLo,
                    sizeOf(t.dtype)); // little-endian
}

} // namespace glia
