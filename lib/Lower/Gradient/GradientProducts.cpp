#include "GradientProducts.h"

#include <algorithm>
#include <cmath>

namespace glia::emit {

namespace {

constexpr int64_t kTurnedAtOnce = 4; // blocks that share a bank of PSUM

// Of blocks of gradients, those that transfers turn while Vector takes both contractions from PSUM, or the Tensor engine multiplies.
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

GradientProducts::GradientProducts(KernelBuilder &k, const WeightedGradient &g, const GradientPlan &p,
                                   GradientOperands &operands)
    : k(k), g(g), p(p), operands(operands), streams(p.streams()), exact(k.target().has("exact_transpose")),
      byTransfers(shareOfTransfers(k.target(), p)) {
  if (exact)
    return;
  turning.identity = identityOf(k);
  turning.scalarAlone = true;
}

const Tile &GradientProducts::formed(const GradientRows &r, size_t product) const {
  return g.products[product].form.product ? r.gradient : r.weights;
}

// What stands in the place of columns that do not count: 0 for what is chosen to be that, which still makes NaN of what is not finite.
Tile GradientProducts::otherOf(const GradientRows &r, size_t product) {
  if (!g.products[product].form.product)
    return r.other;
  if (nought.handle < 0) {
    nought = k.sbuf(p.weights, kContract, {kContract});
    k.fill(nought, 0);
  }
  return nought.rows(0, r.count);
}

const Tile &GradientProducts::ones() {
  if (one.handle < 0) {
    one = k.sbuf(DType::F32, kContract, {kContract});
    k.fill(one, 1);
  }
  return one;
}

void GradientProducts::defer(GradientRows &r) {
  GradientOperands::Shared &s = *r.shared;
  r.before = r.after = s.deferred;
  std::fill(s.seen.begin() + r.begin, s.seen.begin() + r.end, true);
  if (llvm::all_of(s.seen, [](bool x) { return x; }))
    return;
  for (size_t i = 0; i < g.products.size(); ++i) {
    if (!g.products[i].overRows)
      continue;
    const Tile old = s.deferred[i], out = k.sbuf(DType::F32, kContract, {p.products[i].width});
    if (r.count < kContract && old.handle >= 0)
      k.move(out, old);
    else if (r.count < kContract)
      k.fill(out, 0);
    const Tile to = out.rows(0, r.count), other = g.products[i].form.product ? Tile() : r.other.columns(0, 1);
    Tile factor = other;
    if (other.handle >= 0 && other.dtype != DType::F32) {
      factor = k.sbuf(DType::F32, r.count, {1});
      k.move(factor, other);
    }
    const ScalarOperand by = other.handle >= 0 ? ScalarOperand(factor) : ScalarOperand(0.0f);
    if (old.handle >= 0)
      k.scalarTensor(to, r.moving[i], "multiply", by, "add", old.rows(0, r.count));
    else
      k.scalar(to, r.moving[i], "multiply", by);
    s.deferred[i] = r.after[i] = out;
  }
}

void GradientProducts::runs(int64_t first, int64_t end, const Kind &kind, llvm::function_ref<void(int64_t, int64_t)> run) {
  for (int64_t c = first; c < end;) {
    int64_t to = c + 1;
    while (to < end && kind(to) == kind(c))
      ++to;
    run(c, to);
    c = to;
  }
}

// In fp32, a product with an identity takes half of the passes if the engine is told that this is one.
void GradientProducts::turnBlock(const Tile &out, const Tile &x) {
  if (exact || x.dtype != DType::F32)
    return k.transpose(out, x);
  k.matmul(out, x, turning.identity->rows(0, x.partitions).columns(0, x.partitions), false, /*ones=*/true);
}

// Where turning multiplies, NaN would spread to other rows. A row that has one becomes 0 here, and its result NaN by the factor.
Tile GradientProducts::finiteOf(const GradientRows &r, int64_t from, int64_t n) {
  const Tile x = r.gradient.columns(from, n);
  if (exact)
    return x;
  const Tile out = k.sbuf(p.weights, r.count, {n});
  if (p.weights == DType::F32)
    k.scalar(out.as(DType::I32), x.as(DType::I32), "bitwise_and", r.finite);
  else if (n % 2 == 0 && x.offset % 2 == 0)
    k.scalar(pairsOf(out).as(DType::I32), pairsOf(x).as(DType::I32), "bitwise_and", r.finite);
  else
    k.scalar(out.as(DType::I16), x.as(DType::I16), "bitwise_and", r.finiteHalf);
  return out;
}

// [width, lines] become [lines, width], times a number of each line.
void GradientProducts::turnSums(const Tile &out, const Tile &sums, const ScalarOperand &factor) {
  Tile back;
  if (exact) {
    back = k.psum(sums.elements(), {sums.partitions});
    k.transpose(back, sums);
  } else {
    const Tile all = k.sbuf(DType::F32, sums.elements(), {1, sums.partitions});
    turnBlocks(k, all, sums, turning);
    back = all.index(0, 0);
  }
  if (factor.isTile)
    k.scalar(out, back, "multiply", factor);
  else
    k.move(out, back);
}

// [rows, columns] become [columns, blocks, rows].
Steps GradientProducts::turn(const std::shared_ptr<Together> &t, size_t i) {
  Steps steps;
  const Rows r = t->rows[i];
  const int64_t wide = columnsUpTo(*r, r->end) - columnsUpTo(*r, r->begin), whole = wide / kContract,
                byDma = std::lround(static_cast<double>(whole) * byTransfers);
  // Where engines take turns at PSUM, two banks at a time. A block stays in one of them.
  const int64_t atOnce = exact || r->count < kContract ? kTurnedAtOnce : 2 * kTurnedAtOnce;
  int64_t before = 0;
  for (size_t j = 0; j < i; ++j)
    before += t->rows[j]->count;
  for (int64_t b = 0; b * kContract < wide;) {
    const int64_t limit = b < byDma ? byDma : whole, n = std::max<int64_t>(1, std::min(atOnce, limit - b)),
                  each = std::min(kContract, wide - b * kContract);
    steps.push_back([this, t, r, before, b, n, each, byDma] {
      if (t->turned.handle < 0)
        t->turned = k.sbuf(p.weights, std::min(kContract, r->columns), {t->end - t->begin, t->count});
      const Tile out = t->turned.rows(0, each).part(0, r->begin - t->begin + b, n).part(1, before, r->count);
      if (b < byDma)
        return k.transposeByDma(out, r->gradient.columns(b * kContract, n * kContract), n);
      const Tile in = k.psum(each, {n, r->count}, exact ? p.weights : DType::F32),
                 from = finiteOf(*r, b * kContract, n == 1 ? each : n * kContract);
      for (int64_t j = 0; j < n; ++j)
        turnBlock(in.index(0, j), from.columns(j * kContract, each));
      operands.leave(out, in);
    });
    b += n;
  }
  return steps;
}

Steps GradientProducts::overColumns(const std::shared_ptr<Together> &t) {
  Steps steps;
  for (size_t product = 0; product < g.products.size(); ++product) {
    if (g.products[product].overRows)
      continue;
    struct Sums {
      std::vector<Tile> tiles;
      std::vector<bool> begun; // by blocks of rows
    };
    const auto s = std::make_shared<Sums>();
    s->begun.assign(t->rows.size(), false);
    const int64_t width = p.products[product].width;
    for (int64_t c = t->begin; c < t->end; ++c)
      steps.push_back([this, t, s, product, c, width] {
        const int64_t each = columnsUpTo(*t->rows[0], c + 1) - columnsUpTo(*t->rows[0], c);
        const Tile other = t->rows[0]->shared->others[product].index(0, 0).index(0, c).rows(0, each),
                   turned = t->turned.index(0, c - t->begin).rows(0, each);
        if (s->tiles.empty())
          for (int64_t w = 0; w < width; w += streams ? kContract : width)
            s->tiles.push_back(streams ? k.psum(std::min(kContract, width - w), {t->count}) : k.psum(t->count, {width}));
        const auto end = static_cast<int64_t>(t->rows.size());
        const auto kind = [&](int64_t r) {
          return t->rows[static_cast<size_t>(r)]->counts(c) ? 1 + s->begun[static_cast<size_t>(r)] : 0;
        };
        runs(0, end, kind, [&](int64_t a, int64_t b) {
          if (!kind(a))
            return;
          const bool begun = s->begun[static_cast<size_t>(a)];
          int64_t from = 0, count = 0;
          for (int64_t r = 0; r < b; ++r)
            (r < a ? from : count) += t->rows[static_cast<size_t>(r)]->count;
          const Tile mine = turned.part(0, from, count);
          for (size_t i = 0; i < s->tiles.size(); ++i) {
            const Tile &sum = s->tiles[i];
            if (streams)
              k.matmul(sum.columns(from, count), other.columns(static_cast<int64_t>(i) * kContract, sum.partitions), mine,
                       begun);
            else
              k.matmul(sum, mine, other, begun);
          }
          for (int64_t r = a; r < b; ++r)
            s->begun[static_cast<size_t>(r)] = true;
        });
      });
    steps.push_back([this, t, s, product] { finish(*t, product, s->tiles); });
  }
  return steps;
}

// Sums over the columns go to HBM, or join those of other columns.
void GradientProducts::finish(const Together &t, size_t product, const std::vector<Tile> &sums) {
  std::vector<Tile> all = sums;
  // The Tensor engine turns what is in SBUF. Rows without columns have no sums.
  const auto some = [&](int64_t i) { return t.rows[static_cast<size_t>(i)]->end > t.rows[static_cast<size_t>(i)]->begin; };
  if (streams && !p.inParts())
    for (Tile &sum : all) {
      const Tile out = k.sbuf(DType::F32, sum.partitions, {t.count});
      int64_t from = 0;
      runs(0, static_cast<int64_t>(t.rows.size()), some, [&](int64_t a, int64_t b) {
        int64_t n = 0;
        for (int64_t i = a; i < b; ++i)
          n += t.rows[static_cast<size_t>(i)]->count;
        if (some(a))
          k.move(out.columns(from, n), sum.columns(from, n));
        from += n;
      });
      sum = out;
    }
  int64_t at = 0;
  for (const Rows &r : t.rows) {
    std::vector<Tile> mine;
    if (r->end > r->begin)
      for (const Tile &sum : all)
        mine.push_back(streams ? sum.columns(at, r->count) : sum);
    if (p.inParts())
      addSums(*r, product, mine);
    if (r->complete)
      storeRows(*r, product, mine);
    at += r->count;
  }
}

// With those of the columns before, if there are any.
void GradientProducts::addSums(GradientRows &r, size_t product, std::vector<Tile> &sums) {
  std::vector<Tile> &before = r.totals->sums[product];
  if (before.empty())
    for (const Tile &sum : sums) {
      before.push_back(k.sbuf(DType::F32, sum.partitions, {sum.elements()}));
      operands.leave(before.back(), sum);
    }
  else
    for (size_t i = 0; i < sums.size(); ++i)
      k.tensor(before[i], before[i], sums[i], "add");
  sums = before;
}

// With the factors of the rows.
void GradientProducts::storeRows(GradientRows &r, size_t product, const std::vector<Tile> &sums) {
  const Tile out = k.sbuf(heldType(g.products[product].dot->getResult(0)), r.count, {p.products[product].width});
  if (sums.empty()) {
    k.fill(out, 0);
    return operands.store(product, out, r.batch, r.first);
  }
  Tile factor = operands.term(r, g.products[product].factor);
  if (r.spoilt.handle >= 0) {
    const Tile with = k.sbuf(DType::F32, r.count, {1});
    k.scalar(with, factor, "add", r.spoilt);
    factor = with;
  }
  if (!streams)
    k.scalar(out, sums[0], "multiply", factor);
  else
    for (size_t i = 0; i < sums.size(); ++i)
      turnSums(out.columns(static_cast<int64_t>(i) * kContract, sums[i].partitions), sums[i], factor);
  operands.store(product, out, r.batch, r.first);
}

// As many columns at a time as a bank of PSUM holds sums.
Steps GradientProducts::overRows(const std::vector<Rows> &rows) {
  Steps steps;
  for (size_t product = 0; product < g.products.size(); ++product)
    if (g.products[product].overRows) {
      const int64_t share = streams ? kBank / kContract : std::max<int64_t>(1, kBank / p.products[product].width);
      for (int64_t first = 0; first < blocksOf(rows[0]->columns); first += share)
        steps.push_back([this, rows, product, first, end = std::min(blocksOf(rows[0]->columns), first + share)] {
          streams ? stream(rows, product, first, end) : stay(rows, product, first, end);
        });
    }
  return steps;
}

// Scores stream past the tensor: sums are [width, columns].
void GradientProducts::stream(const std::vector<Rows> &rows, size_t product, int64_t first, int64_t end) {
  const int64_t width = p.products[product].width, start = columnsUpTo(*rows[0], first);
  Tile &sums = rows[0]->shared->sums[product];
  if (sums.handle < 0)
    sums = k.sbuf(DType::F32, std::min(kContract, width), {blocksOf(width), rows[0]->columns});
  std::vector<bool> some, met;
  for (int64_t w = 0; w < width; w += kContract) {
    const int64_t n = std::min(kContract, width - w);
    const Tile bank = k.psum(n, {columnsUpTo(*rows[0], end) - start});
    some.assign(static_cast<size_t>(end - first), false);
    met = rows[0]->shared->met[product];
    const auto give = [&](const Tile &deferred, int64_t a, int64_t b) {
      const int64_t from = columnsUpTo(*rows[0], a), count = columnsUpTo(*rows[0], b) - from;
      k.matmul(bank.columns(from - start, count), deferred.columns(w, n), ones().columns(0, 1).broadcast(0, count),
               some[static_cast<size_t>(a - first)], /*ones=*/true);
      for (int64_t c = a; c < b; ++c)
        some[static_cast<size_t>(c - first)] = true;
    };
    for (const Rows &r : rows) {
      const auto kind = [&](int64_t c) {
        return 4 * met[static_cast<size_t>(c)] + 2 * r->counts(c) + some[static_cast<size_t>(c - first)];
      };
      runs(first, end, kind, [&](int64_t a, int64_t b) {
        const bool counts = r->counts(a);
        if (!counts && !met[static_cast<size_t>(a)])
          return;
        if (!met[static_cast<size_t>(a)] && r->before[product].handle >= 0)
          give(r->before[product], a, b);
        std::fill(met.begin() + a, met.begin() + b, true);
        const bool begun = some[static_cast<size_t>(a - first)];
        const int64_t from = columnsUpTo(*rows[0], a), count = columnsUpTo(*rows[0], b) - from;
        const Tile moving = counts ? formed(*r, product).columns(from - columnsUpTo(*rows[0], r->begin), count)
                                   : otherOf(*r, product).columns(0, 1).broadcast(0, count);
        k.matmul(bank.columns(from - start, count), r->moving[product].columns(w, n), moving, begun);
        for (int64_t c = a; c < b; ++c)
          some[static_cast<size_t>(c - first)] = true;
      });
    }
    if (rows.back()->ends && rows.back()->after[product].handle >= 0)
      runs(
          first, end, [&](int64_t c) { return met[static_cast<size_t>(c)] ? 2 : some[static_cast<size_t>(c - first)]; },
          [&](int64_t a, int64_t b) {
            if (!met[static_cast<size_t>(a)])
              give(rows.back()->after[product], a, b);
          });
    keep(rows, product, sums.rows(0, n).index(0, w / kContract), bank, first, some);
  }
  rows[0]->shared->met[product] = met;
  std::vector<bool> &begun = rows[0]->shared->begun[product];
  for (int64_t c = first; c < end; ++c) {
    begun[static_cast<size_t>(c)] = begun[static_cast<size_t>(c)] || some[static_cast<size_t>(c - first)];
    if (!rows.back()->ends)
      continue;
    const int64_t n = columnsUpTo(*rows[0], c + 1) - columnsUpTo(*rows[0], c);
    const Tile out = k.sbuf(heldType(g.products[product].dot->getResult(0)), n, {width});
    for (int64_t w = 0; w < width; w += kContract) {
      const int64_t m = std::min(kContract, width - w);
      turnSums(out.columns(w, m), sums.rows(0, m).index(0, w / kContract).columns(c * kContract, n), 1.0f);
    }
    operands.store(product, out, rows.back()->batch, rows[0]->from + c * kContract);
  }
}

// Scores stay while the tensor streams: sums are [columns, width].
void GradientProducts::stay(const std::vector<Rows> &rows, size_t product, int64_t first, int64_t end) {
  const int64_t width = p.products[product].width;
  Tile &sums = rows[0]->shared->sums[product];
  if (sums.handle < 0)
    sums = k.sbuf(DType::F32, std::min(kContract, rows[0]->columns), {blocksOf(rows[0]->columns), width});
  const Tile bank = k.psum(std::min(kContract, rows[0]->columns), {(end - first) * width});
  std::vector<bool> some, &met = rows[0]->shared->met[product];
  for (int64_t c = first; c < end; ++c) {
    const int64_t n = columnsUpTo(*rows[0], c + 1) - columnsUpTo(*rows[0], c);
    some.push_back(false);
    const Tile out = bank.rows(0, n).columns((c - first) * width, width);
    const auto add = [&](const Tile &stationary, const Tile &moving) {
      k.matmul(out, stationary, moving, some.back());
      some.back() = true;
    };
    for (const Rows &r : rows) {
      if (r->counts(c)) {
        if (!met[static_cast<size_t>(c)] && r->before[product].handle >= 0)
          add(ones().columns(0, n), r->before[product]);
        met[static_cast<size_t>(c)] = true;
        add(formed(*r, product).columns((c - r->begin) * kContract, n), r->moving[product]);
      } else if (met[static_cast<size_t>(c)]) {
        add(otherOf(*r, product).columns(0, n), r->moving[product]);
      }
    }
    if (!met[static_cast<size_t>(c)] && rows.back()->ends && rows.back()->after[product].handle >= 0)
      add(ones().columns(0, n), rows.back()->after[product]);
  }
  keep(rows, product, sums, bank, first, some);
  std::vector<bool> &begun = rows[0]->shared->begun[product];
  for (int64_t c = first; c < end; ++c) {
    begun[static_cast<size_t>(c)] = begun[static_cast<size_t>(c)] || some[static_cast<size_t>(c - first)];
    if (rows.back()->ends)
      operands.store(product, sums.rows(0, columnsUpTo(*rows[0], c + 1) - columnsUpTo(*rows[0], c)).index(0, c),
                     rows.back()->batch, rows[0]->from + c * kContract);
  }
}

// What PSUM holds of blocks of columns joins the sums of the rows before.
void GradientProducts::keep(const std::vector<Rows> &rows, size_t product, const Tile &sums, const Tile &bank, int64_t first,
                            const std::vector<bool> &some) {
  const std::vector<bool> &begun = rows[0]->shared->begun[product];
  const auto size = [&](int64_t c) { return columnsUpTo(*rows[0], c + 1) - columnsUpTo(*rows[0], c); };
  const auto kind = [&](int64_t c) {
    const int part = streams || size(c) == kContract ? 0 : 4;
    return part + 2 * some[static_cast<size_t>(c - first)] + begun[static_cast<size_t>(c)];
  };
  runs(first, first + static_cast<int64_t>(some.size()), kind, [&](int64_t a, int64_t b) {
    const int64_t width = p.products[product].width, start = columnsUpTo(*rows[0], first);
    Tile here, out;
    if (streams) {
      here = bank.columns(columnsUpTo(*rows[0], a) - start, columnsUpTo(*rows[0], b) - columnsUpTo(*rows[0], a));
      out = sums.columns(columnsUpTo(*rows[0], a), columnsUpTo(*rows[0], b) - columnsUpTo(*rows[0], a));
    } else {
      here = bank.rows(0, size(a)).columns((a - first) * width, (b - a) * width);
      out = sums.rows(0, size(a)).part(0, a, b - a).reshaped({(b - a) * width});
    }
    const bool any = some[static_cast<size_t>(a - first)], before = begun[static_cast<size_t>(a)];
    if (any && before)
      k.tensor(out, out, here, "add");
    else if (any)
      operands.leave(out, here);
    else if (!before && rows.back()->ends)
      k.fill(out, 0);
  });
}

} // namespace glia::emit
