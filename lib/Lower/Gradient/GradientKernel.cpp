#include "GradientKernel.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace glia::emit {

namespace {

void append(Steps &to, Steps more) { to.insert(to.end(), more.begin(), more.end()); }

} // namespace

GradientKernel::GradientKernel(KernelBuilder &k, const WeightedGradient &g, const GradientPlan &p,
                               GradientOperands::Behind &behind, llvm::function_ref<const Tile *(mlir::Value)> tensors)
    : k(k), g(g), p(p), operands(k, g, p, behind, tensors), products(k, g, p, operands),
      masked(std::isinf(g.masked) && !p.inParts() ? g.masked : std::clamp(g.masked, -kLargest, kLargest)) {
  for (const WeightedGradient::Product &x : g.products)
    if (x.form.product)
      form = &x.form;
}

void GradientKernel::run() {
  k.location(g.products.front().dot->getLoc());
  operands.repeat([&] { all(); });
}

// Of all batches that are made now.
std::vector<std::shared_ptr<GradientRows>> GradientKernel::rowsOf() const {
  std::vector<std::shared_ptr<Rows>> out;
  for (int64_t b = 0; b < p.batches; ++b)
    if (p.loop < 0 || p.indexOf(b, static_cast<size_t>(p.loop)) < p.step)
      for (std::shared_ptr<Rows> &r : rowsOf(b, 0))
        out.push_back(std::move(r));
  return out;
}

std::vector<std::shared_ptr<GradientRows>> GradientKernel::rowsOf(int64_t b, int64_t part) const {
  std::vector<std::shared_ptr<Rows>> out;
  const int64_t each = p.sharing * blocksOf(p.row.count);
  for (int64_t first = 0; first < p.row.count; first += kContract) {
    auto r = std::make_shared<Rows>();
    r->batch = b;
    r->first = first;
    r->count = std::min(kContract, p.row.count - first);
    r->part = part;
    r->from = part * p.span;
    r->others = r->columns = std::min(p.span, p.columns - r->from);
    r->complete = r->from + r->columns == p.columns;
    const std::vector<ColumnPart> parts = partsOf(*r);
    for (const ColumnPart &x : parts)
      r->others -= x.count;
    if (!parts.empty()) {
      r->begin = parts.front().from / kContract;
      r->end = blocksOf(parts.back().from + parts.back().count);
    }
    const int64_t at = (b % p.sharing) * blocksOf(p.row.count) + first / kContract;
    r->ends = at + 1 == each;
    r->last = r->ends || (at + 1) % p.together == 0;
    out.push_back(std::move(r));
  }
  return out;
}

// Of its columns, those that count, from its first one on.
std::vector<ColumnPart> GradientKernel::partsOf(const Rows &r) const {
  std::vector<ColumnPart> out = operands.places.partsOf(r.first, r.count, r.from, r.from + r.columns, kScoreColumns);
  for (ColumnPart &x : out)
    x.from -= r.from;
  return out;
}

// All of them, or those of one iteration.
void GradientKernel::all() {
  if (p.inParts())
    inParts();
  else
    run(rowsOf());
}

void GradientKernel::run(const std::vector<std::shared_ptr<Rows>> &rows) {
  std::vector<std::pair<size_t, Steps>> late; // what is left to do, in so many turns
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
  // How many blocks of rows later each stage is written.
  const size_t product = 1, shifted = p.deep ? 2 : 1, turned = p.deep ? 3 : 2;
  std::vector<std::shared_ptr<Rows>> group;
  std::shared_ptr<GradientProducts::Together> pair;
  for (size_t i = 0; i < rows.size() + turned; ++i) {
    const auto here = [&](size_t stage) { return i >= stage && i - stage < rows.size() ? rows[i - stage] : nullptr; };
    std::vector<Steps> now;
    if (const auto r = here(0)) {
      begin(*r, i > 0 ? rows[i - 1].get() : nullptr);
      now.push_back(p.inParts() ? scoreAgain(r) : score(r));
    }
    if (const auto r = here(product)) {
      now.push_back(p.inParts() ? multiplyAgain(r) : multiply(r));
      if (!p.deep)
        append(now.back(), shift(r));
    }
    if (const auto r = here(shifted); r && p.deep)
      now.push_back(shift(r));
    Steps after;
    if (const auto r = here(turned)) {
      if (!pair)
        pair = together(rows, i - turned);
      const size_t at = static_cast<size_t>(std::find(pair->rows.begin(), pair->rows.end(), r) - pair->rows.begin());
      now.push_back(products.turn(pair, at));
      if (r == pair->rows.back())
        after = products.overColumns(std::exchange(pair, nullptr));
    }
    turn(std::move(now));
    if (!after.empty())
      late.emplace_back(static_cast<size_t>(p.deep ? p.atOnce() : 1), std::move(after));
    if (const auto r = here(shifted)) {
      group.push_back(r);
      if (r->last)
        late.emplace_back(static_cast<size_t>(p.turns()), products.overRows(std::exchange(group, {})));
    }
  }
  while (!late.empty())
    turn({});
}

