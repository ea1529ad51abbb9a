// Columns that do not fit the chip at a time. Numbers of all rows are found first, part by part; then scores and the second contraction are made
// once more, of which nothing is kept beyond a part of the columns.
#include "GradientKernel.h"

#include <algorithm>

namespace glia::emit {

void GradientKernel::inParts() {
  const int64_t parts = blocksOf(p.columns, p.span);
  for (int64_t b = 0; b < p.batches; b += p.sharing) {
    if (p.loop >= 0 && p.indexOf(b, static_cast<size_t>(p.loop)) >= p.step)
      continue;
    std::vector<std::shared_ptr<GradientTotals>> totals;
    std::vector<std::shared_ptr<Rows>> lists[2];
    for (const bool measured : {true, false})
      for (int64_t part = 0; part < parts; ++part) {
        size_t at = 0;
        for (int64_t i = b; i < b + p.sharing; ++i)
          for (const std::shared_ptr<Rows> &r : rowsOf(i, part)) {
            if (at == totals.size())
              totals.push_back(std::make_shared<GradientTotals>());
            r->totals = totals[at++];
            r->measured = measured;
            lists[measured ? 0 : 1].push_back(r);
          }
      }
    measure(lists[0]);
    for (size_t i = 0; i < totals.size(); ++i) {
      totals[i]->sums.resize(p.products.size());
      for (Tile *x : {&totals[i]->lowered, &totals[i]->ofWeights, &totals[i]->ofProducts})
        *x = x->columns(0, 1);
    }
    run(lists[1]);
  }
}

// The largest score of each row, the sum of its weights and of their products, in each part.
void GradientKernel::measure(const std::vector<std::shared_ptr<Rows>> &rows) {
  const auto write = [](const std::vector<Steps> &all) {
    size_t most = 0;
    for (const Steps &s : all)
      most = std::max(most, s.size());
    for (size_t i = 0; i < most; ++i)
      for (const Steps &s : all)
        for (size_t j = i * s.size() / most; j < (i + 1) * s.size() / most; ++j)
          s[j]();
  };
  for (size_t i = 0; i <= rows.size(); ++i) {
    std::vector<Steps> now;
    if (i < rows.size()) {
      begin(*rows[i], i > 0 ? rows[i - 1].get() : nullptr);
      now.push_back(score(rows[i]));
    }
    if (i > 0) {
      now.push_back(multiply(rows[i - 1]));
      now.back().push_back([this, r = rows[i - 1]] {
        GradientTotals &t = *r->totals;
        for (const auto &[to, from] : {std::pair(&t.lowered, &r->lowered), std::pair(&t.ofWeights, &r->ofWeights),
                                       std::pair(&t.ofProducts, &r->ofProducts)}) {
          if (to->handle < 0)
            *to = k.sbuf(DType::F32, r->count, {2});
          k.move(to->columns(r->part > 0, 1), *from);
        }
        if (r->part > 0)
          join(t, r->count);
      });
    }
    write(now);
  }
}

// What was found before with what one more part gave. Each has its own largest scores.
void GradientKernel::join(GradientTotals &t, int64_t count) {
  const Tile lowered = k.sbuf(DType::F32, count, {1}), less = k.sbuf(DType::F32, count, {2});
  k.reduce(lowered, t.lowered, "min");
  k.activation(less, t.lowered, "exp", -1.0, lowered);
  for (Tile *x : {&t.ofWeights, &t.ofProducts}) {
    const Tile all = k.sbuf(DType::F32, count, {2});
    k.tensor(all, *x, less, "multiply");
    k.reduce(x->columns(0, 1), all, "add");
  }
  k.move(t.lowered.columns(0, 1), lowered);
}

// Weights, the largest scores being known.
Steps GradientKernel::scoreAgain(const std::shared_ptr<Rows> &rows) {
  Steps steps;
  steps.push_back([this, rows] {
    Rows &r = *rows;
    r.lowered = r.totals->lowered;
    r.ofWeights = r.totals->ofWeights;
    r.ofProducts = r.totals->ofProducts;
    r.terms = r.totals->terms;
    numbers(r);
    r.totals->terms = r.terms;
    if (const int64_t wide = columnsOf(r)) {
      r.inner = k.sbuf(p.inner, r.count, {wide});
      r.weights = p.inner == p.weights ? r.inner : k.sbuf(p.weights, r.count, {wide});
    }
    if (r.others > 0)
      weighOthers(r);
    products.defer(r);
  });
  for (const ColumnPart &part : partsOf(*rows))
    steps.push_back([this, rows, part] {
      Rows &r = *rows;
      const Tile s = operands.product(p.scores, r.shared->scores, r.panels.scores, r.at, r.count, part.from, part.count);
      const int64_t at = part.from - r.begin * kContract;
      const Tile out = r.inner.columns(at, part.count);
      if (part.holds == Holds::Everywhere) {
        k.activation(out, s, "exp", g.scale, r.lowered);
      } else {
        const Tile made = k.sbuf(DType::F32, r.count, {part.count});
        k.scalar(made, s, "multiply", g.scale);
        operands.places.keep(k, made, r.first, r.from + part.from, masked);
        k.activation(out, made, "exp", 1.0, r.lowered);
      }
      if (p.inner != p.weights)
        k.move(r.weights.columns(at, part.count), out);
    });
  return steps;
}

// Products with the second contraction, shifted at once.
Steps GradientKernel::multiplyAgain(const std::shared_ptr<Rows> &rows) {
  Steps steps;
  const int64_t wide = columnsOf(*rows);
  for (int64_t x = 0; x < wide; x += kBank)
    steps.push_back([this, rows, wide, x] {
      Rows &r = *rows;
      if (x == 0)
        r.gradient = k.sbuf(p.weights, r.count, {wide});
      const int64_t n = std::min(kBank, wide - x);
      const Tile s = operands.product(p.second, r.shared->second, r.panels.second, r.at, r.count, r.begin * kContract + x,
                                      n),
                 weights = r.inner.columns(x, n), out = r.gradient.columns(x, n);
      if (form->shift >= 0)
        k.scalarTensor(out, s, "add", r.shift, "multiply", weights);
      else
        k.tensor(out, s, weights, "multiply");
    });
  return steps;
}

} // namespace glia::emit
