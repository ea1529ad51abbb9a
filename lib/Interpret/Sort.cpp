// sort and top_k.
#include "Interpret/Rules.h"
#include "Interpret/TopK.h"

#include <algorithm>
#include <numeric>

namespace glia::interp {

namespace {

// A stable merge sort that ends, inside its bounds, whatever the comparator answers.
template <class Before> void mergeSort(std::vector<int64_t> &order, Before before) {
  std::vector<int64_t> other(order.size());
  const size_t n = order.size();
  for (size_t width = 1; width < n; width *= 2) {
    for (size_t low = 0; low < n; low += 2 * width) {
      const size_t middle = std::min(low + width, n), high = std::min(low + 2 * width, n);
      for (size_t a = low, b = middle, to = low; to < high; ++to)
        other[to] = a < middle && (b == high || !before(order[b], order[a])) ? order[a++] : order[b++];
    }
    order.swap(other);
  }
}

// Always stable.
void sort(Call &c) {
  const size_t arrays = c.operandCount();
  const Shape shape = c.tensor(0).shape;
  int64_t d = c.integerOr("dimension", -1);
  d += d < 0 ? static_cast<int64_t>(shape.size()) : 0;
  if (shape.empty()) {
    for (size_t k = 0; k < arrays; ++k)
      c.set(k, c.tensor(k));
    return;
  }
  const int64_t stride = rowMajor(shape)[d], length = shape[d], count = countOf(shape);
  const std::unique_ptr<Body> body = c.body(0);
  std::vector<Tensor> outs;
  for (size_t k = 0; k < arrays; ++k)
    outs.push_back(c.fresh(k));
  std::vector<int64_t> order(length);
  std::vector<Word> arguments(2 * arrays);
  for (int64_t lane = 0, lanes = length ? count / length : 0; lane < lanes; ++lane) {
    const int64_t base = lane / stride * stride * length + lane % stride;
    std::iota(order.begin(), order.end(), 0);
    mergeSort(order, [&](int64_t a, int64_t b) {
      for (size_t k = 0; k < arrays; ++k) {
        arguments[2 * k] = c.tensor(k).at(base + a * stride);
        arguments[2 * k + 1] = c.tensor(k).at(base + b * stride);
      }
      Word before = 0;
      body->run(arguments.data(), &before);
      return before != 0;
    });
    for (size_t k = 0; k < arrays; ++k)
      for (int64_t i = 0; i < length; ++i)
        outs[k].own()[base + i * stride] = c.tensor(k).at(base + order[i] * stride);
  }
  for (size_t k = 0; k < arrays; ++k)
    c.set(k, std::move(outs[k]));
}

void topKRule(Call &c) { topK(c, true); }

constexpr Rule kRules[] = {{"stablehlo.sort", sort}, {"chlo.top_k", topKRule}};

} // namespace

// Floats by total order (a NaN is above infinity), equal ones by index.
void topK(Call &c, bool largest) {
  const Tensor &in = c.tensor(0);
  Tensor values = c.fresh(0), indices = c.fresh(1);
  if (in.shape.empty() || values.shape.size() != in.shape.size())
    c.fail("top_k needs at least one dimension, and results of as many as its operand");
  const int64_t n = in.shape.back(), k = values.shape.back(), rows = countOf(std::span(in.shape).first(in.shape.size() - 1));
  if (k > n)
    c.fail("top_k of more elements than there are");
  const ElementInfo &t = info(in.element);
  const auto key = [&](Word w) { // ordered as an unsigned integer
    constexpr Word top = Word{1} << 63;
    return t.kind == ElementInfo::Float ? (w & top ? ~w : w | top) : t.kind == ElementInfo::Signed ? w ^ top : w;
  };
  std::vector<int64_t> order(n);
  for (int64_t r = 0; r < rows; ++r) {
    const Word *x = in.words() + r * n;
    std::iota(order.begin(), order.end(), 0);
    mergeSort(order, [&](int64_t a, int64_t b) { return largest ? key(x[a]) > key(x[b]) : key(x[a]) < key(x[b]); });
    for (int64_t i = 0; i < k; ++i) {
      values.own()[r * k + i] = x[order[i]];
      indices.own()[r * k + i] = static_cast<Word>(order[i]);
    }
  }
  c.set(0, std::move(values));
  c.set(1, std::move(indices));
}

std::span<const Rule> sortRules() { return kRules; }

} // namespace glia::interp
