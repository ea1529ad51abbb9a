#include "MovementTransfer.h"
#include "Lower/Rows/RowsView.h"

#include <algorithm>

namespace glia::emit {

namespace {

using Axes = std::vector<CopyAxis>;

constexpr size_t kEngineDims = 4; // free dimensions of an engine's operand

Dims dimsOf(const Axes &axes, int64_t CopyAxis::*stride) {
  Dims out;
  for (const CopyAxis &a : axes)
    out.push_back({a.*stride, a.count});
  return out;
}
int64_t countOf(const Axes &axes) {
  int64_t n = 1;
  for (const CopyAxis &a : axes)
    n *= a.count;
  return n;
}
size_t smallest(const Axes &axes) {
  size_t at = axes.size();
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].count > 1 && (at == axes.size() || axes[i].count < axes[at].count))
      at = i;
  return at;
}

nisa::SlotValue slotOf(KernelBuilder &k, Place p, const Axes &rows, const Axes &columns, int64_t CopyAxis::*stride) {
  p.tile.dims = dimsOf(columns, stride);
  if (p.tile.onChip()) {
    p.tile.partitions = static_cast<int32_t>(countOf(rows));
  } else {
    const Dims outer = dimsOf(rows, stride);
    p.tile.dims.insert(p.tile.dims.begin(), outer.begin(), outer.end());
  }
  nisa::SlotValue v = k.operand(p.tile);
  for (const Place::Term &t : p.terms)
    v.tensor.terms.push_back({k.trace().registerValue(t.reg), t.scale * sizeOf(p.tile.dtype), false});
  return v;
}

size_t rankOf(const Place &p, const Axes &rows, const Axes &columns, int64_t CopyAxis::*stride) {
  Dims dims = dimsOf(columns, stride);
  if (p.tile.onChip())
    return merged(dims).size() + (countOf(rows) > 1);
  const Dims outer = dimsOf(rows, stride);
  dims.insert(dims.begin(), outer.begin(), outer.end());
  return merged(dims).size();
}

Place moved(Place p, int64_t elements, int64_t partitions) {
  if (p.tile.onChip())
    p.tile.partition += static_cast<int32_t>(partitions);
  p.tile.offset += elements;
  return p;
}

// Calls `step` for each index of a dimension that an engine cannot take, smallest first, until the rest fits.
template <class Step> void unrolled(Tile to, Tile from, Axes axes, const Step &step) {
  const auto fits = [&](int64_t CopyAxis::*stride) { return merged(dimsOf(axes, stride)).size() <= kEngineDims; };
  if (fits(&CopyAxis::to) && fits(&CopyAxis::from))
    return step(to, from, axes);
  const size_t at = smallest(axes);
  const CopyAxis a = axes[at];
  axes.erase(axes.begin() + static_cast<long>(at));
  for (int64_t i = 0; i < a.count; ++i, to.offset += a.to, from.offset += a.from)
    unrolled(to, from, axes, step);
}

} // namespace

DType movingType(DType t) {
  if (isFloat(t) && sizeOf(t) > 1)
    return t;
  return sizeOf(t) == 4 ? DType::U32 : sizeOf(t) == 2 ? DType::U16 : DType::U8;
}

namespace {

// The dimension along which a copy is cut into transfers that the machine has.
struct Cut {
  bool needed = false, byRow = false;
  size_t at = 0;
};

Cut cutOf(size_t most, const Place &to, const Place &from, Axes &rows, Axes &columns) {
  const auto single = [](const CopyAxis &a) { return a.count == 1; };
  std::erase_if(rows, single);
  std::erase_if(columns, single);
  if (std::max(rankOf(to, rows, columns, &CopyAxis::to), rankOf(from, rows, columns, &CopyAxis::from)) <= most)
    return {};
  // The fewest transfers; the last dimension only if there is no other: it has the runs.
  const size_t c = smallest(columns.size() > 1 ? Axes(columns.begin(), columns.end() - 1) : columns);
  const bool byRow = !rows.empty() && (columns.empty() || rows[0].count < columns[c].count);
  return {true, byRow, byRow ? 0 : c};
}

CopyAxis taken(Axes &axes, size_t at) {
  const CopyAxis a = axes[at];
  axes.erase(axes.begin() + static_cast<long>(at));
  return a;
}

} // namespace

