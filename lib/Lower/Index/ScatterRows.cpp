#include "ScatterRows.h"
#include "Lower/Window/WindowPlan.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace glia::emit {

namespace {

constexpr int64_t kExact = 1 << 24; // whole numbers below are exact in fp32
constexpr int64_t kColumns = 512;   // of a product
constexpr int64_t kHeld = 40960;    // bytes of updates per partition that stay on chip

int64_t tiles(int64_t n) { return (n + 127) / 128; }

// As many columns as let all updates stay on chip: 4 bytes of each, and 2 + 2 for what is not finite.
int64_t columnsFor(const RowScatter &s) {
  return std::min({kColumns, s.width, kHeld / (8 * std::max<int64_t>(1, tiles(s.places)))});
}

// The first row of each place, for indices of 0.
std::vector<int64_t> firstRows(const RowScatter &s) {
  std::vector<int64_t> counts, out;
  for (const Tile::Dim &d : s.index)
    counts.push_back(d.count);
  forEachIndex(counts, [&](const std::vector<int64_t> &at) {
    int64_t v = 0;
    for (size_t j = 0; j < at.size(); ++j)
      v += at[j] * s.own[j];
    out.push_back(v);
  });
  return out;
}

// The same updates in an order in which neighbours mean neighbouring rows, as far as their batches say so.
RowScatter byRows(const RowScatter &s) {
  std::vector<size_t> order(s.own.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return s.own[a] != s.own[b] ? s.own[a] > s.own[b] : a < b; });
  RowScatter out = s;
  for (size_t i = 0; i < order.size(); ++i) {
    out.index[i] = s.index[order[i]];
    out.other[i] = s.other[order[i]];
    out.own[i] = s.own[order[i]];
  }
  return out;
}

struct Reach { // of 128 places: rows that they may mean, both included
  int64_t first, last;
  bool meets(int64_t row, int64_t n) const { return first < row + n && row <= last; }
  int64_t products() const { return last / 128 - first / 128 + 1; }
};

std::vector<Reach> reachOf(const RowScatter &s) {
  int64_t most = 0;
  for (const RowScatter::Component &c : s.components)
    most += c.most * c.scale;
  const std::vector<int64_t> rows = firstRows(s);
  std::vector<Reach> out;
  for (size_t p = 0; p < rows.size(); p += 128) {
    const auto [low, high] = std::minmax_element(rows.begin() + static_cast<std::ptrdiff_t>(p),
                                                 rows.begin() + static_cast<std::ptrdiff_t>(std::min(p + 128, rows.size())));
    out.push_back({*low, std::min(*high + most, s.rows - 1)});
  }
  return out;
}

} // namespace

std::optional<RowScatter> rowScatterOf(const IndexForm &f) {
  RowScatter s;
  s.places = f.places();
  s.rows = s.width = 1;
  size_t lead = f.shape.size(); // dimensions before: indexed; from here on whole
  while (lead > 0 && f.sizes[lead - 1] == f.shape[lead - 1] &&
         llvm::none_of(f.components, [&](const auto &c) { return c.dim == static_cast<int64_t>(lead) - 1; }) &&
         llvm::none_of(f.batch, [&](const auto &b) { return b.dim == static_cast<int64_t>(lead) - 1; }))
    s.width *= f.shape[--lead];
  for (size_t d = 0; d < lead; ++d) {
    const bool indexed = llvm::any_of(f.components, [&](const auto &c) { return c.dim == static_cast<int64_t>(d); }) ||
                         llvm::any_of(f.batch, [&](const auto &b) { return b.dim == static_cast<int64_t>(d); });
    if (f.sizes[d] != 1 || !indexed)
      return std::nullopt;
    s.rows *= f.shape[d];
  }
  int64_t stride = 1; // the updates of a row lie side by side
  for (size_t i = f.window.size(); i-- > 0; stride *= f.window[i].count)
    if (f.window[i].count > 1 && f.window[i].other != stride)
      return std::nullopt;
  for (const IndexForm::Component &c : f.components)
    s.components.push_back({c.at, c.most, c.stride / s.width});
  for (const IndexForm::Batch &b : f.batch) {
    s.index.push_back({b.index, b.count});
    s.other.push_back({b.other, b.count});
    s.own.push_back(b.data / s.width);
  }
  if (s.rows >= kExact || s.places >= kExact || s.rows == 0 || s.width == 0 || s.places == 0)
    return std::nullopt;
  return s;
}

