#include "GradientKernel.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace glia::emit {

namespace {

constexpr int64_t kTurnedAtOnce = 4; // blocks that share a bank of PSUM

// Of blocks of products, those that transfers turn while Vector takes the scores and shifts the products, or the Tensor engine multiplies.
double shareOfTransfers(const Target &t, const GradientPlan &p) {
  if (!t.has("dma_transpose"))
    return 0;
  const auto block = static_cast<double>(kContract);
  const double passes = p.weights == DType::F32 ? t.number("cost.fp32_passes") : 1;
  const double elements = 2 * block / t.number("clock.vector"), products = 4 * block * passes / t.number("clock.tensor");
  const double rate = t.dmaEngines * t.number("dma.bytes_per_ns") * t.number("dma.transpose_rate_sbuf");
  const double transfer = block * block * static_cast<double>(sizeOf(p.weights)) / rate;
  return std::min(1.0, std::max(elements, products) / transfer);
}

} // namespace

GradientKernel::GradientKernel(KernelBuilder &k, const WeightedGradient &g, const GradientPlan &p,
                               GradientOperands::Behind &behind, llvm::function_ref<const Tile *(mlir::Value)> tensors)
    : k(k), g(g), p(p), operands(k, g, p, behind, tensors),
      masked(std::isinf(g.masked) ? g.masked : std::clamp(g.masked, -kLargest, kLargest)),
      byTransfers(shareOfTransfers(k.target(), p)) {
  for (const WeightedGradient::Product &x : g.products)
    if (x.form.product)
      form = &x.form;
}

void GradientKernel::run() {
  k.location(g.products.front().dot->getLoc());
  operands.repeat([&] { all(); });
}

std::vector<std::shared_ptr<GradientKernel::Rows>> GradientKernel::rowsOf() const {
  std::vector<std::shared_ptr<Rows>> out;
  const int64_t each = p.sharing * blocksOf(p.row.count);
  for (int64_t b = 0; b < p.batches; ++b) {
    if (p.loop >= 0 && p.indexOf(b, static_cast<size_t>(p.loop)) >= p.step)
      continue;
    for (int64_t first = 0; first < p.row.count; first += kContract) {
      auto r = std::make_shared<Rows>();
      r->batch = b;
      r->first = first;
      r->count = std::min(kContract, p.row.count - first);
      r->others = p.columns;
      const std::vector<ColumnPart> parts = operands.places.partsOf(first, r->count, 0, p.columns, kScoreColumns);
      for (const ColumnPart &part : parts)
        r->others -= part.count;
      if (!parts.empty()) {
        r->begin = parts.front().from / kContract;
        r->end = blocksOf(parts.back().from + parts.back().count);
      }
      const int64_t at = (b % p.sharing) * blocksOf(p.row.count) + first / kContract;
      r->ends = at + 1 == each;
      r->last = r->ends || (at + 1) % p.together == 0;
      out.push_back(std::move(r));
    }
  }
  return out;
}

// All of them, or those of one iteration.
void GradientKernel::all() {
  const std::vector<std::shared_ptr<Rows>> rows = rowsOf();
  std::vector<std::pair<size_t, Steps>> late; // what is left to do, in so many turns
  std::vector<std::shared_ptr<Rows>> group;
  const auto turn = [&](std::vector<Steps> now) {
    for (auto &[turns, steps] : late) {
      const auto end = steps.begin() + static_cast<long>((steps.size() + turns - 1) / turns);
      now.emplace_back(steps.begin(), end);
      steps.erase(steps.begin(), end);
      --turns;
    }
    std::erase_if(late, [](const auto &l) { return l.first == 0; });
    // Each at its own even rate.
    size_t most = 0;
    for (const Steps &s : now)
      most = std::max(most, s.size());
    for (size_t i = 0; i < most; ++i)
      for (const Steps &s : now)
        for (size_t j = i * s.size() / most; j < (i + 1) * s.size() / most; ++j)
          s[j]();
  };
  for (size_t i = 0; i < rows.size() + 3; ++i) {
    std::vector<Steps> now;
    if (i < rows.size()) {
      Rows &r = *rows[i];
      const bool fresh = i == 0 || r.batch / p.sharing != rows[i - 1]->batch / p.sharing;
      r.shared = fresh ? operands.load(r.batch) : rows[i - 1]->shared;
      r.at = r.first % kRowsAtOnce;
      r.panels =
          r.at ? rows[i - 1]->panels : operands.panels(r.batch, r.first, std::min(kRowsAtOnce, p.row.count - r.first));
      now.push_back(score(rows[i]));
    }
    if (i >= 1 && i - 1 < rows.size())
      now.push_back(multiply(rows[i - 1]));
    if (i >= 2 && i - 2 < rows.size())
      now.push_back(shift(rows[i - 2]));
    if (i >= 3)
      now.push_back(overColumns(rows[i - 3]));
    turn(std::move(now));
    if (i >= 2 && i - 2 < rows.size()) {
      group.push_back(rows[i - 2]);
      if (rows[i - 2]->last)
        late.emplace_back(std::max<size_t>(1, group.size() / 2), overRows(std::exchange(group, {})));
    }
  }
  while (!late.empty())
    turn({});
}

