#include "glia/Lower/KernelBuilder.h"

#include <algorithm>
#include <stdexcept>

namespace glia::emit {

int64_t Tile::elements() const {
  int64_t n = 1;
  for (const Dim &d : dims)
    n *= d.count;
  return n;
}

int64_t Tile::runs() const {
  int64_t stretch = 1;
  for (size_t i = dims.size(); i-- > 0 && (dims[i].stride == stretch || dims[i].count == 1);)
    stretch *= dims[i].count;
  return elements() / std::max<int64_t>(1, stretch);
}

std::vector<int64_t> Tile::shape() const {
  std::vector<int64_t> out;
  for (const Dim &d : dims)
    out.push_back(d.count);
  return out;
}

static void require(bool ok, const char *what) {
  if (!ok)
    throw std::logic_error(std::string("tile view: ") + what);
}

Tile Tile::rows(int64_t from, int64_t count) const {
  if (!onChip())
    return part(0, from, count);
  require(from >= 0 && count >= 1 && from + count <= partitions, "rows out of range");
  Tile out = *this;
  out.partition += static_cast<int32_t>(from);
  out.partitions = static_cast<int32_t>(count);
  return out;
}

Tile Tile::part(int dim, int64_t from, int64_t count, int64_t step) const {
  require(dim >= 0 && dim < static_cast<int>(dims.size()), "no such dimension");
  const Dim &d = dims[dim];
  require(from >= 0 && count >= 1 && step >= 1 && from + (count - 1) * step < d.count, "part out of range");
  Tile out = *this;
  out.offset += from * d.stride;
  out.dims[dim] = {d.stride * step, count};
  return out;
}

Tile Tile::index(int dim, int64_t i) const {
  Tile out = part(dim, i, 1);
  out.dims.erase(out.dims.begin() + dim);
  return out;
}

Tile Tile::permuted(const std::vector<int> &order) const {
  require(order.size() == dims.size(), "an order of other rank");
  Tile out = *this;
  for (size_t i = 0; i < order.size(); ++i)
    out.dims[i] = dims[order[i]];
  return out;
}
Tile Tile::permuted(std::initializer_list<int> order) const { return permuted(std::vector<int>(order)); }

Tile Tile::broadcast(int dim, int64_t count) const {
  Tile out = *this;
  if (dim == static_cast<int>(dims.size()))
    out.dims.push_back({0, 1});
  require(dim >= 0 && dim < static_cast<int>(out.dims.size()) && out.dims[dim].count == 1, "only a size of 1 is broadcast");
  out.dims[dim] = {0, count};
  return out;
}

Tile Tile::inserted(int dim, int64_t count) const {
  require(dim >= 0 && dim <= static_cast<int>(dims.size()), "no such place");
  Tile out = *this;
  out.dims.insert(out.dims.begin() + dim, Dim{0, count});
  return out;
}

// Splits and merges dimensions; a merge needs adjacent strides.
Tile Tile::reshaped(const std::vector<int64_t> &shape) const {
  Tile out = *this;
  out.dims.clear();
  size_t i = 0;
  std::vector<Dim> from;
  for (const Dim &d : dims)
    if (d.count != 1)
      from.push_back(d);
  size_t k = 0;
  while (k < shape.size()) {
    if (shape[k] == 1) {
      out.dims.push_back({0, 1});
      ++k;
      continue;
    }
    require(i < from.size(), "a reshape with more elements");
    // The smallest runs of both sides with the same number of elements.
    int64_t have = from[i].count, want = shape[k];
    size_t iEnd = i + 1, kEnd = k + 1;
    while (have != want) {
      if (have < want) {
        require(iEnd < from.size(), "a reshape with more elements");
        require(from[iEnd - 1].stride == from[iEnd].stride * from[iEnd].count, "a reshape across gaps");
        have *= from[iEnd++].count;
      } else {
        require(kEnd < shape.size(), "a reshape with fewer elements");
        want *= shape[kEnd++];
      }
    }
    int64_t stride = from[iEnd - 1].stride;
    std::vector<Dim> made;
    for (size_t x = kEnd; x-- > k;) {
      made.insert(made.begin(), Dim{stride, shape[x]});
      stride *= shape[x];
    }
    out.dims.insert(out.dims.end(), made.begin(), made.end());
    i = iEnd;
    k = kEnd;
  }
  require(i == from.size(), "a reshape with fewer elements");
  return out;
}

Tile Tile::as(DType t) const {
  require(sizeOf(t) == sizeOf(dtype), "a type of another size");
  Tile out = *this;
  out.dtype = t;
  return out;
}

} // namespace glia::emit
