#include "ScatterOrdered.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr int64_t kMostColumns = 4096; // elements of a partition at a time

int64_t countOf(const std::vector<CopyAxis> &axes) {
  int64_t n = 1;
  for (const CopyAxis &a : axes)
    n *= a.count;
  return n;
}

// The largest number of rows that divides n.
int64_t rowsFor(int64_t n) {
  for (int64_t r = 128; r > 1; --r)
    if (n % r == 0)
      return r;
  return 1;
}

// The side on chip of a copy: row-major.
std::vector<CopyAxis> onChip(const std::vector<CopyAxis> &axes, int64_t CopyAxis::*hbm, bool store) {
  std::vector<CopyAxis> out(axes.size());
  int64_t stride = 1;
  for (size_t i = axes.size(); i-- > 0; stride *= axes[i].count)
    out[i] = store ? CopyAxis{axes[i].count, axes[i].*hbm, stride} : CopyAxis{axes[i].count, stride, axes[i].*hbm};
  return out;
}

void combineTile(KernelBuilder &k, const Combiner &c, const Place &to, const Place &from, double splat,
                 const std::vector<CopyAxis> &rows, const std::vector<CopyAxis> &columns) {
  const int64_t nr = countOf(rows), nc = countOf(columns);
  const Tile old = k.sbuf(c.type, nr, {nc}), more = k.sbuf(c.type, nr, {nc}), result = k.sbuf(c.type, nr, {nc});
  transfer(k, {old, {}}, to, onChip(rows, &CopyAxis::to, false), onChip(columns, &CopyAxis::to, false));
  if (from.tile.handle < 0)
    k.fill(more, splat);
  else
    transfer(k, {more, {}}, from, onChip(rows, &CopyAxis::from, false), onChip(columns, &CopyAxis::from, false));
  combine(k, c, result, old, more);
  transfer(k, to, {result, {}}, onChip(rows, &CopyAxis::to, true), onChip(columns, &CopyAxis::to, true));
}

Place moved(Place p, int64_t elements) {
  p.tile.offset += elements;
  return p;
}

} // namespace

void combineInto(KernelBuilder &k, const Combiner &c, const Place &to, const Place &from, double splat,
                 std::vector<CopyAxis> axes) {
  std::erase_if(axes, [](const CopyAxis &a) { return a.count == 1; });
  if (c.op == "bypass" && from.tile.handle >= 0)
    return transfer(k, to, from, {}, axes);
  if (axes.size() == 1 && axes[0].count >= 512) { // several partitions take part
    const CopyAxis a = axes[0];
    const int64_t rows = rowsFor(a.count), run = a.count / rows;
    axes = {{rows, a.to * run, a.from * run}, {run, a.to, a.from}};
  }
  std::vector<CopyAxis> rows;
  if (axes.size() > 1) {
    rows.push_back(axes[0]);
    axes.erase(axes.begin());
  }
  // Parts that fit: of the rows, then of the outermost columns.
  if (!rows.empty() && rows[0].count > 128) {
    const CopyAxis all = rows[0];
    for (int64_t i = 0; i < all.count; i += 128) {
      std::vector<CopyAxis> part = axes;
      part.insert(part.begin(), {std::min<int64_t>(128, all.count - i), all.to, all.from});
      combineInto(k, c, moved(to, i * all.to), moved(from, i * all.from), splat, std::move(part));
    }
    return;
  }
  if (countOf(axes) > kMostColumns) {
    const CopyAxis all = axes[0];
    const int64_t step = std::max<int64_t>(1, kMostColumns / (countOf(axes) / all.count));
    for (int64_t i = 0; i < all.count; i += step) {
      std::vector<CopyAxis> part = axes;
      part[0].count = std::min(step, all.count - i);
      part.insert(part.begin(), rows.begin(), rows.end());
      combineInto(k, c, moved(to, i * all.to), moved(from, i * all.from), splat, std::move(part));
    }
    return;
  }
  combineTile(k, c, to, from, splat, rows, axes);
}

