#include "WeightedKernel.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace glia::emit {

WeightedKernel::WeightedKernel(KernelBuilder &k, const WeightedMean &m, const WeightedPlan &p, Epilogue &behind)
    : k(k), m(m), p(p), place(m.result->getLoc()), operands(k, m, p, behind),
      masked(std::isinf(m.masked) ? m.masked : std::clamp(m.masked / m.scale, -kLargest, kLargest)) {}

void WeightedKernel::run() {
  k.location(place);
  operands.repeat([&](int) { means(); });
}

// All of them, or those of one iteration.
void WeightedKernel::means() {
  if (!p.piecesAt) {
    ones = k.sbuf(DType::BF16, kPieces, {kContract});
    k.fill(ones, 1);
  }
  std::vector<Rows> all;
  for (int64_t b = 0; b < p.batches; ++b)
    if (p.loop < 0 || p.indexOf(b, static_cast<size_t>(p.loop)) < p.step)
      for (int64_t r = 0; r < p.row.count; r += kRowsAtOnce)
        all.push_back({b, r, std::min(kRowsAtOnce, p.row.count - r), nullptr, {}, {}, {}, {}});
  // The largest scores of rows are found at an even rate, up to a place among all rows. They are there some time before their own weights begin.
  std::vector<Steps> finding(all.size());
  std::vector<size_t> found(all.size());
  size_t at = 0;
  const auto find = [&](double place) {
    for (; at < all.size() && static_cast<double>(at) < place; ++at) {
      Rows &rows = all[at];
      if (!rows.shared) {
        rows.panel = operands.rowPanel(rows.batch, rows.first, rows.count);
        rows.shared = at > 0 && rows.batch / p.sharing == all[at - 1].batch / p.sharing ? all[at - 1].shared
                                                                                        : operands.load(rows.batch);
        finding[at] = findLargest(rows);
      }
      const double share = place - static_cast<double>(at);
      for (; found[at] < finding[at].size() &&
             static_cast<double>(found[at]) < share * static_cast<double>(finding[at].size());
           ++found[at])
        finding[at][found[at]]();
      if (share < 1)
        return;
    }
  };
  find(1 + p.foundEarly());
  for (size_t i = 0; i < all.size(); ++i) {
    weigh(all[i], [&](double done) { find(static_cast<double>(i) + 1 + p.foundEarly() + done); });
    all[i].shared.reset();
  }
}

WeightedKernel::Steps WeightedKernel::findLargest(Rows &rows) {
  Steps out;
  out.push_back([this, &rows] {
    if (const int64_t full = rows.count / kRowBlockOf)
      rows.lowered = k.sbuf(DType::F32, kRowBlockOf, {full});
    if (const int64_t last = rows.count % kRowBlockOf)
      rows.rest = k.sbuf(DType::F32, last, {1});
  });
  for (int64_t b = 0; b < blocksOf(rows.count, kRowBlockOf); ++b)
    largest(rows, b, out);
  out.push_back([this, &rows] {
    if (const auto read = std::exchange(unread, nullptr))
      read();
    takeApart(rows);
  });
  return out;
}

// The largest score of each of 128 rows.
void WeightedKernel::largest(Rows &rows, int64_t block, Steps &steps) {
  const int64_t row = rows.first + block * kRowBlockOf, n = std::min(kRowBlockOf, rows.count - block * kRowBlockOf);
  // What Scalar takes from PSUM in banks, Vector looks at together.
  const std::vector<WeightedOperands::Part> parts =
      operands.partsOf(row, n, 0, p.columns, operands.scalarReads ? kScoreColumns : kBank);
  int64_t counted = 0;
  for (const WeightedOperands::Part &part : parts)
    counted += part.count;
  const bool others = counted < p.columns; // some columns count as `masked`
  if (parts.empty()) {
    steps.push_back([this, &rows, block] { k.fill(lowestOf(rows, block), -masked); });
    return;
  }
  const auto found = std::make_shared<Tile>();
  for (size_t i = 0; i < parts.size(); ++i) {
    const WeightedOperands::Part part = parts[i];
    const auto kept = std::make_shared<Tile>();
    for (int64_t x = 0; x < part.count; x += kBank)
      steps.push_back([this, &rows, block, row, n, others, found, kept, i, part, x, all = parts.size()] {
        if (i == 0 && x == 0 && all > 1)
          *found = k.sbuf(DType::F32, n, {static_cast<int64_t>(all)});
        const int64_t w = std::min(kBank, part.count - x);
        const Tile s = operands.scores(*rows.shared, rows.panel, block * kRowBlockOf, n, {part.from + x, w, part.holds});
        // Another bank is filled before this one is read.
        const auto read = std::exchange(unread, [this, &rows, block, row, n, others, found, kept, i, part, x, w, all, s] {
          const bool masks = part.holds == Holds::Somewhere;
          if (x == 0)
            *kept = operands.scalarReads || masks ? k.sbuf(DType::F32, n, {part.count}) : s;
          if (kept->space != Space::Psum)
            operands.leave(kept->columns(x, w), s);
          if (x + w < part.count)
            return;
          if (masks)
            k.select(*kept, operands.mask(false, row, n, part.from, part.count), static_cast<float>(masked));
          const Tile out = lowestOf(rows, block);
          k.reduce(all == 1 ? out : found->columns(static_cast<int64_t>(i), 1), *kept, "max", all == 1);
          if (i + 1 < all)
            return;
          if (all > 1)
            k.reduce(out, *found, "max", true);
          if (others && !std::isinf(masked))
            k.scalar(out, out, "min", -masked);
        });
        if (read)
          read();
      });
  }
}

