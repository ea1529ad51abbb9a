#include "WeightedTiles.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

namespace glia::emit {

namespace {

constexpr int64_t kTurnedAtOnce = 4;     // blocks of weights
constexpr int64_t kWeighedAtOnce = 2048; // columns of an exp
constexpr int64_t kBlocksPerTurn = 8;    // of a transfer
constexpr size_t kTurnAhead = 1;         // blocks of rows that are scored before weights are turned

// A score below this weighs nothing: what is hidden is lower still.
constexpr double kCounts = 1e38;

// What is hidden stays far below the scores.
bool isModerate(double scale) { return scale <= 1 && scale >= 0x1p-31; }

// Scores are the same bits whether they are multiplied by it before or behind.
bool isExact(double scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5;
}

} // namespace

WeightedTiles::WeightedTiles(KernelBuilder &k, const WeightedMean &m, const WeightedPlan &p, Epilogue &behind)
    : k(k), m(m), p(p), operands(k, m, p, behind),
      masked(std::isinf(m.masked) ? m.masked : std::clamp(m.masked, -kLargest, kLargest)),
      byTransfers(p.byTransfers(k.target())),
      bounded(std::isinf(masked) && masked < 0 && isModerate(m.scale) && PlaceBounds::suits(k.target(), p.keep)),
      ranges(bounded && isExact(m.scale)), bounds(k, p.keep), goesOn(p.keep.empty() || ranges) {
  if (p.width > kContract || p.weights == DType::F32)
    return;
  constexpr int64_t kScores = 3;
  const int64_t bank = k.target().psumBankBytes;
  scorePlaces = {DType::F32, kScoreColumns, 0, kScores};
  turnedPlaces = {p.weights, kTurnedAtOnce * kRowBlockOf, kScores * kScoreColumns * sizeOf(DType::F32), 2};
  sumPlaces = {DType::F32, kRowsOfTiles, turnedPlaces.from + bank, 2};
}

Tile WeightedTiles::Places::next(KernelBuilder &k) {
  if (!count)
    return {};
  const size_t i = used++ % static_cast<size_t>(count);
  if (i == tiles.size())
    tiles.push_back(k.psum(kContract, {columns}, type, from + static_cast<int64_t>(i) * columns * sizeOf(type)));
  return tiles[i];
}

// Turned weights, on so many partitions.
Tile WeightedTiles::turnedIn(int64_t columns, int64_t blocks, int64_t rows) {
  const Tile place = turnedPlaces.next(k);
  return place.handle < 0 ? k.psum(columns, {blocks, rows}, p.weights)
                          : place.rows(0, columns).columns(0, blocks * rows).reshaped({blocks, rows});
}

void WeightedTiles::run() {
  k.location(m.result->getLoc());
  operands.repeat([&](int) { means(); });
}

// All of them, or those of one iteration.
void WeightedTiles::means() {
  std::vector<Group> all;
  const int64_t each = p.group / kContract;
  for (int64_t b = 0; b < p.batches; ++b) {
    if (p.loop >= 0 && p.indexOf(b, static_cast<size_t>(p.loop)) >= p.step)
      continue;
    std::vector<std::shared_ptr<Rows>> here;
    for (int64_t r = 0; r < p.row.count; r += kRowsOfTiles)
      here.push_back(rowsAt(b, r));
    std::sort(here.begin(), here.end(), [](const std::shared_ptr<Rows> &x, const std::shared_ptr<Rows> &y) {
      return std::pair(y->end - y->begin, x->first) < std::pair(x->end - x->begin, y->first);
    });
    // Short and long ones take turns, so that engines always have about as much at hand. A short one comes first: it needs few columns.
    for (size_t n = 0; n < here.size(); ++n) {
      const std::shared_ptr<Rows> &rows = here[n % 2 ? n / 2 : here.size() - 1 - n / 2];
      const int64_t groups = std::max<int64_t>(1, blocksOf(rows->end - rows->begin, each));
      for (int64_t i = 0; i < groups; ++i)
        all.push_back({rows,
                       rows->begin + i * each,
                       std::min(rows->end, rows->begin + (i + 1) * each),
                       i == 0,
                       i + 1 == groups,
                       {},
                       {},
                       std::vector<Tile>(rows->blocks.size())});
    }
  }
  // What waits for others is written later, so that memory is given out in the order in which it is used.
  struct Late {
    size_t from, times; // at so many blocks of rows from this one on
    Steps steps;
  };
  std::vector<Late> late;
  size_t now = 0;
  const auto between = [&](const Steps &steps) {
    Steps due;
    for (Late &l : late)
      if (l.from <= now && l.times) {
        const auto end = l.steps.begin() + static_cast<long>((l.steps.size() + l.times - 1) / l.times);
        due.insert(due.end(), l.steps.begin(), end);
        l.steps.erase(l.steps.begin(), end);
        --l.times;
      }
    std::erase_if(late, [](const Late &l) { return l.times == 0; });
    size_t done = 0;
    for (size_t j = 0; j < steps.size(); ++j) {
      steps[j]();
      for (; done < due.size() && done * steps.size() < (j + 1) * due.size(); ++done)
        due[done]();
    }
    for (; done < due.size(); ++done)
      due[done]();
    ++now;
  };
  const auto transfersAhead = static_cast<size_t>(p.transfersAhead());
  const size_t loadAhead = transfersAhead > 1 ? 3 : 2; // groups whose operands are loaded
  size_t loaded = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    for (; loaded < std::min(all.size(), i + loadAhead); ++loaded)
      load(all[loaded], loaded > 0 ? &all[loaded - 1] : nullptr);
    Group &g = all[i];
    const size_t blocks = g.rows->blocks.size();
    if (g.end > g.begin)
      g.turned = k.sbuf(p.weights, std::min(kContract, p.columns),
                        {static_cast<int64_t>(blocks), g.end - g.begin, std::min(kRowBlockOf, g.rows->count)});
    for (size_t b = 0; b < blocks; ++b) {
      Steps turns, transfers;
      between(score(g, b, turns, transfers));
      late.push_back({now + kTurnAhead, 1, std::move(turns)});
      late.push_back({now + transfersAhead, 1, std::move(transfers)});
    }
    late.push_back({now + static_cast<size_t>(p.ahead()), blocks, multiply(g)});
  }
  while (!late.empty())
    between({});
}