int64_t GradientKernel::columnsOf(const Rows &r) const {
  return std::max<int64_t>(0, std::min(r.end * kContract, p.columns) - r.begin * kContract);
}

// Scaled scores, the largest of each row, and weights.
GradientKernel::Steps GradientKernel::score(const std::shared_ptr<Rows> &rows) {
  const std::vector<ColumnPart> parts = operands.places.partsOf(rows->first, rows->count, 0, p.columns, kScoreColumns);
  const bool stand = rows->others > 0 && !std::isinf(masked);
  const auto lowered = std::make_shared<Tile>();
  Steps steps;
  steps.push_back([this, rows, lowered, stand, n = static_cast<int64_t>(parts.size())] {
    *lowered = k.sbuf(DType::F32, rows->count, {std::max<int64_t>(1, n + stand)});
    if (n)
      rows->made = k.sbuf(DType::F32, rows->count, {columnsOf(*rows)});
    if (stand)
      k.fill(lowered->columns(n, 1), -masked);
    else if (!n) // a row of nothing but -inf
      k.fill(*lowered, -masked);
  });
  for (size_t i = 0; i < parts.size(); ++i)
    steps.push_back(
        [this, rows, lowered, i, part = parts[i]] { make(*rows, part, lowered->columns(static_cast<int64_t>(i), 1)); });
  steps.push_back([this, rows, lowered] { weigh(*rows, *lowered); });
  return steps;
}

void GradientKernel::make(Rows &r, const ColumnPart &part, const Tile &lowered) {
  const Tile s = operands.product(p.scores, r.shared->scores, r.panels.scores, r.at, r.count, part.from, part.count);
  const Tile made = r.made.columns(part.from - r.begin * kContract, part.count);
  if (part.holds == Holds::Everywhere)
    return k.scalarReduce(made, s, "multiply", g.scale, "max", lowered, true);
  k.scalar(made, s, "multiply", g.scale);
  operands.places.keep(k, made, r.first, part.from, masked);
  k.reduce(lowered, made, "max", true);
}

void GradientKernel::weigh(Rows &r, const Tile &lowered) {
  r.lowered = lowered;
  if (lowered.elements() > 1) {
    r.lowered = k.sbuf(DType::F32, r.count, {1});
    k.reduce(r.lowered, lowered, "min");
  }
  const int64_t wide = columnsOf(r), chunks = blocksOf(wide, kScoreColumns);
  Tile totals = k.sbuf(DType::F32, r.count, {chunks + (r.others > 0)});
  if (wide)
    r.inner = p.inner == DType::F32 ? r.made : k.sbuf(p.inner, r.count, {wide});
  for (int64_t i = 0; i < chunks; ++i) {
    const int64_t at = i * kScoreColumns, n = std::min(kScoreColumns, wide - at);
    k.activationSum(r.inner.columns(at, n), r.made.columns(at, n), "exp", r.lowered, totals.columns(i, 1));
  }
  r.weights = r.inner;
  if (wide && p.inner != p.weights) {
    r.weights = k.sbuf(p.weights, r.count, {wide});
    k.move(r.weights, r.inner);
  }
  if (r.others > 0) { // these have one weight per row
    if (filled.handle < 0) {
      filled = k.sbuf(DType::F32, kContract, {kContract});
      k.fill(filled, masked);
    }
    r.other = k.sbuf(p.weights, r.count, {kContract});
    k.activation(r.other, filled.rows(0, r.count), "exp", 1.0, r.lowered);
    k.scalar(totals.columns(chunks, 1), r.other.columns(0, 1), "multiply", static_cast<double>(r.others));
  }
  r.ofWeights = totals;
  if (totals.elements() > 1) {
    r.ofWeights = k.sbuf(DType::F32, r.count, {1});
    k.reduce(r.ofWeights, totals, "add");
  }
}