Tile WeightedKernel::lowestOf(const Rows &rows, int64_t block) {
  return (block + 1) * kRowBlockOf <= rows.count ? rows.lowered.columns(block, 1) : rows.rest;
}

// Numbers, one per row, become rows of 16-bit floats whose sum they are.
void WeightedKernel::takeApart(Rows &rows) {
  constexpr float kUpper = -65536; // the bits that a 16-bit float has
  const bool exact = k.target().has("exact_transpose");
  // Elsewhere transfers turn them, by way of HBM: there is time for that, and no engine has to do it.
  const Tile turned = exact ? k.psum(kPieces, {rows.count}, DType::BF16) : k.scratch(DType::BF16, {kPieces, rows.count});
  int64_t at = 0;
  for (const Tile &x : {rows.lowered, rows.rest}) {
    if (x.handle < 0)
      continue;
    const int64_t n = x.partitions, blocks = x.elements();
    const auto make = [&] { return k.sbuf(DType::F32, n, {blocks}); };
    const Tile pieces = k.sbuf(DType::BF16, n, {kPieces, blocks}), high = make(), rest = make(), middle = make();
    k.scalar(high.as(DType::I32), x.as(DType::I32), "bitwise_and", kUpper);
    k.move(pieces.index(0, 0), high);
    k.tensor(rest, x, high, "subtract");
    k.scalar(middle.as(DType::I32), rest.as(DType::I32), "bitwise_and", kUpper);
    k.move(pieces.index(0, 1), middle);
    k.tensor(pieces.index(0, 2), rest, middle, "subtract");
    if (exact) {
      for (int64_t b = 0; b < blocks; ++b)
        k.transpose(turned.columns(at + b * n, n), pieces.index(1, b));
    } else {
      Tile to = turned;
      to.offset += at;
      to.dims = {{1, n}, {rows.count, kPieces}, {n, blocks}};
      k.copy(to, pieces);
    }
    at += n * blocks;
  }
  rows.below =
      p.piecesAt ? operands.piecesOf(rows.panel).index(0, 0).index(0, 0) : k.sbuf(DType::BF16, kPieces, {rows.count});
  if (exact)
    k.move(rows.below, turned);
  else
    k.copy(rows.below, turned);
}

// Scores of some columns less the largest of their row, turned: [columns, rows from .. to).
Tile WeightedKernel::loweredScores(const Rows &rows, int64_t column, int64_t from, int64_t to) {
  const int64_t n = std::min(kContract, p.columns - column);
  const Tile s = k.psum(n, {to - from});
  for (int64_t d = 0; d < operands.depth; ++d) {
    const int64_t down = p.piecesAt ? p.piecesAt + kPieces : operands.deep(d);
    k.matmul(s, operands.columnsAt(*rows.shared, d, column, n).rows(0, down),
             rows.panel.index(0, 0).index(0, d).part(0, from, to - from).rows(0, down), d > 0);
  }
  if (!p.piecesAt)
    k.matmul(s, ones.columns(0, n), rows.below.columns(from, to - from), true);
  return s;
}

// The weight of a column that counts as `masked`, the same on all partitions.
Tile WeightedKernel::otherWeights(const Rows &rows) {
  const Tile shift = k.psum(kContract, {rows.count}), out = k.sbuf(p.weights, kContract, {rows.count});
  if (p.piecesAt && ones.handle < 0) {
    ones = k.sbuf(p.rowSide.type, p.piecesAt + kPieces, {kContract});
    k.fill(ones.rows(p.piecesAt, kPieces), 1);
  }
  k.matmul(shift, p.piecesAt ? ones.rows(p.piecesAt, kPieces) : ones, rows.below, false);
  if (std::isinf(masked)) { // 0, or NaN in a row of nothing else
    if (lowest.handle < 0) {
      lowest = k.sbuf(DType::F32, kContract, {1});
      k.fill(lowest, masked);
    }
    k.activation(out, shift, "exp", m.scale, lowest);
    return out;
  }
  const Tile less = k.sbuf(DType::F32, kContract, {rows.count});
  operands.leave(less, shift);
  k.scalar(less, less, "add", masked); // 0 where all columns are masked
  k.activation(out, less, "exp", m.scale);
  return out;
}