std::shared_ptr<WeightedTiles::Rows> WeightedTiles::rowsAt(int64_t batch, int64_t first) const {
  auto rows = std::make_shared<Rows>();
  rows->batch = batch;
  rows->first = first;
  rows->count = std::min(kRowsOfTiles, p.row.count - first);
  rows->begin = blocksOf(p.columns);
  for (int64_t r = 0; r < rows->count; r += kRowBlockOf) {
    Block b;
    b.first = first + r;
    b.count = std::min(kRowBlockOf, rows->count - r);
    b.others = p.columns;
    const std::vector<WeightedOperands::Part> parts = operands.partsOf(b.first, b.count);
    for (const WeightedOperands::Part &part : parts)
      b.others -= part.count;
    if (!parts.empty()) {
      b.begin = parts.front().from / kContract;
      b.end = blocksOf(parts.back().from + parts.back().count);
      rows->begin = std::min(rows->begin, b.begin);
      rows->end = std::max(rows->end, b.end);
    }
    rows->blocks.push_back(std::move(b));
  }
  rows->begin = std::min(rows->begin, rows->end);
  return rows;
}

void WeightedTiles::load(const Group &g, const Group *before) {
  if (!g.first)
    return;
  Rows &rows = *g.rows;
  rows.shared =
      before && rows.batch / p.sharing == before->rows->batch / p.sharing ? before->rows->shared : operands.load(rows.batch);
  rows.panel = operands.rowPanel(rows.batch, rows.first, rows.count);
}

// Those that are not all of one kind are one part where bounds are kept in passing.
std::vector<WeightedOperands::Part> WeightedTiles::partsOf(const Group &g, const Block &b) const {
  std::vector<WeightedOperands::Part> parts =
      operands.partsOf(b.first, b.count, g.begin * kContract, std::min(g.end * kContract, p.columns));
  if (!ranges || parts.empty())
    return parts;
  std::vector<WeightedOperands::Part> out;
  const int64_t end = parts.back().from + parts.back().count;
  for (int64_t c = parts[0].from; c < end; c += kScoreColumns) {
    const int64_t n = std::min(kScoreColumns, end - c);
    out.push_back({c, n, operands.holds(b.first, b.count, c, n)});
  }
  return out;
}

