#include "WeightedRows.h"
#include "Lower/Contract/TurnedBlocks.h"

#include <algorithm>
#include <utility>

namespace glia::emit {

namespace {

constexpr int64_t kTurnedAtOnce = 4; // blocks of weights that share a bank of PSUM

} // namespace

WeightedRows::WeightedRows(KernelBuilder &k, const WeightedMean &m, const WeightedPlan &p, Epilogue &behind,
                           std::vector<std::vector<Tile>> tensors)
    : k(k), m(m), p(p), operands(k, m, p, behind), chain(k, m, p, std::move(tensors)), masked(chain.masked()) {}

void WeightedRows::run() {
  k.location(m.result->getLoc());
  operands.repeat([&](int reg) {
    if (reg >= 0)
      chain.moved(reg);
    means();
  });
}

// All of them, or those of one iteration.
void WeightedRows::means() {
  std::vector<Rows> all;
  for (int64_t b = 0; b < p.batches; ++b)
    if (p.loop < 0 || p.indexOf(b, static_cast<size_t>(p.loop)) < p.step)
      for (int64_t r = 0; r < p.row.count; r += kRowBlockOf) {
        Rows rows;
        rows.batch = b;
        rows.first = r;
        rows.count = std::min(kRowBlockOf, p.row.count - r);
        all.push_back(std::move(rows));
      }
  const auto begin = [&](size_t from) { // so many at a time as the plan says
    Steps steps;
    for (size_t i = from; i < std::min(all.size(), from + static_cast<size_t>(p.together)); ++i) {
      Rows &rows = all[i];
      rows.shared =
          i > 0 && rows.batch / p.sharing == all[i - 1].batch / p.sharing ? all[i - 1].shared : operands.load(rows.batch);
      rows.at = rows.first % kRowsAtOnce;
      rows.panel = rows.at ? all[i - 1].panel
                           : operands.rowPanel(rows.batch, rows.first, std::min(kRowsAtOnce, p.row.count - rows.first));
      score(rows, steps);
    }
    return steps;
  };
  for (const auto &step : begin(0))
    step();
  for (size_t i = 0; i < all.size(); i += static_cast<size_t>(p.together)) {
    const size_t next = std::min(all.size(), i + static_cast<size_t>(p.together));
    Steps now;
    for (size_t j = i; j < next; ++j)
      weigh(all[j], now);
    const Steps meanwhile = next < all.size() ? begin(next) : Steps();
    size_t done = 0;
    for (size_t j = 0; j < now.size(); ++j) {
      now[j]();
      for (; done < meanwhile.size() && done * now.size() < (j + 1) * meanwhile.size(); ++done)
        meanwhile[done]();
    }
    for (size_t j = i; j < next; ++j)
      all[j].shared.reset();
  }
}

int64_t WeightedRows::columnsOf(const Rows &rows) const {
  return std::max<int64_t>(0, std::min(rows.end * kContract, p.columns) - rows.begin * kContract);
}

// What is exponentiated, and the largest of each row.
void WeightedRows::score(Rows &rows, Steps &steps) {
  using Holds = WeightedOperands::Holds;
  const std::vector<WeightedOperands::Part> parts = operands.partsOf(rows.first, rows.count);
  if (!parts.empty()) {
    rows.begin = parts.front().from / kContract;
    rows.end = blocksOf(parts.back().from + parts.back().count);
  }
  const auto found = std::make_shared<Tile>();
  steps.push_back([this, &rows, found, n = static_cast<int64_t>(parts.size())] {
    const int64_t wide = columnsOf(rows);
    rows.made = k.sbuf(DType::F32, rows.count, {wide + (others(rows) ? kContract : 0)});
    if (others(rows))
      k.fill(rows.made.columns(wide, kContract), masked);
    rows.lowered = k.sbuf(DType::F32, rows.count, {1});
    *found = k.sbuf(DType::F32, rows.count, {n + others(rows)});
    if (others(rows))
      k.fill(found->columns(n, 1), masked);
  });
  for (size_t i = 0; i < parts.size(); ++i)
    steps.push_back([this, &rows, found, i, part = parts[i]] {
      const Tile s = operands.scores(*rows.shared, rows.panel, rows.at, rows.count, part);
      const Tile made = rows.made.columns(part.from - rows.begin * kContract, part.count);
      const Tile most = found->columns(static_cast<int64_t>(i), 1);
      if (m.steps.empty() && chain.factor() == m.scale && part.holds == Holds::Everywhere)
        return k.scalarReduce(made, s, "multiply", 1.0f, "max", most);
      chain.make(made, s, rows.batch, rows.first, part.from);
      if (part.holds == Holds::Somewhere)
        k.select(made, operands.mask(false, rows.first, rows.count, part.from, part.count), masked);
      k.reduce(most, made, "max");
    });
  steps.push_back([this, &rows, found] { k.reduce(rows.lowered, *found, "max", true); });
}

Tile WeightedRows::weightsOf(const Rows &rows) {
  const Tile shift = k.sbuf(DType::F32, rows.count, {1}), out = k.sbuf(p.weights, rows.count, {rows.made.elements()});
  k.scalar(shift, rows.lowered, "multiply", chain.factor());
  // Turned by a product, NaN would spread to other rows. Without weights a row becomes 0 / 0.
  Tile bad;
  if (!k.target().has("exact_transpose")) {
    bad = k.sbuf(DType::U8, rows.count, {1});
    k.scalar(bad, rows.lowered, "multiply", 0.0f, false, "not_equal", 0.0f);
  }
  for (int64_t c = 0; c < out.elements(); c += kScoreColumns) {
    const int64_t n = std::min(kScoreColumns, out.elements() - c);
    k.activation(out.columns(c, n), rows.made.columns(c, n), "exp", chain.factor(), shift);
    if (bad.handle >= 0)
      k.select(out.columns(c, n), bad.broadcast(0, n), 0.0f);
  }
  return out;
}

// In fp32, a product with an identity takes half of the passes if the engine is told that this is one.
void WeightedRows::turn(const Tile &out, const Tile &weights) {
  if (k.target().has("exact_transpose") || p.weights != DType::F32)
    return k.transpose(out, weights);
  if (identity.handle < 0)
    identity = identityOf(k);
  const int64_t n = weights.partitions;
  k.matmul(out, weights, identity.rows(0, n).columns(0, n), false, /*ones=*/true);
}

void WeightedRows::weigh(Rows &rows, Steps &steps) {
  struct Made {
    Tile weights, sums;
    bool begun = false;
    std::function<void()> unread; // turned weights that are not multiplied yet
  };
  const auto made = std::make_shared<Made>();
  steps.push_back([this, &rows, made] {
    made->weights = weightsOf(rows);
    made->sums = k.psum(rows.count, {p.width + 1});
  });
  const auto add = [this](Made &to, const Tile &turned, const Tile &values) {
    k.matmul(to.sums, turned.rows(0, values.partitions), values, std::exchange(to.begun, true));
  };
  const int64_t wide = columnsOf(rows);
  for (int64_t c = 0; c < wide + (others(rows) ? kContract : 0);) {
    // Blocks of equal size; the last one may be smaller, and what stands for all other columns is whole.
    const int64_t left = c < wide ? wide - c : kContract, each = std::min(kContract, left);
    const int64_t n = c < wide && each == kContract ? std::min(kTurnedAtOnce, left / kContract) : 1;
    steps.push_back([this, &rows, made, add, c, each, n, wide] {
      const bool exact = k.target().has("exact_transpose");
      const Tile in = k.psum(each, {n, rows.count}, exact ? p.weights : DType::F32),
                 out = k.sbuf(p.weights, each, {n, rows.count});
      for (int64_t i = 0; i < n; ++i)
        turn(in.index(0, i), made->weights.columns(c + i * each, each));
      operands.leave(out, in);
      // The next ones are turned before these are multiplied.
      const auto before = std::exchange(made->unread, [this, &rows, made = made.get(), add, c, n, wide, out] {
        const int64_t all = blocksOf(p.columns), first = rows.begin + c / kContract;
        for (int64_t i = 0; i < n; ++i)
          if (c < wide) {
            add(*made, out.index(0, i), operands.valuesAt(*rows.shared, first + i));
          } else {
            for (const auto &[a, b] : {std::pair(int64_t{0}, rows.end > rows.begin ? rows.begin : all),
                                       std::pair(rows.end > rows.begin ? rows.end : all, all)})
              for (const Tile &values : operands.sumsOfBlocks(*rows.shared, a, b))
                add(*made, out.index(0, i), values);
          }
      });
      if (before)
        before();
    });
    c += n * each;
  }
  steps.push_back([this, &rows, made] {
    std::exchange(made->unread, nullptr)();
    operands.store(made->sums.columns(0, p.width), made->sums.columns(p.width, 1), rows.batch, rows.first);
  });
}

} // namespace glia::emit
