#include "WeightedKernel.h"
#include "Lower/Contract/OperandTiles.h"

#include <algorithm>
#include <cmath>

namespace glia::emit {

namespace {

constexpr int64_t kColumnsPerLoad = 2048, kBank = 512; // columns of a load; numbers of a bank of PSUM
constexpr int64_t kPieces = 3;                         // 16-bit floats that hold an fp32 number
constexpr double kLowest = -3e38;                      // stands for lower numbers that are not infinite

} // namespace

WeightedKernel::WeightedKernel(KernelBuilder &k, const WeightedMean &m, const WeightedPlan &p, Epilogue &behind)
    : k(k), m(m), p(p), behind(behind), place(m.result->getLoc()), depth((p.contract + kContract - 1) / kContract),
      masked(std::isinf(m.masked) ? m.masked : std::max(m.masked / m.scale, kLowest)) {}

void WeightedKernel::run() {
  k.location(place);
  ones = k.sbuf(DType::BF16, kPieces, {kContract});
  k.fill(ones, 1);
  for (int64_t b = 0; b < p.batches; ++b) {
    k.location(place);
    if (b % p.sharing == 0)
      loadColumns(b);
    for (int64_t r = 0; r < p.row.count; r += kRowsAtOnce)
      rowsAt(b, r, std::min(kRowsAtOnce, p.row.count - r));
  }
}

void WeightedKernel::loadColumns(int64_t batch) {
  columns.clear();
  for (int64_t c = 0; c < p.columns; c += kColumnsPerLoad)
    columns.push_back(loadPanel(k, p.columnSide, batch, 1, 0, depth, c, std::min(kColumnsPerLoad, p.columns - c)));
  const int64_t blocks = (p.columns + kContract - 1) / kContract;
  values = k.sbuf(p.values.type, std::min(kContract, p.columns), {1, blocks, p.width + 1});
  fillPanel(k, values.part(2, 0, p.width), p.values, batch, 1, 0, blocks, 0, p.width);
  k.fill(values.part(2, p.width, 1), 1);
}

// Of one block of what is contracted.
Tile WeightedKernel::columnsAt(int64_t block, int64_t from, int64_t n) const {
  const int64_t i = from / kColumnsPerLoad;
  return columns[static_cast<size_t>(i)].index(0, 0).index(0, block).part(0, from - i * kColumnsPerLoad, n);
}

WeightedKernel::Holds WeightedKernel::holds(int64_t row, int64_t rows, int64_t column, int64_t n) const {
  Holds out = Holds::Everywhere;
  for (const WeightedPlan::Keep &c : p.keep) {
    const int64_t a = c.r * row, b = c.r * (row + rows - 1), d = c.c * column, e = c.c * (column + n - 1);
    if (std::max(a, b) + std::max(d, e) + c.constant < 0)
      return Holds::Nowhere;
    if (std::min(a, b) + std::min(d, e) + c.constant < 0)
      out = Holds::Somewhere;
  }
  return out;
}

// 1 where a condition does not hold: rows on partitions, or turned.
Tile WeightedKernel::mask(bool turned, int64_t row, int64_t rows, int64_t column, int64_t n) {
  std::vector<int64_t> key{turned, rows, n};
  for (const WeightedPlan::Keep &c : p.keep)
    key.push_back(c.r * row + c.c * column + c.constant);
  auto [it, fresh] = masks.try_emplace(key);
  if (!fresh)
    return it->second;
  const int64_t down = turned ? n : rows, across = turned ? rows : n;
  Tile out;
  for (size_t i = 0; i < p.keep.size(); ++i) {
    const WeightedPlan::Keep &c = p.keep[i];
    const Tile count = k.sbuf(DType::I32, down, {across}), no = k.sbuf(DType::U8, down, {across});
    k.iota(count, {static_cast<int32_t>(turned ? c.r : c.c), static_cast<int32_t>(across)}, static_cast<int32_t>(key[3 + i]),
           static_cast<int32_t>(turned ? c.c : c.r));
    k.scalar(no, count, "less", 0.0f);
    if (i > 0)
      k.tensor(no, no, out, "max");
    out = no;
  }
  return it->second = out;
}

// The largest score of each row, below zero.
Tile WeightedKernel::largest(const Tile &rows, int64_t row, int64_t n) {
  std::vector<std::pair<int64_t, Holds>> parts;
  bool others = false; // some columns count as `masked`
  for (int64_t c = 0; c < p.columns; c += kScoreColumns) {
    const Holds h = holds(row, n, c, std::min(kScoreColumns, p.columns - c));
    if (h == Holds::Nowhere)
      others = true;
    else
      parts.push_back({c, h});
  }
  const Tile out = k.sbuf(DType::F32, n, {1});
  if (parts.empty()) {
    k.fill(out, -masked);
    return out;
  }
  const Tile found = k.sbuf(DType::F32, n, {static_cast<int64_t>(parts.size())});
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto [c, h] = parts[i];
    const int64_t width = std::min(kScoreColumns, p.columns - c);
    Tile s = k.psum(n, {width});
    for (int64_t x = 0; x < width; x += kBank)
      for (int64_t d = 0; d < depth; ++d) {
        const int64_t deep = std::min(kContract, p.contract - d * kContract), w = std::min(kBank, width - x);
        k.matmul(s.columns(x, w), rows.index(0, 0).index(0, d).rows(0, deep), columnsAt(d, c + x, w).rows(0, deep), d > 0);
      }
    if (h == Holds::Somewhere) {
      const Tile kept = k.sbuf(DType::F32, n, {width});
      k.move(kept, s);
      k.select(kept, mask(false, row, n, c, width), static_cast<float>(masked));
      s = kept;
    }
    k.reduce(parts.size() == 1 ? out : found.columns(static_cast<int64_t>(i), 1), s, "max", parts.size() == 1);
  }
  if (parts.size() > 1)
    k.reduce(out, found, "max", true);
  if (others)
    k.scalar(out, out, "min", -masked);
  return out;
}