// Scaled scores, the largest of each row, and weights.
WeightedTiles::Steps WeightedTiles::score(Group &g, size_t block, Steps &turns, Steps &transfers) {
  Block &b = g.rows->blocks[block];
  const auto s = std::make_shared<Scores>();
  s->parts = partsOf(g, b);
  s->stand = g.last && b.others > 0 && !std::isinf(masked);
  Steps steps;
  if (s->parts.empty() && !s->stand)
    return steps;
  steps.push_back([this, &b, s] {
    const int64_t count = goesOn ? 1 : static_cast<int64_t>(s->parts.size());
    s->largest = k.sbuf(DType::F32, b.count, {count + s->stand});
    if (!s->parts.empty())
      s->made = k.sbuf(DType::F32, b.count, {s->parts.back().from + s->parts.back().count - s->parts[0].from});
    if (s->stand)
      k.fill(s->largest.columns(count, 1), -masked);
  });
  // Those on a border pass through most engines: the others hide them.
  for (const bool border : {true, false})
    for (size_t i = 0; i < s->parts.size(); ++i)
      if (ranges ? border : (s->parts[i].holds == Holds::Somewhere) == border)
        steps.push_back([this, &g, &b, s, i] { make(g, b, *s, i); });
  steps.push_back([this, &g, &b, s] { weigh(g, b, *s); });
  if (!s->parts.empty())
    turns = turn(g, b, s, transfers);
  return steps;
}

void WeightedTiles::make(const Group &g, const Block &b, const Scores &s, size_t part) {
  const WeightedOperands::Part &x = s.parts[part];
  const Tile scores =
      operands.scores(*g.rows->shared, g.rows->panel, b.first - g.rows->first, b.count, x, scorePlaces.next(k));
  const Tile made = s.made.columns(x.from - s.parts[0].from, x.count);
  if (goesOn) {
    const Tile result = part + 1 == s.parts.size() ? s.largest : Tile();
    if (x.holds != Holds::Everywhere)
      return bounds.select(made, scores, b.first, x.from, result, part > 0);
    return k.scalarReduce(made, scores, "multiply", ranges ? 1.0 : m.scale, "max", result, !ranges, part > 0);
  }
  const Tile largest = s.largest.columns(static_cast<int64_t>(part), 1);
  if (x.holds == Holds::Everywhere)
    return k.scalarReduce(made, scores, "multiply", m.scale, "max", largest, true);
  if (bounded) {
    bounds.select(made, scores, b.first, x.from, largest, false);
    k.scalar(largest, largest, "max", -kCounts, false, "multiply", -m.scale);
    return k.scalar(made, made, "multiply", m.scale);
  }
  k.scalar(made, scores, "multiply", m.scale);
  operands.keep(made, b.first, x.from, masked);
  k.reduce(largest, made, "max", true);
}

// The largest score of the groups so far, below zero. A group of nothing but -inf, or of nothing that counts, has weights of 0, not NaN.
void WeightedTiles::lower(const Group &g, Block &b, const Scores &s) {
  const Tile before = b.lowered;
  const bool several = !g.first || !g.last;
  b.lowered = s.largest;
  if (ranges) {
    b.lowered = k.sbuf(DType::F32, b.count, {1});
    k.scalar(b.lowered, s.largest, "max", -kCounts, false, "multiply", -m.scale);
    if (before.handle >= 0)
      k.tensor(b.lowered, b.lowered, before, "min");
    return;
  }
  if (s.largest.elements() > 1) {
    b.lowered = k.sbuf(DType::F32, b.count, {1});
    k.reduce(b.lowered, s.largest, "min");
  }
  if (before.handle >= 0)
    k.scalar(b.lowered, b.lowered, "min", kLargest, false, "min", before);
  else if (several)
    k.scalar(b.lowered, b.lowered, "min", kLargest);
}