// What the rows need of HBM.
void GradientKernel::begin(Rows &r, const Rows *before) {
  const bool fresh = !before || r.batch / p.sharing != before->batch / p.sharing || r.part != before->part;
  r.shared = fresh ? operands.load(r.batch, r.from, r.columns, !r.measured) : before->shared;
  r.at = r.first % kRowsAtOnce;
  r.panels = r.at ? before->panels : operands.panels(r.batch, r.first, std::min(kRowsAtOnce, p.row.count - r.first));
}

// Rows from one on whose products over the columns are made at once: they share columns.
std::shared_ptr<GradientProducts::Together> GradientKernel::together(const std::vector<std::shared_ptr<Rows>> &rows,
                                                                     size_t from) const {
  auto out = std::make_shared<GradientProducts::Together>();
  out->begin = blocksOf(rows[from]->columns);
  for (size_t i = from; i < rows.size() && static_cast<int64_t>(i - from) < p.atOnce() &&
                        rows[i]->batch / p.sharing == rows[from]->batch / p.sharing && rows[i]->part == rows[from]->part;
       ++i) {
    out->rows.push_back(rows[i]);
    out->count += rows[i]->count;
    if (rows[i]->end > rows[i]->begin) {
      out->begin = std::min(out->begin, rows[i]->begin);
      out->end = std::max(out->end, rows[i]->end);
    }
  }
  out->begin = std::min(out->begin, out->end);
  return out;
}

int64_t GradientKernel::columnsOf(const Rows &r) const {
  return std::max<int64_t>(0, std::min(r.end * kContract, r.columns) - r.begin * kContract);
}

// Scaled scores, the largest of each row, and weights.
Steps GradientKernel::score(const std::shared_ptr<Rows> &rows) {
  const std::vector<ColumnPart> parts = partsOf(*rows);
  const bool stand = rows->others > 0 && !std::isinf(masked);
  const auto lowered = std::make_shared<Tile>();
  Steps steps;
  steps.push_back([this, rows, lowered, stand, n = static_cast<int64_t>(parts.size())] {
    *lowered = k.sbuf(DType::F32, rows->count, {std::max<int64_t>(1, n + stand)});
    if (n)
      rows->made = k.sbuf(p.narrow ? p.inner : DType::F32, rows->count, {columnsOf(*rows)});
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
  operands.places.keep(k, made, r.first, r.from + part.from, masked);
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
    r.inner = p.inner == r.made.dtype ? r.made : k.sbuf(p.inner, r.count, {wide});
  for (int64_t i = 0; i < chunks; ++i) {
    const int64_t at = i * kScoreColumns, n = std::min(kScoreColumns, wide - at);
    k.activationSum(r.inner.columns(at, n), r.made.columns(at, n), "exp", r.lowered, totals.columns(i, 1));
  }
  r.weights = r.inner;
  if (wide && p.inner != p.weights) {
    r.weights = k.sbuf(p.weights, r.count, {wide});
    k.move(r.weights, r.inner);
  }
  if (r.others > 0) {
    weighOthers(r);
    k.scalar(totals.columns(chunks, 1), r.other.columns(0, 1), "multiply", static_cast<double>(r.others));
  }
  r.ofWeights = totals;
  if (totals.elements() > 1) {
    r.ofWeights = k.sbuf(DType::F32, r.count, {1});
    k.reduce(r.ofWeights, totals, "add");
  }
}

// Columns that do not count have one weight per row.
void GradientKernel::weighOthers(Rows &r) {
  if (filled.handle < 0) {
    filled = k.sbuf(DType::F32, kContract, {kContract});
    k.fill(filled, masked);
  }
  r.other = k.sbuf(p.weights, r.count, {kContract});
  k.activation(r.other, filled.rows(0, r.count), "exp", 1.0, r.lowered);
}

// Products of weights and the second contraction, their sums, and what becomes of them.
Steps GradientKernel::multiply(const std::shared_ptr<Rows> &rows) {
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
    if (!r.measured) {
      numbers(r);
      products.defer(r);
    }
  });
  return steps;
}

