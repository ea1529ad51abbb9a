#include "WeightedOperands.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr int64_t kColumnsPerLoad = 2048; // columns of a load

} // namespace

WeightedOperands::WeightedOperands(KernelBuilder &k, const WeightedMean &m, const WeightedPlan &p, Epilogue &behind)
    : depth(blocksOf(p.contract)), scalarReads(!k.target().has("vector_scalar_psum_concurrent")), k(k), m(m), p(p),
      behind(behind), places(p.keep), rowSide(p.rowSide), columnSide(p.columnSide), values(p.values),
      blocksOfSum((p.group ? kRowsOfTiles : kRowsAtOnce) / kContract) {}

void WeightedOperands::repeat(llvm::function_ref<void(int)> body) {
  prepareTurning(k, rowSide);
  columnSide.turning.identity = rowSide.turning.identity;
  if (!columnSide.turning.identity)
    prepareTurning(k, columnSide);
  if (p.loop < 0)
    return body(-1);
  const WeightedAxis &axis = p.batch[static_cast<size_t>(p.loop)];
  const int reg = k.loop(axis.count / p.step);
  for (PanelSource *s : {&rowSide, &columnSide, &values})
    s->tensor.moves.push_back({reg, s->batch[static_cast<size_t>(p.loop)].stride * p.step});
  behind.moved(axis.inResult, reg, p.step);
  body(reg);
  k.endLoop();
}

std::shared_ptr<WeightedOperands::Shared> WeightedOperands::load(int64_t batch) {
  auto s = std::make_shared<Shared>();
  for (int64_t c = 0; c < p.columns; c += kColumnsPerLoad) {
    const int64_t n = std::min(kColumnsPerLoad, p.columns - c);
    s->columns.push_back(p.halves ? onHalves(columnSide, batch, c, n, false) : panel(columnSide, batch, c, n));
    if (p.piecesAt)
      k.fill(piecesOf(s->columns.back()), 1);
  }
  const int64_t blocks = blocksOf(p.columns);
  s->values = k.sbuf(p.values.type, std::min(kContract, p.columns), {1, blocks, p.width + 1});
  fillPanel(k, s->values.part(2, 0, p.width), values, batch, 1, 0, blocks, 0, p.width);
  k.fill(s->values.part(2, p.width, 1), 1);
  return s;
}

Tile WeightedOperands::rowPanel(int64_t batch, int64_t from, int64_t n) {
  if (p.halves)
    return onHalves(rowSide, batch, from, n, true);
  const Tile out = panel(rowSide, batch, from, n);
  for (int64_t d = 0; d < depth && p.rowFactor != 1; ++d) {
    const Tile block = out.index(0, 0).index(0, d).rows(0, deep(d));
    k.scalar(block, block, "multiply", p.rowFactor);
  }
  return out;
}

// An operand of the scores, with rows for the pieces if there is room.
Tile WeightedOperands::panel(const PanelSource &s, int64_t batch, int64_t from, int64_t n) {
  if (!p.piecesAt)
    return loadPanel(k, s, batch, 1, 0, depth, from, n);
  const Tile out = k.sbuf(s.type, p.piecesAt + kPieces, {1, 1, n});
  if (p.piecesAt > p.contract) { // rows between count for nothing
    const int64_t start = p.contract / 32 * 32;
    k.fill(out.rows(start, p.piecesAt - start), 0);
  }
  fillPanel(k, out.rows(0, p.contract), s, batch, 1, 0, 1, from, n);
  return out;
}

// [contract, 1, 1, free]: all on both halves of the partitions, or so many on either in turn.
Tile WeightedOperands::onHalves(const PanelSource &s, int64_t batch, int64_t from, int64_t n, bool both) {
  const Tile out = k.sbuf(s.type, kContract, {1, 1, both ? n : blocksOf(n, 2 * kOnHalf) * kOnHalf});
  for (int64_t x = 0; x < n; x += both ? n : kOnHalf)
    for (const int64_t half : {int64_t{0}, kHalf})
      if (both || halfOf(from + x) == half)
        fillPanel(k, out.rows(half, p.contract), s, batch, 1, 0, 1, from + x, both ? n : std::min(kOnHalf, n - x),
                  both ? 0 : x / (2 * kOnHalf) * kOnHalf);
  return out;
}

// With a tile of the array, where operands lie on its halves.
void WeightedOperands::multiply(const Tile &dst, const Tile &stationary, const Tile &moving, bool accumulate) {
  if (!p.halves)
    return k.matmul(dst, stationary, moving, accumulate);
  const auto number = [](int64_t n) { return nisa::SlotValue::of(static_cast<int32_t>(n)); };
  k.emit("nc_matmul", {k.operand(dst), k.operand(stationary), k.operand(moving), number(accumulate), number(0), number(0),
                       number(stationary.partition), number(0), number(kHalf), number(kContract)});
}

// Of one block of what is contracted.
Tile WeightedOperands::columnsAt(const Shared &s, int64_t block, int64_t from, int64_t n) const {
  const int64_t i = from / kColumnsPerLoad;
  if (p.halves) {
    const int64_t x = from - i * kColumnsPerLoad;
    return s.columns[static_cast<size_t>(i)].index(0, 0).index(0, 0).part(0, x / (2 * kOnHalf) * kOnHalf + x % kOnHalf, n);
  }
  return s.columns[static_cast<size_t>(i)].index(0, 0).index(0, block).part(0, from - i * kColumnsPerLoad, n);
}