bool sumsWell(const RowScatter &s, const Combiner &c) {
  if (c.op != "add" || !isFloat(c.type) || sizeOf(c.type) < 2 || columnsFor(s) < std::min<int64_t>(s.width, 32))
    return false;
  double products = 0;
  for (const Reach &r : reachOf(byRows(s)))
    products += static_cast<double>(r.products());
  products *= static_cast<double>((s.width + columnsFor(s) - 1) / columnsFor(s));
  return products <= 6 * static_cast<double>(s.places) && products < 20000; // against an update after the other
}

bool replacesWell(const RowScatter &s) { return merged(s.other).size() <= 1 && s.places <= 8192 && s.rows < 200000; }

namespace {

// The row that each place means, as a number in fp32; that of no row if it is outside. Places on partitions, or all of them along every
// partition.
class RowNumbers {
public:
  RowNumbers(KernelBuilder &k, const RowScatter &s, const Tile &indices) : k(k), s(s), indices(indices) {
    if (std::all_of(s.own.begin(), s.own.end(), [](int64_t n) { return n == 0; }))
      return;
    const std::vector<int64_t> rows = firstRows(s);
    const std::vector<float> values(rows.begin(), rows.end());
    std::vector<std::byte> bytes(values.size() * 4);
    std::memcpy(bytes.data(), values.data(), bytes.size());
    table = k.constant("places", DType::F32, {s.places}, bytes);
  }

  Tile onPartitions(int64_t from, int64_t n) {
    return numbers(n, 1, [&](const Tile &t, const Tile &hbm, const Dims &view) { load(k, t, hbm, view, {}, from, 0); });
  }
  Tile along(int64_t partitions, int64_t from, int64_t n) {
    return numbers(partitions, n, [&](const Tile &t, const Tile &hbm, const Dims &view) {
      load(k, t, hbm, {{0, partitions}}, view, 0, from);
    });
  }

private:
  KernelBuilder &k;
  const RowScatter &s;
  Tile indices, table;

  template <class Fetch> Tile numbers(int64_t nr, int64_t nc, const Fetch &fetch) {
    const Tile sum = k.sbuf(DType::F32, nr, {nc}), inside = k.sbuf(DType::F32, nr, {nc});
    bool begun = table.handle >= 0, checked = false;
    if (begun)
      fetch(sum, table, {{1, s.places}});
    for (const RowScatter::Component &c : s.components) {
      const Tile raw = k.sbuf(indices.dtype, nr, {nc}), f = k.sbuf(DType::F32, nr, {nc}), ok = k.sbuf(DType::F32, nr, {nc});
      Tile from = indices;
      from.offset += c.at;
      fetch(raw, from, merged(s.index));
      k.move(f, raw);                                              // beyond 2^24 not exact, and outside anyway
      if (table.handle >= 0 || c.scale * (c.most + 1) != s.rows) { // else what is outside is no row, whatever the others are
        k.scalar(checked ? ok : inside, f, "greater_equal", 0.0f);
        if (std::exchange(checked, true))
          k.tensor(inside, inside, ok, "multiply");
        k.scalar(ok, f, "less_equal", static_cast<double>(c.most));
        k.tensor(inside, inside, ok, "multiply");
      }
      if (begun && c.scale != 1)
        k.scalar(f, f, "multiply", static_cast<double>(c.scale));
      if (std::exchange(begun, true))
        k.tensor(sum, sum, f, "add");
      else
        k.scalar(sum, f, "multiply", static_cast<double>(c.scale));
    }
    if (!begun)
      k.fill(sum, 0);
    if (!checked)
      return sum;
    k.scalar(sum, sum, "add", 1.0f);
    k.tensor(sum, sum, inside, "multiply");
    k.scalar(sum, sum, "subtract", 1.0f);
    return sum;
  }
};

class Sums {
public:
  Sums(KernelBuilder &k, const RowScatter &s, DType type, const Tile &data, double splatData, const Tile &indices,
       const Tile &updates, double splat, const Tile &out)
      : k(k), s(byRows(s)), type(type), data(data), splatData(splatData), indices(indices), updates(updates), splat(splat),
        out(out), reach(reachOf(this->s)) {}

