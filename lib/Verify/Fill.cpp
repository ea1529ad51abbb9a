// Bytes that were certainly written, where the map of bytes cannot say it: the address moves with a loop, or the runs are too many.
// They are kept as strided pieces, which grow together until they are simple enough for the map.
#include "Fill.h"
#include "Walk.h"

#include <algorithm>
#include <set>

namespace glia::flow {

namespace {

constexpr int64_t kMostRuns = 4096;        // that are put into the map of bytes
constexpr int64_t kMostLookedUp = 1 << 18; // that are looked for in it
constexpr size_t kMostPieces = 512;

Interval spanOf(const Filled &f) { // first and last byte, relative to the start
  int64_t hi = f.width - 1;
  for (const Stride &s : f.dims)
    hi += s.step * (s.count - 1);
  return {0, hi};
}

bool hasAtMost(const Filled &f, int64_t runs) {
  for (const Stride &s : f.dims)
    if ((runs /= s.count) == 0)
      return false;
  return true;
}

template <class F> void forEachRun(const Filled &f, size_t dim, int64_t at, F &&use) {
  if (dim == f.dims.size())
    return use(at, at + f.width);
  for (int64_t i = 0; i < f.dims[dim].count; ++i)
    forEachRun(f, dim + 1, at + i * f.dims[dim].step, use);
}

std::vector<ByteRun> runsOf(const Filled &f, int64_t at) { // in ascending order
  std::vector<ByteRun> out;
  forEachRun(f, 0, at, [&out](int64_t lo, int64_t hi) { out.push_back({lo, hi}); });
  std::sort(out.begin(), out.end(), [](const ByteRun &a, const ByteRun &b) { return a.lo < b.lo; });
  return out;
}

bool isInOneOf(const std::vector<ByteRun> &runs, int64_t lo, int64_t hi) {
  const auto it = std::upper_bound(runs.begin(), runs.end(), lo, [](int64_t at, const ByteRun &r) { return at < r.lo; });
  return it != runs.begin() && std::prev(it)->hi >= hi;
}

// Of one allocation, and at the same distance whatever the symbols are.
bool moveAlike(const Filled &a, const Filled &b) {
  return a.memory == b.memory && a.object == b.object && a.start.terms == b.start.terms;
}

bool alike(const Filled &a, const Filled &b) { // but for the bytes
  return moveAlike(a, b) && a.firstPartition == b.firstPartition && a.lastPartition == b.lastPartition &&
         a.matmul == b.matmul;
}

// `upper`, which begins `step` times a whole number behind `lower`, goes on where that ends or before: both together have so many of that
// step. 0: they leave something out.
int64_t countTogether(int64_t distance, int64_t step, int64_t lower, int64_t upper) {
  return distance % step || distance / step > lower ? 0 : std::max(lower, distance / step + upper);
}

// Two pieces that are one but for the count of one step, or for their widths, and lie beside each other there: `f` becomes both.
bool grow(Filled &f, const Filled &g) {
  const bool first = f.start.constant <= g.start.constant;
  const Filled &lower = first ? f : g, &upper = first ? g : f;
  const int64_t start = lower.start.constant, distance = upper.start.constant - start;
  const auto &a = lower.dims, &b = upper.dims;
  std::vector<Stride> dims = a.size() < b.size() ? b : a;
  int64_t width = lower.width;
  if (a == b && distance <= lower.width) {
    width = std::max(lower.width, distance + upper.width);
  } else if (lower.width != upper.width) {
    return false;
  } else if (a == b) { // along any step
    const auto along = std::find_if(dims.begin(), dims.end(),
                                    [&](const Stride &s) { return countTogether(distance, s.step, s.count, s.count) > 0; });
    if (along == dims.end())
      return false;
    along->count = countTogether(distance, along->step, along->count, along->count);
  } else { // along the one in which they differ, and which one of them may not have
    const size_t k = static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
    const bool inA = a.size() >= b.size(), inB = b.size() >= a.size();
    if (k == dims.size() || (inA && inB && a[k].step != b[k].step) ||
        !std::equal(a.begin() + static_cast<int64_t>(k + inA), a.end(), b.begin() + static_cast<int64_t>(k + inB), b.end()))
      return false;
    dims[k].count = countTogether(distance, dims[k].step, inA ? a[k].count : 1, inB ? b[k].count : 1);
    if (dims[k].count == 0)
      return false;
  }
  f.start.constant = start;
  f.width = width;
  f.dims = std::move(dims);
  f.content = f.content == g.content ? f.content : 0;
  tidy(f);
  return true;
}

} // namespace

void tidy(Filled &f) {
  for (Stride &s : f.dims)
    if (s.step < 0) {
      f.start.constant += s.step * (s.count - 1);
      s.step = -s.step;
    }
  std::erase_if(f.dims, [](const Stride &s) { return s.count <= 1 || s.step == 0; });
  std::sort(f.dims.begin(), f.dims.end(), [](const Stride &a, const Stride &b) { return a.step > b.step; });
  while (!f.dims.empty() && f.dims.back().step <= f.width) {
    f.width += f.dims.back().step * (f.dims.back().count - 1);
    f.dims.pop_back();
  }
  for (size_t i = 1; i < f.dims.size();) // a dimension that goes on where the next slower one steps is part of it
    if (f.dims[i - 1].step == f.dims[i].step * f.dims[i].count) {
      f.dims[i].count *= f.dims[i - 1].count;
      f.dims.erase(f.dims.begin() + static_cast<int64_t>(i) - 1);
    } else {
      ++i;
    }
}

static std::optional<Filled> pieceOf(const Place &p, uint32_t memory) {
  if (!p.start.form || p.chosen || (p.partitions && !p.partition.isConstant()))
    return std::nullopt;
  Filled f;
  f.memory = memory;
  f.object = p.object;
  f.firstPartition = p.firstPartition;
  f.lastPartition = p.lastPartition;
  f.start = *p.start.form;
  f.width = sizeOf(p.pattern->dtype);
  for (int i = 0; i < p.pattern->rank; ++i)
    f.dims.push_back({int64_t{p.pattern->dims[i].stride} * sizeOf(p.pattern->dtype), p.pattern->dims[i].count});
  tidy(f);
  return f;
}

void Walk::fill(const Place &p, bool defined, bool matmul, uint32_t content) {
  if (!defined)
    return;
  if (std::optional<Filled> f = pieceOf(p, memoryOf(p))) {
    f->matmul = matmul;
    f->content = content;
    keepFilled(std::move(*f));
  }
}

void Walk::keepFilled(Filled f) {
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = 0; i < state.filled.size() && !grown; ++i) {
      grown = alike(f, state.filled[i]) && grow(f, state.filled[i]);
      if (grown)
        state.filled.erase(state.filled.begin() + static_cast<int64_t>(i));
    }
  }
  if (f.start.isConstant() && hasAtMost(f, kMostRuns))
    return settle(f);
  if (state.filled.size() >= kMostPieces) {
    settleIfKnown(state.filled.front());
    state.filled.erase(state.filled.begin());
  }
  state.filled.push_back(std::move(f));
}

