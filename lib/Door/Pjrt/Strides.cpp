#include "Strides.h"
#include "Failure.h"

#include <cstring>

namespace glia::pjrt {

Shape rowMajor(std::span<const int64_t> dims, int64_t elementBytes) {
  Shape out(dims.size());
  for (size_t i = dims.size(); i-- > 0; elementBytes *= dims[i])
    out[i] = elementBytes;
  return out;
}

bool isRowMajor(std::span<const int64_t> dims, std::span<const int64_t> strides, int64_t elementBytes) {
  for (size_t i = dims.size(); i-- > 0; elementBytes *= dims[i])
    if (dims[i] > 1 && strides[i] != elementBytes)
      return false;
  return true;
}

Shape stridesOf(const MemoryLayout &layout, std::span<const int64_t> dims, int64_t elementBytes) {
  const auto bad = [](const std::string &what) -> Failure {
    return failure(Code::Unimplemented, "PJRT-LAYOUT", what, "Use a layout that only orders the dimensions.");
  };
  if (layout.type == LayoutType::Strides) {
    if (layout.strides.numByteStrides != dims.size())
      throw bad("a layout has another number of strides than its array has dimensions");
    return {layout.strides.byteStrides, layout.strides.byteStrides + layout.strides.numByteStrides};
  }
  const TiledLayout &t = layout.tiled;
  if (t.numTiles)
    throw bad("a layout has tiles");
  if (t.minorToMajorSize != dims.size())
    throw bad("a layout has another number of dimensions than its array");
  Shape out(dims.size(), -1);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t d = t.minorToMajor[i];
    if (d < 0 || d >= static_cast<int64_t>(dims.size()) || out[static_cast<size_t>(d)] >= 0)
      throw bad("a layout is no order of the dimensions");
    out[static_cast<size_t>(d)] = elementBytes;
    elementBytes *= dims[static_cast<size_t>(d)];
  }
  return out;
}

namespace {

template <size_t kBytes>
void copyRow(std::byte *to, int64_t toStride, const std::byte *from, int64_t fromStride, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * toStride, from + i * fromStride, kBytes);
}

} // namespace

void copyStrided(std::byte *to, std::span<const int64_t> toStrides, const std::byte *from,
                 std::span<const int64_t> fromStrides, std::span<const int64_t> dims, int64_t elementBytes) {
  int64_t count = 1;
  for (int64_t d : dims)
    count *= d;
  if (count == 0)
    return;
  if (isRowMajor(dims, toStrides, elementBytes) && isRowMajor(dims, fromStrides, elementBytes)) {
    std::memcpy(to, from, static_cast<size_t>(count * elementBytes));
    return;
  }
  const auto row = elementBytes == 1   ? copyRow<1>
                   : elementBytes == 2 ? copyRow<2>
                   : elementBytes == 4 ? copyRow<4>
                   : elementBytes == 8 ? copyRow<8>
                                       : copyRow<16>;
  const size_t last = dims.size() - 1; // an array without dimensions is row-major
  Shape at(dims.size(), 0);
  for (;;) {
    row(to, toStrides[last], from, fromStrides[last], dims[last]);
    size_t d = last;
    while (d > 0) {
      --d;
      to += toStrides[d], from += fromStrides[d];
      if (++at[d] < dims[d])
        break;
      to -= toStrides[d] * dims[d], from -= fromStrides[d] * dims[d];
      at[d] = 0;
      if (d == 0)
        return;
    }
    if (last == 0)
      return;
  }
}

} // namespace glia::pjrt
