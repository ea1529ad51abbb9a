#include "Counts.h"
#include "glia/Numerics/Convert.h"

#include <cstring>

namespace glia::emit {

Tile Counts::of(KernelBuilder &k, DType t, const Dims &view) {
  int64_t n = 1;
  for (const Tile::Dim &d : view) // a reshaped one has several strides
    n += (d.count - 1) * d.stride;
  const auto [it, fresh] = made.try_emplace({t, n});
  if (fresh) {
    const size_t size = static_cast<size_t>(sizeOf(t));
    std::vector<std::byte> data(static_cast<size_t>(n) * size);
    for (int64_t i = 0; i < n; ++i)
      if (isFloat(t))
        fromF32(t, static_cast<float>(i), data.data() + static_cast<size_t>(i) * size);
      else
        std::memcpy(data.data() + static_cast<size_t>(i) * size, &i, size);
    it->second = k.constant("count" + std::to_string(made.size()), t, {n}, data);
  }
  return it->second;
}

} // namespace glia::emit