void Walk::settleIfKnown(const Filled &f) {
  if (f.start.isConstant() && hasAtMost(f, kMostLookedUp))
    settle(f);
}

void Walk::settleOutputs() {
  for (const Filled &f : state.filled)
    if (f.object.kind == ObjectKind::Tensor && program.tensors[f.object.index].kind == TensorKind::Output)
      settleIfKnown(f);
}

// Into the map of bytes. Whatever was written since by others took the piece away.
void Walk::settle(const Filled &f) {
  Place p;
  p.object = f.object;
  p.space = program.space(f.object);
  p.core = p.space == Space::Hbm ? static_cast<int>(f.memory - 8) % 2 : static_cast<int>(f.memory) / 2;
  p.firstPartition = f.firstPartition;
  p.lastPartition = f.lastPartition;
  forEachRun(f, 0, f.start.constant, [&p](int64_t lo, int64_t hi) { p.runs.push_back({lo, hi}); });
  const int32_t owner = p.space == Space::Hbm ? -1 : static_cast<int32_t>(f.object.index);
  forEachRect(p, [&](ByteMap &map, int64_t lo, int64_t hi, uint32_t mask) {
    map.visit(lo, hi, mask, [&](Cell &c) {
      c.defined = true;
      c.matmul = f.matmul;
      c.owner = owner;
      c.content = f.content;
    });
  });
}