WeightedKernel::Parts WeightedKernel::partsOf(const Rows &rows) const {
  Parts out;
  out.end = blocksOf(p.columns);
  const auto nowhere = [&](int64_t b) {
    return operands.holds(rows.first, rows.count, b * kContract, std::min(kContract, p.columns - b * kContract)) ==
           Holds::Nowhere;
  };
  while (out.first < out.end && nowhere(out.first))
    ++out.first;
  while (out.first < out.end && nowhere(out.end - 1))
    --out.end;
  out.others = out.first > 0 || out.end < blocksOf(p.columns);
  const int64_t blocks = blocksOf(rows.count, kRowBlockOf);
  for (int64_t b = out.first; b < out.end; ++b) {
    Part part{b * kContract, std::min(kContract, p.columns - b * kContract), {}, blocks, 0};
    for (int64_t r = 0; r < blocks; ++r) {
      const int64_t n = std::min(kRowBlockOf, rows.count - r * kRowBlockOf);
      part.holds.push_back(operands.holds(rows.first + r * kRowBlockOf, n, part.column, part.count));
      out.others |= part.holds.back() != Holds::Everywhere;
      if (part.holds.back() != Holds::Nowhere) {
        part.from = std::min(part.from, r);
        part.to = r + 1;
      }
    }
    if (part.from > part.to) // for none of the blocks, though for all of them together
      part.from = part.to = 0;
    out.between.push_back(std::move(part));
  }
  return out;
}

void WeightedKernel::weigh(Rows &rows, llvm::function_ref<void(double)> meanwhile) {
  const int64_t all = blocksOf(p.columns), blocks = blocksOf(rows.count, kRowBlockOf);
  const auto [first, end, others, parts] = partsOf(rows);
  WeightedSums sums(k, rows.count, p.width + 1); // the last column: of the weights
  const Tile other = others ? otherWeights(rows) : Tile();
  const auto ends = [&](int64_t a, int64_t b) {
    for (const Tile &values : operands.sumsOfBlocks(*rows.shared, a, b))
      sums.add(0, blocks, other.rows(0, values.partitions), values);
  };
  ends(0, first == end ? all : first);
  ends(first == end ? all : end, all);
  const auto limit = [&](int64_t block) { return std::min(block * kRowBlockOf, rows.count); };
  std::vector<Tile> scores(parts.size());
  const auto score = [&](size_t i) {
    if (i < parts.size() && parts[i].from < parts[i].to)
      scores[i] = loweredScores(rows, parts[i].column, limit(parts[i].from), limit(parts[i].to));
  };
  std::vector<Tile> weights(parts.size());
  const auto weight = [&](size_t i) {
    const Part &part = parts[i];
    if (part.from == part.to)
      return;
    const int64_t from = limit(part.from);
    weights[i] = k.sbuf(p.weights, part.count, {limit(part.to) - from});
    k.activation(weights[i], scores[i], "exp", m.scale);
    for (int64_t r = part.from; r < part.to; ++r)
      if (const int64_t at = limit(r), n = limit(r + 1) - at; part.holds[static_cast<size_t>(r)] != Holds::Everywhere) {
        const Tile mask = operands.mask(true, rows.first + at, n, part.column, part.count),
                   to = weights[i].columns(at - from, n);
        if (std::isinf(masked)) // a row of nothing else has sums of 0, or NaN from elsewhere
          k.select(to, mask, 0.0f);
        else
          k.select(to, mask, other.rows(0, part.count).columns(at, n));
      }
  };
  const auto add = [&](size_t i) {
    const Part &part = parts[i];
    const Tile values = operands.valuesAt(*rows.shared, part.column / kContract);
    if (part.from < part.to)
      sums.add(part.from, part.to, weights[i], values);
    const auto without = [&](int64_t a, int64_t b) { // blocks of rows for which the part does not count
      if (a < b)
        sums.add(a, b, other.rows(0, part.count).columns(limit(a), limit(b) - limit(a)), values);
    };
    without(0, part.from);
    without(part.to, blocks);
  };
  // Each engine has the next part at hand when it is done with one.
  score(0);
  for (size_t i = 0; i < parts.size(); ++i) {
    score(i + 1);
    weight(i);
    meanwhile(static_cast<double>(i + 1) / static_cast<double>(parts.size()));
    if (i > 0)
      add(i - 1);
  }
  if (!parts.empty())
    add(parts.size() - 1);
  meanwhile(1);
  for (int64_t r = 0; r < blocks; ++r) {
    const Tile s = sums.of(r);
    operands.store(s.columns(0, p.width), s.columns(p.width, 1), rows.batch, rows.first + r * kRowBlockOf);
  }
}

} // namespace glia::emit
