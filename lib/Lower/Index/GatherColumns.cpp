#include "GatherColumns.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr int64_t kRowBytes = 32768, kPiece = 2048; // of a row of data; indices at a time

}

int64_t ColumnGather::rowCount() const {
  int64_t n = 1;
  for (const Row &r : rows)
    n *= r.count;
  return n;
}

std::optional<ColumnGather> columnGatherOf(const IndexForm &f, DType t) {
  if (f.components.size() != 1 || f.shape.empty())
    return std::nullopt;
  const IndexForm::Component &c = f.components[0];
  ColumnGather g;
  const size_t last = f.shape.size() - 1;
  g.length = f.shape[last];
  if (c.dim != static_cast<int64_t>(last) || f.sizes[last] != 1 || g.length * sizeOf(t) > kRowBytes)
    return std::nullopt;
  std::vector<std::pair<int64_t, ColumnGather::Row>> rows; // by dimension of the data
  g.columns = 1;
  for (const IndexForm::Batch &b : f.batch)
    if (b.dim >= 0) {
      rows.push_back({b.dim, {b.count, b.data, b.index, b.other}});
    } else {
      g.columns *= b.count;
      g.index.push_back({b.index, b.count});
      g.other.push_back({b.other, b.count});
    }
  for (const IndexForm::Window &w : f.window)
    if (w.dim != c.dim) {
      if (w.count != f.shape[static_cast<size_t>(w.dim)])
        return std::nullopt;
      rows.push_back({w.dim, {w.count, w.data, 0, w.other}});
    }
  std::sort(rows.begin(), rows.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  for (const auto &[d, r] : rows)
    if (r.count > 1)
      g.rows.push_back(r);
  g.index = merged(g.index);
  g.other = merged(g.other);
  return g;
}

void emitColumnGather(KernelBuilder &k, const ColumnGather &c, const Tile &data, const Tile &indices, const Tile &out) {
  Dims from, at, to;
  for (const ColumnGather::Row &r : c.rows) {
    from.push_back({r.data, r.count});
    at.push_back({r.index, r.count});
    to.push_back({r.other, r.count});
  }
  const int64_t rows = c.rowCount();
  const bool shared = isStill(at);
  std::vector<Tile> kept; // the same for every row
  const auto fetch = [&](int64_t row, int64_t nr, int64_t column, int64_t nc) {
    const Tile raw = k.sbuf(indices.dtype, nr, {nc}), index = k.sbuf(DType::U32, nr, {nc});
    load(k, raw, indices, shared ? Dims{{0, nr}} : merged(at), c.index, shared ? 0 : row, column);
    // What is proved: every index is inside the row.
    k.scalar(index, raw, "max", 0.0f, false, "min", static_cast<double>(c.length - 1));
    return index;
  };
  for (int64_t row = 0; row < rows; row += 128) {
    const int64_t nr = std::min<int64_t>(128, rows - row);
    const Tile x = k.sbuf(data.dtype, nr, {c.length});
    load(k, x, data, merged(from), {{1, c.length}}, row, 0);
    for (int64_t column = 0, i = 0; column < c.columns; column += kPiece, ++i) {
      const int64_t nc = std::min(kPiece, c.columns - column);
      Tile index;
      if (shared && static_cast<size_t>(i) < kept.size())
        index = kept[static_cast<size_t>(i)].rows(0, nr);
      else
        index = fetch(row, nr, column, nc);
      if (shared && static_cast<size_t>(i) == kept.size() && kept.size() < 4)
        kept.push_back(index);
      const Tile y = k.sbuf(data.dtype, nr, {nc});
      k.emit("nc_n_gather", {k.operand(y), k.operand(x), k.operand(index)});
      store(k, out, y, merged(to), c.other, row, column);
    }
  }
}

} // namespace glia::emit
