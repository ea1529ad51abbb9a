// Contractions. Operands are packed to [batch][rows][contracted] and [batch][contracted][columns]; products are summed in double
// (integers in 64 bits) and rounded once.
#include "Interpret/Rules.h"

#include <algorithm>

namespace glia::interp {

namespace {

bool contains(const Shape &list, int64_t x) { return std::find(list.begin(), list.end(), x) != list.end(); }

struct Packed {
  std::vector<Word> words;
  int64_t free = 1; // elements in the dimensions that are neither batch nor contracted
};

// The dimensions in the order batch, then free and contracted ones as asked.
Packed pack(const Tensor &t, const Shape &batch, const Shape &contracted, bool freeFirst) {
  Shape free;
  for (int64_t d = 0; d < t.rank(); ++d)
    if (!contains(batch, d) && !contains(contracted, d))
      free.push_back(d);
  Shape order = batch;
  order.insert(order.end(), (freeFirst ? free : contracted).begin(), (freeFirst ? free : contracted).end());
  order.insert(order.end(), (freeFirst ? contracted : free).begin(), (freeFirst ? contracted : free).end());
  const Shape own = rowMajor(t.shape);
  Shape shape, strides;
  for (int64_t d : order) {
    shape.push_back(t.shape[d]);
    strides.push_back(own[d]);
  }
  Packed p;
  p.words.resize(t.count());
  copyStrided(shape, p.words.data(), 0, rowMajor(shape), t.words(), 0, strides);
  for (int64_t d : free)
    p.free *= t.shape[d];
  return p;
}

template <class T, class Get>
void multiply(const Word *a, const Word *b, Word *out, int64_t m, int64_t k, int64_t n, Get get) {
  std::vector<T> right(static_cast<size_t>(k * n)), sum(static_cast<size_t>(n));
  for (int64_t i = 0; i < k * n; ++i)
    right[i] = get(b[i]);
  for (int64_t row = 0; row < m; ++row) {
    std::fill(sum.begin(), sum.end(), T{});
    T *s = sum.data();
    for (int64_t i = 0; i < k; ++i) {
      const T x = get(a[row * k + i]);
      const T *r = right.data() + i * n;
      for (int64_t j = 0; j < n; ++j)
        s[j] += x * r[j];
    }
    for (int64_t j = 0; j < n; ++j)
      out[row * n + j] = std::bit_cast<Word>(s[j]);
  }
}

void contract(Call &c, const Shape &lhsBatch, const Shape &rhsBatch, const Shape &lhsDims, const Shape &rhsDims) {
  const Tensor &lhs = c.tensor(0), &rhs = c.tensor(1);
  Tensor out = c.fresh(0);
  const Packed a = pack(lhs, lhsBatch, lhsDims, true), b = pack(rhs, rhsBatch, rhsDims, false);
  int64_t batch = 1, k = 1;
  for (int64_t d : lhsBatch)
    batch *= lhs.shape[d];
  for (int64_t d : lhsDims)
    k *= lhs.shape[d];
  const int64_t m = a.free, n = b.free;
  Word *to = out.own();
  if (batch * m * n != out.count())
    c.fail("the result has another number of elements than the contraction");
  for (int64_t i = 0; i < batch; ++i) {
    const Word *x = a.words.data() + i * m * k, *y = b.words.data() + i * k * n;
    if (isFloat(lhs.element))
      multiply<double>(x, y, to + i * m * n, m, k, n, asDouble);
    else
      multiply<Word>(x, y, to + i * m * n, m, k, n, [](Word w) { return w; });
  }
  if (isFloat(lhs.element) && !isFloat(out.element))
    c.fail("a contraction of floats with a result of integers");
  if (!isFloat(lhs.element) && isFloat(out.element))
    for (int64_t i = 0; i < out.count(); ++i)
      to[i] = asWord(static_cast<double>(asInt(to[i])));
  if (out.element == Element::Pred) // sums of products of i1 are ORs of ANDs
    for (int64_t i = 0; i < out.count(); ++i)
      to[i] = to[i] != 0;
  settle(out.element, c.inDouble, to, out.count());
  c.set(0, std::move(out));
}

void dotGeneral(Call &c) {
  const auto field = [&](const char *name) { return c.intsOr("dot_dimension_numbers." + std::string(name), 0, 0); };
  contract(c, field("lhs_batching_dimensions"), field("rhs_batching_dimensions"), field("lhs_contracting_dimensions"),
           field("rhs_contracting_dimensions"));
}

void dot(Call &c) { contract(c, {}, {}, {c.tensor(0).rank() - 1}, {0}); }

constexpr Rule kRules[] = {
    {"stablehlo.dot_general", dotGeneral},
    {"stablehlo.dot", dot},
};

} // namespace

std::span<const Rule> dotRules() { return kRules; }

} // namespace glia::interp
