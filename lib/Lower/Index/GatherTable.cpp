#include "GatherTable.h"
#include "GatherRows.h"
#include "Lower/Window/WindowPlan.h"

#include <algorithm>
#include <cstring>

namespace glia::emit {

namespace {

constexpr int64_t kTableBytes = 32768, kPiece = 2048; // of the operand; elements of the result per partition at a time

class FromTable {
public:
  FromTable(KernelBuilder &k, const IndexForm &f, const TableGather &g, const Tile &data, const Tile &indices,
            const Tile &out)
      : k(k), f(f), g(g), indices(indices), out(out), width(static_cast<int64_t>(g.window.size())) {
    table = k.sbuf(data.dtype, 128, {g.elements});
    load(k, table, data, {{0, 128}}, {{1, g.elements}}, 0, 0);
    if (width > 1) {
      std::vector<int32_t> values(g.window.begin(), g.window.end());
      std::vector<std::byte> bytes(values.size() * 4);
      std::memcpy(bytes.data(), values.data(), bytes.size());
      offsets = k.sbuf(DType::I32, 128, {width});
      load(k, offsets, k.constant("window", DType::I32, {width}, bytes), {{0, 128}}, {{1, width}}, 0, 0);
    }
  }

  // All partitions, with as many places each; then what is left over.
  void run() {
    const int64_t most = std::max<int64_t>(kPiece / width, 1);
    for (int64_t at = 0; at < g.places;) {
      const int64_t left = g.places - at, each = std::clamp<int64_t>(left / 128, 1, most),
                    rows = std::min<int64_t>(128, left / each);
      piece(at, rows, each);
      at += rows * each;
    }
  }

private:
  KernelBuilder &k;
  const IndexForm &f;
  const TableGather &g;
  Tile indices, out, table, offsets;
  int64_t width;

  void piece(int64_t first, int64_t rows, int64_t each) {
    Tile sum;
    for (const IndexForm::Component &c : f.components) {
      const Tile raw = k.sbuf(indices.dtype, rows, {each}), at = k.sbuf(DType::F32, rows, {each});
      Tile from = indices;
      from.offset += c.at + first * g.index;
      load(k, raw, from, {{each * g.index, rows}}, {{g.index, each}}, 0, 0);
      k.scalar(at, raw, "max", 0.0f, false, "min", static_cast<double>(c.most));
      if (c.stride != 1)
        k.scalar(at, at, "multiply", static_cast<double>(c.stride));
      if (sum.handle >= 0)
        k.tensor(at, at, sum, "add");
      sum = at;
    }
    if (width > 1) {
      const Tile all = k.sbuf(DType::F32, rows, {each * width});
      k.tensor(all, sum.broadcast(1, width), offsets.rows(0, rows).inserted(0, each), "add");
      sum = all;
    }
    // What is proved: every index is inside.
    const Tile index = k.sbuf(DType::U32, rows, {each * width}), y = k.sbuf(table.dtype, rows, {each * width});
    k.scalar(index, sum, "max", 0.0f, false, "min", static_cast<double>(g.elements - 1));
    k.emit("nc_n_gather", {k.operand(y), k.operand(table.rows(0, rows)), k.operand(index)});
    Tile to = out;
    to.offset += first * g.other;
    Dims columns{{g.other, each}};
    columns.insert(columns.end(), g.result.begin(), g.result.end());
    store(k, to, y, {{each * g.other, rows}}, merged(columns), 0, 0);
  }
};

} // namespace

std::optional<TableGather> tableGatherOf(const IndexForm &f, DType t) {
  TableGather g;
  g.elements = 1;
  for (int64_t n : f.shape)
    g.elements *= n;
  g.places = f.places();
  if (g.elements * sizeOf(t) > kTableBytes || f.components.empty() || f.windowElements() > kPiece)
    return std::nullopt;
  Dims index, other;
  for (const IndexForm::Batch &b : f.batch) {
    if (b.data != 0)
      return std::nullopt;
    index.push_back({b.index, b.count});
    other.push_back({b.other, b.count});
  }
  index = merged(index);
  other = merged(other);
  if (index.size() > 1 || other.size() > 1)
    return std::nullopt;
  g.index = index.empty() ? 0 : index[0].stride;
  g.other = other.empty() ? 0 : other[0].stride;
  std::vector<int64_t> counts;
  for (const IndexForm::Window &w : f.window) {
    counts.push_back(w.count);
    g.result.push_back({w.other, w.count});
  }
  forEachIndex(counts, [&](const std::vector<int64_t> &at) {
    int64_t offset = 0;
    for (size_t d = 0; d < at.size(); ++d)
      offset += at[d] * f.window[d].data;
    g.window.push_back(offset);
  });
  return g;
}

double nanosecondsOf(const Target &target, const TableGather &g, DType t) {
  const double bytes = static_cast<double>(128 * g.elements * sizeOf(t)),
               each = static_cast<double>((g.places * static_cast<int64_t>(g.window.size()) + 127) / 128);
  return 4 * target.number("dma.fixed_latency") +
         bytes / (target.number("dma.engines") * target.number("dma.bytes_per_ns")) +
         5 * each / target.number("clock.vector");
}

void gatherFromTable(KernelBuilder &k, const IndexForm &f, const TableGather &g, const Tile &data, const Tile &indices,
                     const Tile &out) {
  FromTable(k, f, g, data, indices, out).run();
}

} // namespace glia::emit
