#include "RowsView.h"

#include <functional>

namespace glia::emit {

Dims contiguous(const std::vector<int64_t> &shape) {
  Dims out(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    out[i] = {stride, shape[i]};
    stride *= shape[i];
  }
  return out;
}

Dims merged(const Dims &dims) {
  Dims out;
  for (const Tile::Dim &d : dims) {
    if (d.count == 1)
      continue;
    if (!out.empty() && out.back().stride == d.stride * d.count)
      out.back() = {d.stride, out.back().count * d.count};
    else
      out.push_back(d);
  }
  return out;
}

int64_t countOf(const Dims &dims) {
  int64_t n = 1;
  for (const Tile::Dim &d : dims)
    n *= d.count;
  return n;
}

bool isStill(const Dims &dims) {
  for (const Tile::Dim &d : dims)
    if (d.count > 1 && d.stride != 0)
      return false;
  return true;
}

int64_t partOf(Dims &view, llvm::ArrayRef<int64_t> start, llvm::ArrayRef<int64_t> step, llvm::ArrayRef<int64_t> shape) {
  int64_t offset = 0;
  for (size_t d = 0; d < view.size(); ++d) {
    offset += start[d] * view[d].stride;
    view[d] = {view[d].stride * step[d], shape[d]};
  }
  return offset;
}

bool splitAt(const Dims &view, int64_t columns, Dims &rows, Dims &cols) {
  rows = merged(view);
  cols.clear();
  int64_t left = columns;
  while (left > 1) {
    if (rows.empty())
      return false;
    const Tile::Dim d = rows.back();
    if (left % d.count == 0) {
      cols.insert(cols.begin(), d);
      rows.pop_back();
      left /= d.count;
    } else if (d.count % left == 0) {
      cols.insert(cols.begin(), {d.stride, left});
      rows.back() = {d.stride * left, d.count / left};
      left = 1;
    } else {
      return false;
    }
  }
  cols = merged(cols);
  return true;
}

namespace {

constexpr size_t kMostDims = 4; // of one transfer

void boxes(const Dims &dims, size_t at, int64_t first, int64_t n, int64_t from, int64_t offset, size_t most,
           std::vector<Box> &out) {
  if (at == dims.size()) {
    out.push_back({from, 1, offset, {}});
    return;
  }
  if (at + 1 == dims.size()) {
    out.push_back({from, n, offset + first * dims[at].stride, {{dims[at].stride, n}}});
    return;
  }
  int64_t inner = 1;
  for (size_t i = at + 1; i < dims.size(); ++i)
    inner *= dims[i].count;
  while (n > 0) {
    const int64_t index = first / inner, within = first % inner;
    int64_t take = std::min(inner - within, n);
    if (within == 0 && n >= inner && dims.size() - at <= most) {
      take = n / inner * inner;
      Dims whole{{dims[at].stride, n / inner}};
      whole.insert(whole.end(), dims.begin() + static_cast<long>(at) + 1, dims.end());
      out.push_back({from, take, offset + index * dims[at].stride, std::move(whole)});
    } else {
      boxes(dims, at + 1, within, take, from, offset + index * dims[at].stride, most, out);
    }
    first += take;
    from += take;
    n -= take;
  }
}

void transfer(const Tile &chip, const Tile &hbm, const Dims &rows, const Dims &cols, int64_t row, int64_t column,
              const std::function<void(const Tile &chip, const Tile &hbm)> &copy) {
  const int64_t nr = chip.partitions, nc = chip.elements();
  const size_t forCols = std::max<size_t>(1, std::min<size_t>(cols.size(), kMostDims - 1));
  std::vector<Box> r, c;
  boxes(rows, 0, row, nr, 0, 0, kMostDims - forCols, r);
  boxes(cols, 0, column, nc, 0, 0, forCols, c);
  for (const Box &a : r)
    for (const Box &b : c) {
      Tile part = chip.rows(a.from, a.count).columns(b.from, b.count), from = hbm;
      from.offset += a.offset + b.offset;
      from.dims = a.dims;
      from.dims.insert(from.dims.end(), b.dims.begin(), b.dims.end());
      if (from.dims.empty())
        from.dims.push_back({1, 1});
      copy(part, from);
    }
}

} // namespace

std::vector<Box> boxesOf(const Dims &dims, int64_t first, int64_t n, size_t most) {
  std::vector<Box> out;
  boxes(dims, 0, first, n, 0, 0, most, out);
  return out;
}

void load(KernelBuilder &k, const Tile &chip, const Tile &hbm, const Dims &rows, const Dims &cols, int64_t row,
          int64_t column) {
  transfer(chip, hbm, rows, cols, row, column, [&](const Tile &a, const Tile &b) { k.copy(a, b); });
}
void store(KernelBuilder &k, const Tile &hbm, const Tile &chip, const Dims &rows, const Dims &cols, int64_t row,
           int64_t column) {
  transfer(chip, hbm, rows, cols, row, column, [&](const Tile &a, const Tile &b) { k.copy(b, a); });
}

} // namespace glia::emit
