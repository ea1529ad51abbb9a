// Cuts a value into boxes that are written in one way, and decides which way. MovementBlocks.cpp has the way through SBUF.
#include "MovementWriter.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace glia::emit {

namespace {

constexpr int64_t kNarrow = 128; // bytes: pieces that meet in shorter runs are put together on chip
constexpr int64_t kWhole = 8192; // bytes of what is put together, at most
constexpr int64_t kRun = 4096;   // bytes: a longer run is cut, so that all DMA engines move parts of it
constexpr int64_t kRuns = 64;    // that keep them busy

// Elements of a box next to each other on both sides.
template <class Sides> int64_t jointRun(const Sides &dims, const Piece &p) {
  int64_t run = 1;
  for (size_t d = dims.size(); d-- > 0 && dims[d].stride == run && p.axes[d].stride == run;)
    run *= dims[d].count;
  return run;
}

} // namespace

bool MovementWriter::Box::covers(const Piece &p) const {
  for (size_t d = 0; d < dims.size(); ++d)
    if (!p.axes[d].covers(dims[d].count))
      return false;
  return true;
}

void MovementWriter::write(const Place &to, const Pieces &pieces) {
  Box b{to, {}, pieces};
  for (const Tile::Dim &d : to.tile.dims)
    b.dims.push_back({d.count, d.stride});
  for (Piece &p : b.pieces) // a scalar has one dimension in HBM
    p.axes.resize(b.dims.size());
  if (to.tile.elements() > 0)
    split(std::move(b));
}

namespace {

// Where pieces begin and end along a dimension of n indices.
std::set<int64_t> endsOf(const Pieces &pieces, size_t d, int64_t n) {
  std::set<int64_t> out{0, n};
  for (const Piece &p : pieces) {
    const PieceAxis &a = p.axes[d];
    out.insert(a.from);
    out.insert(a.from + a.step * (a.count - 1) + 1);
  }
  return out;
}

// The fewest indices between two ends.
int64_t shortest(const Pieces &pieces, size_t d, int64_t n) {
  if (std::any_of(pieces.begin(), pieces.end(), [&](const Piece &p) { return p.axes[d].step > 1; }))
    return 1;
  int64_t least = n, last = 0;
  for (int64_t end : endsOf(pieces, d, n)) {
    if (end > 0)
      least = std::min(least, end - last);
    last = end;
  }
  return least;
}

// Dimension d + 1 of every piece goes on where d leaves off.
bool merges(const Pieces &pieces, size_t d, int64_t inner) {
  return std::all_of(pieces.begin(), pieces.end(), [&](const Piece &p) {
    const PieceAxis &a = p.axes[d], &b = p.axes[d + 1];
    return b.covers(inner) && a.step == 1 && (p.bits || a.count == 1 || a.stride == b.stride * inner);
  });
}

} // namespace

void MovementWriter::split(Box b) {
  for (size_t d = b.dims.size(); d-- > 0;)
    if (b.dims[d].count == 1) {
      b.dims.erase(b.dims.begin() + static_cast<long>(d));
      for (Piece &p : b.pieces)
        p.axes.erase(p.axes.begin() + static_cast<long>(d));
    }
  for (size_t i = b.pieces.size(); i-- > 1;) // nothing shows from under a piece that covers all
    if (b.covers(b.pieces[i])) {
      b.pieces.erase(b.pieces.begin(), b.pieces.begin() + static_cast<long>(i));
      break;
    }
  for (size_t d = b.dims.size(); d-- > 1;) {
    const Side &outer = b.dims[d - 1], &inner = b.dims[d];
    if (outer.whole || inner.whole || outer.stride != inner.stride * inner.count || !merges(b.pieces, d - 1, inner.count))
      continue;
    for (Piece &p : b.pieces) {
      PieceAxis &a = p.axes[d - 1];
      a = {a.from * inner.count, 1, a.count * inner.count, p.axes[d].stride};
      p.axes.erase(p.axes.begin() + static_cast<long>(d));
    }
    b.dims[d - 1] = {outer.count * inner.count, inner.stride};
    b.dims.erase(b.dims.begin() + static_cast<long>(d));
  }
  if (b.pieces.size() == 1 && b.covers(b.pieces[0]))
    return leaf(std::move(b));
  const auto covered = [&](size_t d) {
    return std::all_of(b.pieces.begin(), b.pieces.end(), [&](const Piece &p) { return p.axes[d].covers(b.dims[d].count); });
  };
  int64_t inner = bytes(b);
  std::vector<int64_t> run(b.dims.size()); // bytes of one index of each dimension
  for (size_t d = b.dims.size(); d-- > 0; inner *= b.dims[d].count)
    run[d] = inner;
  for (size_t d = 0; d < b.dims.size(); ++d) {
    if (covered(d) || b.dims[d].whole)
      continue;
    if (run[d] * shortest(b.pieces, d, b.dims[d].count) >= kNarrow || run[d] * b.dims[d].count > kWhole)
      return cut(b, d);
    b.dims[d].whole = true;
  }
  leaf(std::move(b));
}