void transfer(KernelBuilder &k, const Place &to, const Place &from, Axes rows, Axes columns) {
  const Cut cut = cutOf(static_cast<size_t>(k.target().integer("dma.max_dims")), to, from, rows, columns);
  if (!cut.needed && !to.tile.onChip() && !from.tile.onChip() && !columns.empty() && columns[0].count > 1) {
    Tile written = to.tile;
    written.dims = dimsOf(columns, &CopyAxis::to);
    if (written.runs() > kMostRuns) {
      const CopyAxis a = columns[0];
      const int64_t half = a.count / 2;
      columns[0].count = half;
      transfer(k, to, from, rows, columns);
      columns[0].count = a.count - half;
      return transfer(k, moved(to, half * a.to, 0), moved(from, half * a.from, 0), rows, columns);
    }
  }
  if (!cut.needed)
    return k.emit("dma_copy",
                  {slotOf(k, to, rows, columns, &CopyAxis::to), slotOf(k, from, rows, columns, &CopyAxis::from)});
  const CopyAxis a = taken(cut.byRow ? rows : columns, cut.at);
  const int64_t partitions = cut.byRow ? countOf(rows) : 0;
  for (int64_t i = 0; i < a.count; ++i) {
    const auto shift = [&](const Place &p, int64_t stride) {
      return moved(p, cut.byRow && p.tile.onChip() ? 0 : i * stride, i * partitions);
    };
    transfer(k, shift(to, a.to), shift(from, a.from), rows, columns);
  }
}

int64_t transfersOf(const Target &target, const Place &to, const Place &from, Axes rows, Axes columns) {
  const size_t most = static_cast<size_t>(target.integer("dma.max_dims"));
  int64_t n = 1;
  for (Cut cut = cutOf(most, to, from, rows, columns); cut.needed; cut = cutOf(most, to, from, rows, columns))
    n *= taken(cut.byRow ? rows : columns, cut.at).count;
  return n;
}

void copyOnChip(KernelBuilder &k, Tile to, Tile from, Axes axes) {
  unrolled(std::move(to), std::move(from), std::move(axes), [&](Tile d, Tile s, const Axes &rest) {
    d.dims = dimsOf(rest, &CopyAxis::to);
    s.dims = dimsOf(rest, &CopyAxis::from);
    k.move(d, s);
  });
}

// Engines walk forwards only. Single elements of a short dimension are copied one by one; a long one is cut into pieces: first the
// elements of all pieces are turned round together, then the order of the pieces.
void flipOnChip(KernelBuilder &k, const Tile &to, const Tile &from, Axes axes, size_t flip) {
  const CopyAxis f = axes[flip];
  axes.erase(axes.begin() + static_cast<long>(flip));
  const auto at = [](Tile t, int64_t elements) {
    t.offset += elements;
    return t;
  };
  int64_t piece = 1;
  while (f.count > 16 && piece * piece < f.count)
    piece *= 2;
  const int64_t single = piece == 1 ? f.count : f.count % piece, pieces = (f.count - single) / piece;
  for (int64_t i = 0; i < single; ++i)
    copyOnChip(k, at(to, i * f.to), at(from, (f.count - 1 - i) * f.from), axes);
  if (pieces == 0)
    return;
  const Tile half = k.sbuf(to.dtype, to.partitions, {countOf(axes) * pieces * piece});
  Axes in = axes, out = axes;
  int64_t stride = pieces * piece;
  for (size_t i = axes.size(); i-- > 0; stride *= axes[i].count)
    in[i].to = out[i].from = stride;
  in.push_back({pieces, piece, piece * f.from});
  for (int64_t i = 0; i < piece; ++i)
    copyOnChip(k, at(half, i), at(from, (piece - 1 - i) * f.from), in);
  out.push_back({piece, f.to, 1});
  for (int64_t i = 0; i < pieces; ++i)
    copyOnChip(k, at(to, (single + i * piece) * f.to), at(half, (pieces - 1 - i) * piece), out);
}

void fillOnChip(KernelBuilder &k, Tile to, Axes axes, uint32_t bits) {
  const int size = sizeOf(to.dtype);
  to = to.as(size == 4 ? DType::U32 : size == 2 ? DType::U16 : DType::U8);
  unrolled(to, to, std::move(axes), [&](Tile d, const Tile &, const Axes &rest) {
    d.dims = dimsOf(rest, &CopyAxis::to);
    k.emit("memset", {k.operand(d), nisa::SlotValue::of(0.0f), nisa::SlotValue::of(static_cast<int32_t>(bits))});
  });
}

} // namespace glia::emit