  void run() {
    RowNumbers numbers(k, s, indices);
    for (int64_t p = 0; p < s.places; p += 128)
      targets.push_back(numbers.onPartitions(p, std::min<int64_t>(128, s.places - p)));
    count = k.sbuf(DType::F32, 128, {128});
    k.iota(count, {1, 128}, 0, 0);
    const int64_t columns = columnsFor(s);
    for (int64_t c = 0; c < s.width; c += columns) {
      const int64_t nc = std::min(columns, s.width - c);
      parts.clear();
      for (int64_t p = 0; p < s.places; p += 128)
        parts.push_back(split(p, std::min<int64_t>(128, s.places - p), c, nc));
      for (int64_t r = 0; r < s.rows; r += 128)
        rows(r, std::min<int64_t>(128, s.rows - r), c, nc);
    }
  }

private:
  KernelBuilder &k;
  RowScatter s;
  DType type;
  Tile data;
  double splatData;
  Tile indices, updates;
  double splat;
  Tile out, count;
  std::vector<Reach> reach; // of each of `targets`
  std::vector<Tile> targets;
  struct Part {
    Tile finite, up, down; // values, and ones where there is +infinity or NaN, and -infinity or NaN
  };
  std::vector<Part> parts;

  static constexpr float kInf = std::numeric_limits<float>::infinity();

  Part split(int64_t p, int64_t n, int64_t c, int64_t nc) {
    const Tile x = k.sbuf(type, n, {nc}), mask = k.sbuf(DType::U8, n, {nc}), nan = k.sbuf(DType::BF16, n, {nc});
    Part part{k.sbuf(type, n, {nc}), k.sbuf(DType::BF16, n, {nc}), k.sbuf(DType::BF16, n, {nc})};
    if (updates.handle < 0) {
      k.fill(x, splat);
    } else {
      Tile from = updates;
      from.offset += c;
      load(k, x, from, merged(s.other), {{1, nc}}, p, 0);
    }
    k.scalar(mask, x, "abs", 0.0f, false, "less", kInf); // NaN is not less
    k.fill(part.finite, 0);
    k.select(part.finite, mask, x);
    k.tensor(nan, x, x, "not_equal");
    k.scalar(part.up, x, "equal", kInf);
    k.tensor(part.up, part.up, nan, "add");
    k.scalar(part.down, x, "equal", -kInf);
    k.tensor(part.down, part.down, nan, "add");
    return part;
  }