void WeightedTiles::weigh(Group &g, Block &b, Scores &s) {
  const Tile before = b.lowered;
  lower(g, b, s);
  const int64_t columns = s.parts.empty() ? 0 : s.made.elements(), chunks = blocksOf(columns, kWeighedAtOnce);
  // Sums of the weights: of each chunk, and of what is masked.
  Tile totals = k.sbuf(DType::F32, b.count, {chunks + s.stand});
  if (s.stand)
    weighOthers(g, b, totals.columns(chunks, 1));
  if (columns)
    s.weights = k.sbuf(p.weights, b.count, {columns});
  for (int64_t i = 0; i < chunks; ++i) {
    const int64_t n = std::min(kWeighedAtOnce, columns - i * kWeighedAtOnce);
    k.activationSum(s.weights.columns(i * kWeighedAtOnce, n), s.made.columns(i * kWeighedAtOnce, n), "exp", b.lowered,
                    totals.columns(i, 1), ranges ? m.scale : 1);
  }
  if (totals.elements() > 1) {
    const Tile sum = k.sbuf(DType::F32, b.count, {1});
    k.reduce(sum, totals, "add");
    totals = sum;
  }
  if (before.handle >= 0) {
    Tile &factor = g.factors[static_cast<size_t>((b.first - g.rows->first) / kRowBlockOf)];
    factor = k.sbuf(DType::F32, b.count, {1});
    k.activation(factor, before, "exp", -1.0, b.lowered);
    k.scalar(totals, b.total, "multiply", factor, false, "add", totals);
  }
  b.total = totals;
}

// [rows, columns] become [columns, blocks of columns, rows], one block of rows behind the other.
WeightedTiles::Steps WeightedTiles::turn(const Group &g, const Block &b, const std::shared_ptr<Scores> &s,
                                         Steps &transfers) {
  const int64_t first = s->parts[0].from, columns = s->parts.back().from + s->parts.back().count - first;
  const int64_t blocks = blocksOf(columns), whole = columns / kContract,
                byDma = std::lround(static_cast<double>(whole) * byTransfers);
  const auto out = [&g, &b, first](int64_t block, int64_t n) {
    return g.turned.index(0, (b.first - g.rows->first) / kRowBlockOf)
        .part(0, first / kContract - g.begin + block, n)
        .columns(0, b.count);
  };
  Steps steps;
  for (int64_t i = 0; i < byDma; i += kBlocksPerTurn)
    transfers.push_back([this, s, out, i, n = std::min(kBlocksPerTurn, byDma - i)] {
      k.transposeByDma(out(i, n), s->weights.columns(i * kContract, n * kContract), n);
    });
  for (int64_t i = byDma; i < blocks;) {
    const int64_t n = std::max<int64_t>(1, std::min(kTurnedAtOnce, whole - i)),
                  each = std::min(kContract, columns - i * kContract);
    steps.push_back([this, &b, s, out, i, n, each] {
      const Tile in = turnedIn(each, n, b.count);
      for (int64_t j = 0; j < n; ++j)
        k.transpose(in.index(0, j), s->weights.columns((i + j) * kContract, each));
      k.move(out(i, n).rows(0, each), in);
    });
    i += n;
  }
  return steps;
}

// The weight of a column that counts as `masked`, on each partition; and of all such columns.
void WeightedTiles::weighOthers(Group &g, const Block &b, const Tile &total) {
  if (filled.handle < 0) {
    filled = k.sbuf(DType::F32, kContract, {kContract});
    k.fill(filled, masked);
  }
  if (g.other.handle < 0)
    g.other = k.sbuf(p.weights, kContract, {g.rows->count});
  const Tile weights = k.sbuf(p.weights, b.count, {kContract}), in = turnedIn(kContract, 1, b.count);
  k.activation(weights, filled.rows(0, b.count), "exp", 1.0, b.lowered);
  k.transpose(in, weights);
  k.move(g.other.columns(b.first - g.rows->first, b.count), in);
  k.scalar(total, weights.columns(0, 1), "multiply", static_cast<double>(b.others));
}