// A write: pieces that it may meet lose what it may have changed.
void Walk::disturb(const Place &p, bool defined, bool matmul) {
  if (state.filled.empty() || p.runs.empty())
    return;
  const uint32_t memory = memoryOf(p);
  std::erase_if(state.filled, [&](Filled &f) {
    if (f.memory != memory ||
        (p.space != Space::Hbm && (f.lastPartition <= p.firstPartition || p.lastPartition <= f.firstPartition)))
      return false;
    Wide lo = f.start.constant, hi = lo + spanOf(f).hi;
    for (const Form::Term &t : f.start.terms)
      reach(t, lo, hi);
    if (hi < p.runs.front().lo || lo >= p.runs.back().hi)
      return false;
    if (f.object != p.object || !defined)
      return true;
    f.matmul &= matmul;
    f.content = 0;
    return false;
  });
}

// The piece that holds all bytes of the place, or null.
const Filled *Walk::filledBy(const Place &p) const {
  if (state.filled.empty())
    return nullptr;
  const std::optional<Filled> wanted = pieceOf(p, memoryOf(p));
  if (!wanted)
    return nullptr;
  for (const Filled &f : state.filled) {
    if (!moveAlike(f, *wanted) || f.firstPartition > wanted->firstPartition || f.lastPartition < wanted->lastPartition)
      continue;
    const int64_t offset = wanted->start.constant - f.start.constant;
    if (f.dims == wanted->dims && offset >= 0 && offset + wanted->width <= f.width)
      return &f;
    if (!hasAtMost(f, kMostLookedUp) || !hasAtMost(*wanted, kMostLookedUp))
      continue;
    const std::vector<ByteRun> have = runsOf(f, 0);
    bool inside = true;
    forEachRun(*wanted, 0, offset, [&](int64_t lo, int64_t hi) { inside = inside && isInOneOf(have, lo, hi); });
    if (inside)
      return &f;
  }
  return nullptr;
}

// Whether each byte of a place is defined, in one of several pieces or in the map of bytes: for places that move, of which only what moves
// with them can say it, and for those whose runs are too many to be kept in the map one by one.
bool Walk::definedTogether(const Place &p, int32_t owner) {
  const std::optional<Filled> wanted = pieceOf(p, memoryOf(p));
  if (!wanted || !hasAtMost(*wanted, kMostLookedUp))
    return false;
  std::vector<const Filled *> pieces;
  std::set<int> cuts{wanted->firstPartition,
                     wanted->lastPartition}; // between two of them the same pieces hold all partitions
  for (const Filled &f : state.filled) {
    if (!moveAlike(f, *wanted) || !hasAtMost(f, kMostLookedUp))
      continue;
    pieces.push_back(&f);
    for (int cut : {f.firstPartition, f.lastPartition})
      cuts.insert(std::clamp(cut, wanted->firstPartition, wanted->lastPartition));
  }
  const std::vector<int> bands(cuts.begin(), cuts.end()); // of HBM there is one, without partitions
  bool defined = true;
  for (size_t i = 0; i < std::max<size_t>(bands.size() - 1, 1) && defined; ++i) {
    Place band = p;
    band.firstPartition = bands[i];
    band.lastPartition = bands[std::min(i + 1, bands.size() - 1)];
    std::vector<ByteRun> have;
    for (const Filled *f : pieces)
      if (f->firstPartition <= band.firstPartition && f->lastPartition >= band.lastPartition)
        forEachRun(*f, 0, f->start.constant, [&have](int64_t lo, int64_t hi) { have.push_back({lo, hi}); });
    mergeRuns(have);
    auto inMap = [&](int64_t lo, int64_t hi) {
      bool all = wanted->start.isConstant();
      forEachMap(band, [&](ByteMap &map, uint32_t mask) {
        all = all && map.all(lo, hi, mask, [&](const Cell &c) { return c.defined && c.owner == owner; });
      });
      return all;
    };
    forEachRun(*wanted, 0, wanted->start.constant, [&](int64_t lo, int64_t hi) {
      auto next = std::partition_point(have.begin(), have.end(), [lo](const ByteRun &r) { return r.hi <= lo; });
      while (lo < hi && defined) { // what lies before the next run of a piece, and that run
        const bool any = next != have.end() && next->lo < hi;
        const int64_t until = any ? std::max(lo, next->lo) : hi;
        defined = until == lo || inMap(lo, until);
        lo = any ? (next++)->hi : hi;
      }
    });
  }
  return defined;
}

} // namespace glia::flow