// What is multiplied over the rows, and the numbers that come with them. Where elements are chosen to be 0, a factor that is NaN would make NaN of
// them: there it goes with the others.
void GradientKernel::numbers(Rows &r) {
  if (form->shift >= 0)
    r.shift = operands.term(r, form->shift);
  r.moving.resize(g.products.size());
  for (size_t i = 0; i < g.products.size(); ++i) {
    if (!g.products[i].form.chosen && !g.products[i].overRows)
      continue;
    Tile factor = operands.term(r, g.products[i].factor);
    if (g.products[i].form.chosen) {
      const Tile bad = k.sbuf(DType::U8, r.count, {1}), safe = k.sbuf(DType::F32, r.count, {1}),
                 shift = k.sbuf(DType::F32, r.count, {1});
      k.scalar(bad, factor, "multiply", 0.0f, false, "not_equal", 0.0f);
      k.scalar(shift, factor, "multiply", 0.0f, false, "add", r.shift);
      k.move(safe, factor);
      k.select(safe, bad, 1.0f);
      r.shift = shift;
      factor = safe;
    }
    if (!g.products[i].overRows)
      continue;
    const Tile x = operands.otherRows(i, r.batch, r.first, r.count);
    r.moving[i] = k.sbuf(p.weights, r.count, {p.products[i].width});
    k.scalar(r.moving[i], x, "multiply", factor);
  }
  if (!k.target().has("exact_transpose"))
    findSpoilt(r);
}

// Rows in which something is not finite. What has an element for each score is finite where the sums and the shift of its row are.
void GradientKernel::findSpoilt(Rows &r) {
  const auto make = [&](DType t) { return k.sbuf(t, r.count, {1}); };
  Tile all = r.shift;
  if (form->shift < 0 || !g.terms.spreads(form->shift, RowTerm::Weights) ||
      !g.terms.spreads(form->shift, RowTerm::Products)) {
    all = make(DType::F32);
    k.scalar(all, r.ofWeights, "multiply", 0.0f, false, "add", r.ofProducts);
    if (form->shift >= 0)
      k.scalar(all, all, "multiply", 0.0f, false, "add", r.shift);
  }
  r.spoilt = make(DType::F32);
  k.scalar(r.spoilt, all, "multiply", 0.0f);
  r.finite = make(DType::I32);
  k.scalar(r.finite, r.spoilt, "equal", 0.0f, false, "multiply", -1.0f);
  if (p.weights != DType::F32 && p.columns % 2) {
    r.finiteHalf = make(DType::I16);
    k.scalar(r.finiteHalf, r.spoilt, "equal", 0.0f, false, "multiply", -1.0f);
  }
}

// Where Vector would have to do all of it: Scalar multiplies if Vector adds what is rounded at twice the rate.
void GradientKernel::addShift(Rows &r, int64_t x, int64_t n) {
  const Tile weights = r.inner.columns(x, n), product = r.product.columns(x, n), out = r.gradient.columns(x, n);
  if (p.inner != DType::BF16 || p.weights != DType::BF16)
    return k.scalarTensor(out, weights, "multiply", r.shift, "add", product);
  const Tile more = k.sbuf(DType::BF16, r.count, {n});
  k.activation(more, weights, "copy", r.shift);
  k.tensor(out, more, product, "add");
}

// Products less what their row has too much: f e (p + t) without the factor.
Steps GradientKernel::shift(const std::shared_ptr<Rows> &rows) {
  const int64_t wide = columnsOf(*rows);
  Steps steps;
  if (wide == 0)
    return steps;
  if (!p.inParts())
    steps.push_back([this, rows, wide] {
      rows->gradient = p.inner == p.weights ? rows->product : k.sbuf(p.weights, rows->count, {wide});
    });
  for (int64_t x = 0; x < (p.inParts() ? 0 : wide); x += kBank)
    steps.push_back([this, rows, x, n = std::min(kBank, wide - x)] {
      Rows &r = *rows;
      if (form->shift >= 0 && !k.target().has("scalar_tensor_scalar")) {
        addShift(r, x, n);
      } else if (form->shift >= 0) {
        const Tile more = k.sbuf(DType::F32, r.count, {n});
        k.scalar(more, r.inner.columns(x, n), "multiply", r.shift);
        k.tensor(r.gradient.columns(x, n), more, r.product.columns(x, n), "add");
      } else if (p.inner != p.weights) {
        k.move(r.gradient.columns(x, n), r.product.columns(x, n));
      }
    });
  for (const ColumnPart &part : partsOf(*rows))
    if (part.holds == Holds::Somewhere)
      steps.push_back([this, rows, part] {
        operands.places.keep(k, rows->gradient.columns(part.from - rows->begin * kContract, part.count), rows->first,
                             rows->from + part.from, 0);
      });
  return steps;
}

} // namespace glia::emit