// Products of weights and the second contraction, their sums, and what becomes of them.
GradientKernel::Steps GradientKernel::multiply(const std::shared_ptr<Rows> &rows) {
  const int64_t wide = columnsOf(*rows), chunks = blocksOf(wide, kScoreColumns);
  const auto sums = std::make_shared<Tile>();
  Steps steps;
  steps.push_back([this, rows, sums, wide, chunks] {
    if (wide)
      rows->product = k.sbuf(p.inner, rows->count, {wide});
    *sums = k.sbuf(DType::F32, rows->count, {chunks + (rows->others > 0)});
  });
  for (int64_t x = 0; x < wide; x += kBank)
    steps.push_back([this, rows, sums, wide, x] {
      Rows &r = *rows;
      const int64_t n = std::min(kBank, wide - x), column = r.begin * kContract + x;
      const Tile s = operands.product(p.second, r.shared->second, r.panels.second, r.at, r.count, column, n);
      k.tensor(r.product.columns(x, n), s, r.inner.columns(x, n), "multiply");
      if (x + n < wide && (x + n) % kScoreColumns)
        return;
      const int64_t i = x / kScoreColumns, at = i * kScoreColumns;
      const Tile all = r.product.columns(at, x + n - at);
      k.activationSum(all, all, "copy", 0.0f, sums->columns(i, 1));
    });
  steps.push_back([this, rows, sums, chunks] {
    Rows &r = *rows;
    if (r.others > 0) {
      const Tile s = operands.productOfOthers(*r.shared, r.panels.second, r.at, r.count, r.begin, r.end);
      k.tensor(sums->columns(chunks, 1), s, r.other.columns(0, 1), "multiply");
    }
    r.ofProducts = *sums;
    if (sums->elements() > 1) {
      r.ofProducts = k.sbuf(DType::F32, r.count, {1});
      k.reduce(r.ofProducts, *sums, "add");
    }
    numbers(r);
  });
  return steps;
}

// What is multiplied over the rows, and the numbers that come with them.
void GradientKernel::numbers(Rows &r) {
  r.moving.resize(g.products.size());
  for (size_t i = 0; i < g.products.size(); ++i)
    if (g.products[i].overRows) {
      const Tile x = operands.otherRows(i, r.batch, r.first, r.count);
      r.moving[i] = k.sbuf(p.weights, r.count, {p.products[i].width});
      k.scalar(r.moving[i], x, "multiply", factor(r, i));
    }
  if (form->shift >= 0)
    operands.term(r, form->shift);
}

// Products less what their row has too much: f e (p + t) without the factor.
GradientKernel::Steps GradientKernel::shift(const std::shared_ptr<Rows> &rows) {
  const int64_t wide = columnsOf(*rows);
  Steps steps;
  if (wide == 0)
    return steps;
  steps.push_back([this, rows, wide] {
    rows->gradient = p.inner == p.weights ? rows->product : k.sbuf(p.weights, rows->count, {wide});
  });
  for (int64_t x = 0; x < wide; x += kBank)
    steps.push_back([this, rows, x, n = std::min(kBank, wide - x)] {
      Rows &r = *rows;
      if (form->shift >= 0) {
        const Tile more = k.sbuf(DType::F32, r.count, {n});
        k.scalar(more, r.inner.columns(x, n), "multiply", operands.term(r, form->shift));
        k.tensor(r.gradient.columns(x, n), more, r.product.columns(x, n), "add");
      } else if (p.inner != p.weights) {
        k.move(r.gradient.columns(x, n), r.product.columns(x, n));
      }
    });
  for (const ColumnPart &part : operands.places.partsOf(rows->first, rows->count, 0, p.columns, kScoreColumns))
    if (part.holds == Holds::Somewhere)
      steps.push_back([this, rows, part] {
        operands.places.keep(k, rows->gradient.columns(part.from - rows->begin * kContract, part.count), rows->first,
                             part.from, 0);
      });
  return steps;
}

const Tile &GradientKernel::formed(const Rows &r, size_t product) const {
  return g.products[product].form.product ? r.gradient : r.weights;
}

Tile GradientKernel::factor(Rows &r, size_t product) { return operands.term(r, g.products[product].factor); }