// Numbers, one per row, as rows of 16-bit floats whose sum they are: [3, rows].
Tile WeightedKernel::inPieces(const std::vector<Tile> &numbers, int64_t n) {
  constexpr float kUpper = -65536; // the bits that a 16-bit float has
  const Tile out = k.sbuf(DType::BF16, kPieces, {n});
  const bool exact = k.target().has("exact_transpose");
  const Tile turned = exact ? k.psum(kPieces, {n}, DType::BF16) : Tile();
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Tile &x = numbers[i];
    const int64_t rows = x.partitions, at = static_cast<int64_t>(i) * kRowBlockOf;
    const Tile pieces = k.sbuf(DType::BF16, rows, {kPieces});
    const Tile high = k.sbuf(DType::F32, rows, {1}), rest = k.sbuf(DType::F32, rows, {1}),
               middle = k.sbuf(DType::F32, rows, {1});
    k.scalar(high.as(DType::I32), x.as(DType::I32), "bitwise_and", kUpper);
    k.move(pieces.columns(0, 1), high);
    k.tensor(rest, x, high, "subtract");
    k.scalar(middle.as(DType::I32), rest.as(DType::I32), "bitwise_and", kUpper);
    k.move(pieces.columns(1, 1), middle);
    k.tensor(pieces.columns(2, 1), rest, middle, "subtract");
    if (exact)
      k.transpose(turned.columns(at, rows), pieces);
    else
      transposeTile(k, out.columns(at, rows), pieces);
  }
  if (exact)
    k.move(out, turned);
  return out;
}

