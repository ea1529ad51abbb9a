#include "WindowPlan.h"
#include "Lower/Rows/RowsPlan.h"

#include <algorithm>

namespace glia::emit {

int64_t WindowPlan::rowCount() const {
  int64_t n = 1;
  for (const WindowDim &d : rows)
    n *= d.out;
  return n;
}

int64_t WindowPlan::rowTaps() const {
  int64_t n = 1;
  for (const WindowDim &d : rows)
    n *= d.size;
  return n;
}

namespace {

constexpr int64_t kEnoughRows = 64, kMostRowTaps = 32; // half of it is enough if a load per tap is the price
constexpr size_t kMostFree = 4;                        // dimensions of an operand on chip

// A dimension without windows may be cut in two: parts for the partitions, and runs long enough for a transfer.
void splitOntoRows(WindowPlan &p, int64_t elementBytes) {
  constexpr int64_t kShortRun = 64; // bytes
  const int64_t rows = p.rowCount();
  for (size_t i = p.free.size(); i-- > 0;) {
    WindowDim &d = p.free[i];
    if (!d.isPlain() || rows >= kEnoughRows / 2)
      continue;
    int64_t parts = std::min<int64_t>(128 / rows, d.out);
    while (parts > 1 && (d.out % parts != 0 || (i + 1 == p.free.size() && d.out / parts * elementBytes < kShortRun)))
      --parts;
    if (parts < 2)
      continue;
    WindowDim outer = d;
    d.in = d.out = d.out / parts;
    outer.in = outer.out = parts;
    outer.inStride *= d.in;
    outer.outStride *= d.out;
    p.rows.push_back(outer);
    return;
  }
}

} // namespace

std::optional<WindowPlan> planWindows(std::vector<WindowDim> dims, int64_t elementBytes, int64_t bytesIn, int64_t bytesOut,
                                      bool windowsOnRows) {
  WindowPlan p;
  if (dims.empty())
    dims.emplace_back();
  size_t at = 0;
  for (; at + 1 < dims.size(); ++at) {
    const WindowDim &d = dims[at];
    const int64_t rows = p.rowCount();
    const bool window = !d.isPlain();
    if (window && (!windowsOnRows || d.base != 1 || d.out == 1))
      break;
    if (at > 0 && rows >= (window ? kEnoughRows / 2 : kEnoughRows))
      break;
    if (window && p.rowTaps() * d.size > kMostRowTaps)
      break;
    p.rows.push_back(d);
  }
  p.free.assign(dims.begin() + static_cast<long>(at), dims.end());
  splitOntoRows(p, elementBytes);
  if (p.free.size() > kMostFree)
    return std::nullopt;
  for (const WindowDim &d : p.free)
    p.box.push_back(d.out);
  const auto need = [&] {
    int64_t in = 1, out = 1;
    for (size_t i = 0; i < p.free.size(); ++i) {
      in *= p.free[i].mostInputs(p.box[i]);
      out *= p.box[i];
    }
    return in * bytesIn + out * bytesOut;
  };
  for (size_t i = 0; i < p.box.size() && need() > kRowsBudget;)
    if (p.box[i] > 1)
      p.box[i] = (p.box[i] + 1) / 2;
    else
      ++i;
  return need() > kRowsBudget ? std::nullopt : std::optional(std::move(p));
}

void forEachIndex(const std::vector<int64_t> &counts, llvm::function_ref<void(const std::vector<int64_t> &)> body) {
  std::vector<int64_t> index(counts.size(), 0);
  for (int64_t c : counts)
    if (c <= 0)
      return;
  for (;;) {
    body(index);
    size_t d = counts.size();
    while (d > 0 && ++index[d - 1] == counts[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

void forEachBox(const std::vector<int64_t> &counts, const std::vector<int64_t> &box,
                llvm::function_ref<void(const std::vector<int64_t> &, const std::vector<int64_t> &)> body) {
  std::vector<int64_t> pieces(counts.size());
  for (size_t i = 0; i < counts.size(); ++i)
    pieces[i] = (counts[i] + box[i] - 1) / box[i];
  forEachIndex(pieces, [&](const std::vector<int64_t> &at) {
    std::vector<int64_t> from(at.size()), count(at.size());
    for (size_t i = 0; i < at.size(); ++i) {
      from[i] = at[i] * box[i];
      count[i] = std::min(box[i], counts[i] - from[i]);
    }
    body(from, count);
  });
}

std::vector<RowRun> rowRuns(int64_t rows, llvm::function_ref<std::optional<int64_t>(int64_t)> placeOf) {
  std::vector<RowRun> runs;
  for (int64_t r = 0; r < rows; ++r) {
    const std::optional<int64_t> at = placeOf(r);
    if (!at)
      continue;
    if (!runs.empty() && runs.back().from + runs.back().count == r) {
      RowRun &last = runs.back();
      if (last.count == 1)
        last.step = *at - last.at;
      if (*at == last.at + last.step * last.count) {
        ++last.count;
        continue;
      }
    }
    runs.push_back({r, 1, *at, 0});
  }
  return runs;
}

void loadRuns(KernelBuilder &k, const Tile &flat, const Tile &hbm, const std::vector<RowRun> &runs, const Dims &cols) {
  for (const RowRun &r : runs) {
    Tile origin = hbm;
    origin.offset += r.at;
    load(k, flat.rows(r.from, r.count), origin, {{r.step, r.count}}, merged(cols), 0, 0);
  }
}

} // namespace glia::emit