// Along dimension d, where pieces begin and end. Between, pieces with gaps repeat with a period: it becomes a dimension of its own.
void MovementWriter::cut(const Box &b, size_t d) {
  const int64_t n = b.dims[d].count;
  const auto part = [&](const Box &from, int64_t lo, int64_t count) {
    Box out{from.to, from.dims, {}};
    out.to.tile.offset += lo * from.dims[d].stride;
    out.dims[d].count = count;
    for (const Piece &p : from.pieces)
      if (std::optional<Piece> rest = restricted(p, d, lo, 1, count))
        out.pieces.push_back(std::move(*rest));
    return out;
  };
  int64_t lo = 0;
  for (int64_t hi : endsOf(b.pieces, d, n)) {
    if (hi == lo)
      continue;
    Box x = part(b, lo, hi - lo);
    lo = hi;
    int64_t period = 1;
    for (const Piece &p : x.pieces)
      period = std::min(std::lcm(period, p.axes[d].step), n + 1);
    const int64_t length = x.dims[d].count, times = length / period;
    if (period == 1) {
      split(std::move(x));
    } else if (times < 2) {
      for (int64_t i = 0; i < length; ++i)
        split(part(x, i, 1));
    } else {
      if (length % period)
        split(part(x, times * period, length % period));
      Box main = part(x, 0, times * period);
      const Side side = main.dims[d];
      main.dims[d] = {times, side.stride * period};
      main.dims.insert(main.dims.begin() + static_cast<long>(d) + 1, Side{period, side.stride});
      for (Piece &p : main.pieces) {
        const PieceAxis a = p.axes[d];
        const int64_t each = (period - a.from + a.step - 1) / a.step;
        p.axes[d] = {0, 1, times, a.stride * (period / a.step)};
        p.axes.insert(p.axes.begin() + static_cast<long>(d) + 1, PieceAxis{a.from, each == 1 ? 1 : a.step, each, a.stride});
      }
      split(std::move(main));
    }
  }
}

void MovementWriter::leaf(Box b) {
  const bool one = b.pieces.size() == 1 && b.covers(b.pieces[0]);
  if (one && !b.pieces[0].bits) {
    const double straight = directTime(b);
    if (b.dims.empty() || straight <= static_cast<double>(k.target().integer("dma.fixed_latency")) * 2)
      return direct(b);
    const Blocks blocks = chooseBlocks(b);
    return straight <= blocks.time ? direct(b) : assemble(b, blocks.size);
  }
  assemble(b, chooseBlocks(b).size);
}

// One transfer between HBM tensors.
double MovementWriter::directTime(const Box &b) const {
  int64_t all = 1;
  for (const Side &s : b.dims)
    all *= s.count;
  int64_t run = jointRun(b.dims, b.pieces[0]);
  if (all / run < kRuns)
    run = std::clamp<int64_t>(all / kRuns, std::min(run, kRun / bytes(b)), run);
  const Target &t = k.target();
  const double engines = std::clamp(static_cast<double>(all * bytes(b)) / 512, 1.0, static_cast<double>(t.dmaEngines));
  const double each =
      std::max(t.number("dma.descriptor_floor"), static_cast<double>(run * bytes(b)) / t.number("dma.store_bytes_per_ns"));
  return t.number("dma.fixed_latency") + std::max(static_cast<double>(all / run) / engines, 1.0) * each;
}

void MovementWriter::direct(const Box &b) {
  std::vector<CopyAxis> axes;
  int64_t all = 1;
  for (size_t d = 0; d < b.dims.size(); ++d) {
    axes.push_back({b.dims[d].count, b.dims[d].stride, b.pieces[0].axes[d].stride});
    all *= b.dims[d].count;
  }
  Place to = b.to, from = source(b.pieces[0], b.to.tile.dtype);
  // A transfer moves one run after another. Of few long ones, two halves take turns: so they count as many.
  const int64_t piece = kRun / bytes(b);
  if (const int64_t run = jointRun(b.dims, b.pieces[0]); run > 1 && all / run < kRuns && axes.back().count >= 4 * piece) {
    const int64_t n = axes.back().count, half = n / (2 * piece) * piece, rest = n - 2 * half;
    std::vector<CopyAxis> left = axes;
    axes.pop_back();
    axes.insert(axes.end(), {{half / piece, piece, piece}, {2, half, half}, {piece, 1, 1}});
    transfer(k, to, from, {}, std::move(axes));
    if (rest == 0)
      return;
    to.tile.offset += 2 * half;
    from.tile.offset += 2 * half;
    axes = std::move(left);
    axes.back().count = rest;
  }
  transfer(k, to, from, {}, std::move(axes));
}

} // namespace glia::emit