// 1 where a condition does not hold: rows on partitions, or turned.
Tile WeightedOperands::mask(bool turned, int64_t row, int64_t rows, int64_t column, int64_t n) {
  std::vector<int64_t> key{turned, rows, n};
  for (const PlaceCondition &c : p.keep)
    key.push_back(c.r * row + c.c * column + c.constant);
  auto [it, fresh] = masks.try_emplace(key);
  if (!fresh)
    return it->second;
  const int64_t down = turned ? n : rows, across = turned ? rows : n;
  Tile out;
  for (size_t i = 0; i < p.keep.size(); ++i) {
    const PlaceCondition &c = p.keep[i];
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

Tile WeightedOperands::scores(const Shared &shared, const Tile &panel, int64_t from, int64_t n, const Part &part,
                              const Tile &in) {
  const Tile s = in.handle < 0 ? k.psum(n, {part.count}) : in.rows(0, n).columns(0, part.count);
  for (int64_t x = 0; x < part.count;) {
    // A product stays in a bank and in a load of columns.
    const int64_t load = p.halves ? kOnHalf : kColumnsPerLoad, first = halfOf(part.from + x);
    const int64_t w = std::min({kBank - x % kBank, part.count - x, load - (part.from + x) % load});
    for (int64_t d = 0; d < depth; ++d)
      multiply(s.columns(x, w), panel.index(0, 0).index(0, d).part(0, from, n).rows(first, deep(d)),
               columnsAt(shared, d, part.from + x, w).rows(first, deep(d)), d > 0);
    x += w;
  }
  return s;
}

void WeightedOperands::leave(const Tile &out, const Tile &x) {
  if (scalarReads)
    k.activation(out, x, "copy");
  else
    k.move(out, x);
}

Tile WeightedOperands::valuesAt(const Shared &s, int64_t block) const {
  return s.values.index(0, 0).index(0, block).rows(0, std::min(kContract, p.columns - block * kContract));
}

std::vector<Tile> WeightedOperands::sumsOfBlocks(Shared &s, int64_t first, int64_t end) {
  const int64_t blocks = blocksOf(p.columns);
  std::vector<Tile> out;
  // Sums are kept from some blocks to an end; others stand alone.
  while (first < end && end < blocks && end % blocksOfSum)
    out.push_back(valuesAt(s, --end));
  while (first < end && first > 0 && first % blocksOfSum)
    out.push_back(valuesAt(s, first++));
  if (first < end)
    out.push_back(sumOfBlocks(s, first, end));
  return out;
}

// Of the values of blocks of columns [first, end), of which one end is an end of all.
Tile WeightedOperands::sumOfBlocks(Shared &s, int64_t first, int64_t end) {
  const int64_t blocks = blocksOf(p.columns);
  const bool up = first == 0 && end < blocks;
  std::map<int64_t, Tile> &known = up ? s.to : s.from;
  const int64_t wanted = up ? end : first;
  if (const auto it = known.find(wanted); it != known.end())
    return it->second;
  const Tile sum = k.sbuf(DType::F32, s.values.partitions, {p.width + 1});
  k.fill(sum, 0);
  const DType type = p.values.type == DType::F16 ? DType::BF16 : p.values.type; // which may not hold the sums
  const auto keep = [&](int64_t at) {
    const Tile out = k.sbuf(type, s.values.partitions, {p.width + 1});
    k.move(out, sum);
    known.insert_or_assign(at, out);
    return out;
  };
  for (int64_t i = 0; i < (up ? end : blocks - first); ++i) {
    const int64_t b = up ? i : blocks - 1 - i, n = std::min(kContract, p.columns - b * kContract);
    k.tensor(sum.rows(0, n), sum.rows(0, n), s.values.index(0, 0).index(0, b).rows(0, n), "add");
    if (const int64_t at = up ? b + 1 : b; at != wanted && at % blocksOfSum == 0)
      keep(at);
  }
  return keep(wanted);
}

void WeightedOperands::store(const Tile &sums, const Tile &total, int64_t batch, int64_t row) {
  const mlir::Value root = m.result->getResult(0);
  const DType type = heldType(root);
  const Tile out = k.sbuf(type, sums.partitions, {p.width}), inverse = k.sbuf(DType::F32, sums.partitions, {1});
  if (scalarReads && total.space == Space::Psum) {
    leave(inverse, total);
    k.reciprocal(inverse, inverse);
    k.activation(out, sums, "copy", inverse);
  } else {
    k.reciprocal(inverse, total);
    k.scalar(out, sums, "multiply", inverse);
  }
  Block at;
  at.start.assign(shapeOf(root).size(), 0);
  for (size_t i = 0; i < p.batch.size(); ++i)
    at.start[static_cast<size_t>(p.batch[i].inResult)] = p.indexOf(batch, i);
  if (p.row.inResult >= 0)
    at.rows.push_back({p.row.inResult, p.row.count});
  for (int d : p.widthDims)
    at.columns.push_back({d, shapeOf(root)[static_cast<size_t>(d)]});
  at.row = row;
  behind.block(out, at);
  k.location(m.result->getLoc());
}

} // namespace glia::emit