  void rows(int64_t r, int64_t n, int64_t c, int64_t nc) {
    const Tile sum = k.psum(n, {nc}), up = k.psum(n, {nc}), down = k.psum(n, {nc});
    bool begun = false; // each row is one that some place may mean
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!reach[i].meets(r, n))
        continue;
      const int64_t np = targets[i].partitions;
      const auto ones = [&](DType t) { // [place, row]: the place means the row
        const Tile m = k.sbuf(t, np, {n});
        k.scalar(m, count.rows(0, np).columns(0, n), "add", static_cast<double>(r), false, "equal", targets[i]);
        return m;
      };
      const Tile narrow = ones(DType::BF16), own = type == DType::BF16 ? narrow : ones(type);
      k.matmul(sum, own, parts[i].finite, begun);
      k.matmul(up, narrow, parts[i].up, begun);
      k.matmul(down, narrow, parts[i].down, begun);
      begun = true;
    }
    const Tile old = k.sbuf(type, n, {nc}), total = k.sbuf(DType::F32, n, {nc}), result = k.sbuf(type, n, {nc});
    if (data.handle < 0)
      k.fill(old, splatData);
    else
      k.copy(old, part(data, r, n, c, nc));
    k.tensor(total, old, sum, "add");
    for (const auto &[where, value] :
         {std::pair<const Tile &, float>(up, kInf), std::pair<const Tile &, float>(down, -kInf)}) {
      const Tile mask = k.sbuf(DType::U8, n, {nc}), more = k.sbuf(DType::F32, n, {nc});
      k.scalar(mask, where, "greater", 0.0f);
      k.fill(more, 0);
      k.select(more, mask, value);
      k.tensor(total, total, more, "add");
    }
    k.move(result, total);
    k.copy(part(out, r, n, c, nc), result);
  }

  Tile part(Tile t, int64_t r, int64_t n, int64_t c, int64_t nc) const {
    t.offset += r * s.width + c;
    t.dims = {{s.width, n}, {1, nc}};
    return t;
  }
};

} // namespace

void scatterSums(KernelBuilder &k, const RowScatter &s, DType type, const Tile &data, double splatData, const Tile &indices,
                 const Tile &updates, double splat, const Tile &out) {
  Sums(k, s, type, data, splatData, indices, updates, splat, out).run();
}

void scatterReplacing(KernelBuilder &k, const RowScatter &s, const Tile &data, const Tile &indices, const Tile &updates,
                      const Tile &out) {
  constexpr int64_t kPiece = 2048;
  RowNumbers numbers(k, s, indices);
  // What every partition has: the row of each place, and the place's number, from 1.
  std::vector<Tile> targets, order;
  for (int64_t p = 0; p < s.places; p += kPiece) {
    const int64_t n = std::min(kPiece, s.places - p);
    targets.push_back(numbers.along(128, p, n));
    order.push_back(k.sbuf(DType::F32, 128, {n}));
    k.iota(order.back(), {1, static_cast<int32_t>(n)}, static_cast<int32_t>(p + 1), 0);
  }
  const Dims other = merged(s.other);
  const int64_t step = other.empty() ? s.width : other[0].stride;
  const int64_t columns = std::min<int64_t>(s.width, 8192 / sizeOf(out.dtype));
  for (int64_t r = 0; r < s.rows; r += 128) {
    const int64_t n = std::min<int64_t>(128, s.rows - r);
    const Tile mine = k.sbuf(DType::F32, n, {1}), last = k.sbuf(DType::F32, n, {1}), index = k.sbuf(DType::I32, n, {1});
    k.iota(mine, {0, 1}, static_cast<int32_t>(r), 1);
    for (size_t i = 0; i < targets.size(); ++i) {
      const int64_t m = targets[i].elements();
      const Tile match = k.sbuf(DType::F32, n, {m}), found = k.sbuf(DType::F32, n, {1});
      k.scalar(match, targets[i].rows(0, n), "equal", mine);
      k.tensor(match, match, order[i].rows(0, n), "multiply");
      k.reduce(found, match, "max");
      if (i == 0)
        k.move(last, found);
      else
        k.tensor(last, last, found, "max");
    }
    k.scalar(index, last, "subtract", 1.0f); // -1: none, and left alone
    for (int64_t c = 0; c < s.width; c += columns) {
      const int64_t nc = std::min(columns, s.width - c);
      const Tile t = k.sbuf(out.dtype, n, {nc});
      Tile from = data, to = out, more = updates;
      from.offset += r * s.width + c;
      from.dims = {{s.width, n}, {1, nc}};
      to.offset += r * s.width + c;
      to.dims = from.dims;
      more.offset += c;
      more.dims = {{0, n}, {1, nc}};
      k.copy(t, from);
      k.gather(t, more, index, step, true);
      k.copy(to, t);
    }
  }
}

} // namespace glia::emit