void WeightedKernel::rowsAt(int64_t batch, int64_t row, int64_t n) {
  const Tile rows = loadPanel(k, p.rowSide, batch, 1, 0, depth, row, n);
  std::vector<Tile> lowered;
  for (int64_t r = 0; r < n; r += kRowBlockOf) {
    const int64_t nr = std::min(kRowBlockOf, n - r);
    lowered.push_back(largest(rows.part(2, r, nr), row + r, nr));
  }
  const Tile below = inPieces(lowered, n);

  // Sums of several blocks of rows share a bank.
  const int64_t wide = p.width + 1, beside = std::max<int64_t>(1, kBank / wide),
                blocks = (n + kRowBlockOf - 1) / kRowBlockOf;
  std::vector<Tile> sums;
  for (int64_t i = 0; i < blocks; i += beside) {
    const int64_t here = std::min(beside, blocks - i);
    const Tile bank = k.psum(std::min(kRowBlockOf, n - i * kRowBlockOf), {here * wide});
    for (int64_t j = 0; j < here; ++j)
      sums.push_back(bank.rows(0, std::min(kRowBlockOf, n - (i + j) * kRowBlockOf)).columns(j * wide, wide));
  }
  Tile other; // the weight of a column that counts as `masked`
  const auto otherWeight = [&](int64_t deep) {
    if (other.handle < 0) {
      const Tile shift = k.psum(kContract, {n});
      k.matmul(shift, ones, below, false);
      other = k.sbuf(p.weights, kContract, {n});
      const Tile bias = k.sbuf(DType::F32, kContract, {1});
      k.fill(bias, m.scale * masked);
      k.activation(other, shift, "exp", m.scale, bias);
    }
    return other.rows(0, deep);
  };
  for (int64_t c = 0; c < p.columns; c += kContract) {
    const int64_t nc = std::min(kContract, p.columns - c);
    const Holds h = holds(row, n, c, nc);
    Tile weights;
    if (h == Holds::Nowhere) {
      weights = otherWeight(nc);
    } else {
      const Tile s = k.psum(nc, {n});
      for (int64_t d = 0; d < depth; ++d) {
        const int64_t deep = std::min(kContract, p.contract - d * kContract);
        k.matmul(s, columnsAt(d, c, nc).rows(0, deep), rows.index(0, 0).index(0, d).rows(0, deep), d > 0);
      }
      k.matmul(s, ones.columns(0, nc), below, true);
      weights = k.sbuf(p.weights, nc, {n});
      k.activation(weights, s, "exp", m.scale);
      if (h == Holds::Somewhere)
        k.select(weights, mask(true, row, n, c, nc), otherWeight(nc));
    }
    for (size_t i = 0; i < sums.size(); ++i)
      k.matmul(sums[i], weights.columns(static_cast<int64_t>(i) * kRowBlockOf, sums[i].partitions),
               values.index(0, 0).index(0, c / kContract).rows(0, nc), c > 0);
  }
  for (size_t i = 0; i < sums.size(); ++i)
    store(sums[i], batch, row + static_cast<int64_t>(i) * kRowBlockOf);
}

void WeightedKernel::store(const Tile &sum, int64_t batch, int64_t row) {
  const mlir::Value root = m.result->getResult(0);
  const Tile inverse = k.sbuf(DType::F32, sum.partitions, {1});
  const Tile out =
      k.sbuf(*machineType(llvm::cast<mlir::RankedTensorType>(root.getType()).getElementType()), sum.partitions, {p.width});
  k.reciprocal(inverse, sum.columns(p.width, 1));
  k.scalar(out, sum.columns(0, p.width), "multiply", inverse);
  Block at;
  at.start.assign(shapeOf(root).size(), 0);
  for (size_t i = p.batch.size(); i-- > 0; batch /= p.batch[i].count)
    at.start[static_cast<size_t>(p.batch[i].inResult)] = batch % p.batch[i].count;
  if (p.row.inResult >= 0)
    at.rows.push_back({p.row.inResult, p.row.count});
  for (int d : p.widthDims)
    at.columns.push_back({d, shapeOf(root)[static_cast<size_t>(d)]});
  at.row = row;
  behind.block(out, at);
  k.location(place);
}

} // namespace glia::emit