void scatterPieces(KernelBuilder &k, const Combiner &c, const Pieces &pieces, const Tile &out, const Tile &updates,
                   double splat) {
  for (const Piece &p : pieces) {
    Place to{out, {}}, from{updates, {}};
    from.tile.offset += p.offset;
    std::vector<CopyAxis> axes;
    for (size_t d = 0; d < p.axes.size(); ++d) {
      const PieceAxis &a = p.axes[d];
      to.tile.offset += a.from * out.dims[d].stride;
      axes.push_back({a.count, a.step * out.dims[d].stride, a.stride});
    }
    combineInto(k, c, to, from, splat, std::move(axes));
  }
}

int64_t workElements(const IndexForm &f) {
  int64_t data = 1, window = 1;
  for (int64_t n : f.shape)
    data *= n;
  for (const IndexForm::Window &w : f.window)
    window += (w.count - 1) * w.data;
  return data + window;
}

void scatterInOrder(KernelBuilder &k, const Combiner &c, const IndexForm &f, const Tile &work, const Tile &indices,
                    const Tile &updates, double splat) {
  int64_t behind = 1; // where updates go that are not inside
  for (int64_t n : f.shape)
    behind *= n;
  std::vector<int64_t> places, others, own;
  for (const IndexForm::Batch &b : f.batch) {
    places.push_back(b.index);
    others.push_back(b.other);
    own.push_back(b.data);
  }
  std::vector<CopyAxis> axes;
  for (const IndexForm::Window &w : f.window)
    axes.push_back({w.count, w.data, w.other});
  for (const IndexForm::Component &i : f.components)
    if (i.most < 0)
      return; // no window is inside
  // All places are known before the first transfer ends, each in a register: an engine has 64.
  constexpr int64_t kUnrolled = 32;
  const auto update = [&](const PlaceCursor &cursor) {
    Place to{work, {}}, from{updates, {}};
    cursor.move(from, others);
    Place base{Tile(), {}}; // offset and registers of the place, before the indices
    cursor.move(base, own);
    int outside = -1; // a register that is not 0 if an index is outside
    for (const IndexForm::Component &i : f.components) {
      Place element{indices, {}};
      element.tile.offset += i.at;
      cursor.move(element, places);
      const int raw = loadRegister(k, element);
      const int inside = k.registerOp("min", k.registerOp("max", raw, 0), static_cast<int32_t>(i.most));
      const int differs = k.registerOpOf("xor", raw, inside);
      outside = outside < 0 ? differs : k.registerOpOf("or", outside, differs);
      base.terms.push_back({inside, i.stride});
    }
    int at = -1;
    for (const Place::Term &t : base.terms) {
      const int scaled = t.scale == 1 ? t.reg : k.registerOp("multiply", t.reg, static_cast<int32_t>(t.scale));
      at = at < 0 ? scaled : k.registerOpOf("add", at, scaled);
    }
    if (at >= 0 && outside >= 0) {
      if (base.tile.offset)
        at = k.registerOp("add", at, static_cast<int32_t>(base.tile.offset));
      const int minus = k.registerOp("multiply", outside, -1);
      const int one = k.registerOp("shift_right", k.registerOpOf("or", outside, minus), 31); // 1: outside
      const int further = k.registerOp("add", k.registerOp("multiply", at, -1), static_cast<int32_t>(behind));
      at = k.registerOpOf("add", at, k.registerOpOf("multiply", further, one));
      at = k.registerOp("min", k.registerOp("max", at, 0), static_cast<int32_t>(behind)); // what the proof needs
      to.terms.push_back({at, 1});
    } else {
      to.tile.offset += base.tile.offset;
      to.terms = fewTerms(k, base.terms);
    }
    from.terms = fewTerms(k, std::move(from.terms));
    combineInto(k, c, to, from, splat, axes);
  };
  forEachPlace(k, f, update, kUnrolled);
}

} // namespace glia::emit