// The products of weights and values.
WeightedTiles::Steps WeightedTiles::multiply(Group &g) {
  Steps steps;
  const auto sums = std::make_shared<std::optional<WeightedSums>>();
  steps.push_back([this, &g, sums] { sums->emplace(k, g.rows->count, p.width, sumPlaces.next(k)); });
  for (int64_t c = g.begin; c < g.end; ++c)
    steps.push_back([this, &g, sums, c] {
      const auto [from, to] = rowsOf(*g.rows, c);
      const Tile values = operands.valuesAt(*g.rows->shared, c).columns(0, p.width);
      if (from < to)
        (*sums)->add(from, to, g.turned.index(1, c - g.begin).rows(0, values.partitions).part(0, from, to - from), values);
    });
  steps.push_back([this, &g, sums] {
    if (g.last)
      addOthers(g, **sums);
    finish(g, **sums);
  });
  return steps;
}

// The blocks of rows for which a block of columns counts.
std::pair<int64_t, int64_t> WeightedTiles::rowsOf(const Rows &rows, int64_t column) {
  int64_t from = 0, to = static_cast<int64_t>(rows.blocks.size());
  const auto counts = [&](int64_t r) {
    const Block &b = rows.blocks[static_cast<size_t>(r)];
    return b.begin <= column && column < b.end;
  };
  while (from < to && !counts(from))
    ++from;
  while (from < to && !counts(to - 1))
    --to;
  return {from, to};
}

// Columns of a tile that are blocks of rows.
Tile WeightedTiles::part(const Rows &rows, const Tile &x, int64_t from, int64_t to) {
  const int64_t at = from * kRowBlockOf;
  return x.columns(at, std::min(to * kRowBlockOf, rows.count) - at);
}

// Values of columns that count as `masked`.
void WeightedTiles::addOthers(const Group &g, WeightedSums &sums) {
  const Rows &rows = *g.rows;
  if (!llvm::any_of(rows.blocks, [](const Block &b) { return b.others > 0; }))
    return;
  Tile other = g.other;
  if (std::isinf(masked)) {
    if (nought.handle < 0) {
      nought = k.sbuf(p.weights, kContract, {kRowsOfTiles});
      k.fill(nought, 0);
    }
    other = nought;
  }
  const int64_t blocks = static_cast<int64_t>(rows.blocks.size()), all = blocksOf(p.columns);
  const auto add = [&](int64_t from, int64_t to, const Tile &values) {
    if (from < to)
      sums.add(from, to, part(rows, other.rows(0, values.partitions), from, to), values.columns(0, p.width));
  };
  const bool some = rows.end > rows.begin;
  for (const auto &[first, end] : {std::pair(int64_t{0}, some ? rows.begin : all), std::pair(some ? rows.end : all, all)})
    for (const Tile &values : operands.sumsOfBlocks(*rows.shared, first, end))
      add(0, blocks, values);
  for (int64_t c = rows.begin; c < rows.end; ++c) {
    const auto [from, to] = rowsOf(rows, c);
    add(0, from, operands.valuesAt(*rows.shared, c));
    add(to, blocks, operands.valuesAt(*rows.shared, c));
  }
}

// Sums join those of the groups before; behind the last group means are stored.
void WeightedTiles::finish(const Group &g, WeightedSums &sums) {
  for (size_t i = 0; i < g.rows->blocks.size(); ++i) {
    Block &b = g.rows->blocks[i];
    const bool some = sums.has(static_cast<int64_t>(i));
    Tile all = some ? sums.of(static_cast<int64_t>(i)) : Tile();
    if (b.sums.handle >= 0) {
      if (g.factors[i].handle >= 0 && some)
        k.scalarTensor(b.sums, b.sums, "multiply", g.factors[i], "add", all);
      else if (some)
        k.tensor(b.sums, b.sums, all, "add");
      else if (g.factors[i].handle >= 0)
        k.scalar(b.sums, b.sums, "multiply", g.factors[i]);
      all = b.sums;
    } else if (some && !g.last) {
      b.sums = k.sbuf(DType::F32, b.count, {p.width});
      k.move(b.sums, all);
    }
    if (!g.last)
      continue;
    if (b.total.handle < 0) {
      b.total = k.sbuf(DType::F32, b.count, {1});
      k.fill(b.total, 0);
    }
    operands.store(all, b.total, g.rows->batch, b.first);
  }
}

} // namespace glia::emit