// Products over the columns, of turned blocks.
GradientKernel::Steps GradientKernel::overColumns(const std::shared_ptr<Rows> &rows) {
  Steps steps;
  const int64_t wide = columnsOf(*rows), whole = wide / kContract,
                byDma = std::lround(static_cast<double>(whole) * byTransfers);
  for (size_t product = 0; product < g.products.size(); ++product) {
    if (g.products[product].overRows)
      continue;
    const auto sums = std::make_shared<Tile>();
    for (int64_t i = 0; i * kContract < wide;) {
      const int64_t limit = i < byDma ? byDma : whole;
      const int64_t n = std::max<int64_t>(1, std::min(kTurnedAtOnce, limit - i)),
                    each = std::min(kContract, wide - i * kContract);
      steps.push_back([this, rows, sums, product, i, n, each, byDma] {
        Rows &r = *rows;
        const Tile &from = formed(r, product);
        const Tile turned = k.sbuf(p.weights, each, {n, r.count});
        if (i < byDma) {
          k.transposeByDma(turned, from.columns(i * kContract, n * kContract), n);
        } else {
          const Tile in = k.psum(each, {n, r.count}, p.weights);
          for (int64_t j = 0; j < n; ++j)
            k.transpose(in.index(0, j), from.columns((i + j) * kContract, each));
          k.move(turned, in);
        }
        if (i == 0)
          *sums = k.psum(r.count, {p.products[product].width});
        for (int64_t j = 0; j < n; ++j)
          k.matmul(*sums, turned.index(0, j), r.shared->others[product].index(0, 0).index(0, r.begin + i + j).rows(0, each),
                   i + j > 0);
      });
      i += n;
    }
    steps.push_back([this, rows, sums, product] {
      Rows &r = *rows;
      const Tile out = k.sbuf(heldType(g.products[product].dot->getResult(0)), r.count, {p.products[product].width});
      if (sums->handle >= 0)
        k.scalar(out, *sums, "multiply", factor(r, product));
      else
        k.fill(out, 0);
      operands.store(product, out, r.batch, r.first);
    });
  }
  return steps;
}

// Products over rows of several blocks: as many blocks of columns at a time as a bank of PSUM holds.
GradientKernel::Steps GradientKernel::overRows(const std::vector<std::shared_ptr<Rows>> &group) {
  Steps steps;
  const int64_t blocks = blocksOf(p.columns);
  for (size_t product = 0; product < g.products.size(); ++product) {
    if (!g.products[product].overRows)
      continue;
    const int64_t width = p.products[product].width, share = std::max<int64_t>(1, kBank / width);
    for (int64_t first = 0; first < blocks; first += share)
      steps.push_back([this, group, product, width, first, end = std::min(blocks, first + share)] {
        const std::shared_ptr<Shared> shared = group.front()->shared;
        const bool ends = group.back()->ends, hangs = g.products[product].form.product;
        const int64_t all = blocksOf(p.columns);
        Tile &sums = shared->sums[product];
        const Tile bank = k.psum(std::min(kContract, p.columns), {(end - first) * width});
        std::vector<bool> some;
        for (int64_t c = first; c < end; ++c) {
          const int64_t n = std::min(kContract, p.columns - c * kContract);
          const Tile here = bank.rows(0, n).columns((c - first) * width, width);
          some.push_back(false);
          for (const std::shared_ptr<Rows> &r : group) {
            const bool counts = c >= r->begin && c < r->end;
            if (!counts && hangs) // 0
              continue;
            const Tile stationary =
                counts ? formed(*r, product).columns((c - r->begin) * kContract, n) : r->other.columns(0, n);
            k.matmul(here, stationary, r->moving[product], some.back());
            some.back() = true;
          }
        }
        if (sums.handle < 0)
          sums = k.sbuf(DType::F32, bank.partitions, {all, width});
        std::vector<bool> &begun = shared->begun[product];
        for (int64_t c = first; c < end;) { // blocks of one kind at once
          const int64_t n = std::min(kContract, p.columns - c * kContract);
          const auto kind = [&](int64_t b) {
            return std::tuple(std::min(kContract, p.columns - b * kContract), bool(some[static_cast<size_t>(b - first)]),
                              bool(begun[static_cast<size_t>(b)]));
          };
          int64_t to = c + 1;
          while (to < end && kind(to) == kind(c))
            ++to;
          const Tile here = bank.rows(0, n).columns((c - first) * width, (to - c) * width),
                     out = sums.rows(0, n).part(0, c, to - c).reshaped({(to - c) * width});
          const auto [size, any, before] = kind(c);
          if (any && before)
            k.tensor(out, out, here, "add");
          else if (any)
            k.move(out, here);
          else if (!before && ends)
            k.fill(out, 0);
          for (; c < to; ++c) {
            begun[static_cast<size_t>(c)] = before || any;
            if (ends)
              operands.store(product, sums.rows(0, n).index(0, c), group.back()->batch, c * kContract);
          }
        }
      });
  }
  return steps;
}

} // namespace glia::emit
