// Batch normalisation: each result is computed in double and rounded once.
#include "Interpret/Rules.h"

#include <cmath>

namespace glia::interp {

namespace {

struct Features {
  int64_t count = 1, stride = 1; // of the feature dimension
  int64_t perFeature = 0;
  double epsilon;

  explicit Features(Call &c) : epsilon(c.number("epsilon").value_or(0)) {
    const Tensor &in = c.tensor(0);
    const auto d = static_cast<size_t>(c.integerOr("feature_index", 0));
    if (d >= in.shape.size())
      c.fail("feature_index is not a dimension of the operand");
    count = in.shape[d];
    stride = rowMajor(in.shape)[d];
    perFeature = count ? in.count() / count : 0;
  }
  int64_t of(int64_t i) const { return i / stride % count; }
};

double at(const Tensor &t, int64_t i) { return asDouble(t.at(i)); }

void finish(Call &c, size_t i, Tensor t) {
  settle(t.element, c.inDouble, t.own(), t.count());
  c.set(i, std::move(t));
}

void training(Call &c) {
  const Tensor &x = c.tensor(0), &scale = c.tensor(1), &offset = c.tensor(2);
  const Features f(c);
  std::vector<double> mean(f.count), variance(f.count);
  for (int64_t i = 0; i < x.count(); ++i)
    mean[f.of(i)] += at(x, i);
  for (double &m : mean)
    m /= static_cast<double>(f.perFeature);
  for (int64_t i = 0; i < x.count(); ++i) {
    const double d = at(x, i) - mean[f.of(i)];
    variance[f.of(i)] += d * d;
  }
  Tensor out = c.fresh(0), means = c.fresh(1), variances = c.fresh(2);
  for (int64_t k = 0; k < f.count; ++k) {
    variance[k] /= static_cast<double>(f.perFeature);
    means.own()[k] = asWord(mean[k]);
    variances.own()[k] = asWord(variance[k]);
  }
  Word *to = out.own();
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t k = f.of(i);
    to[i] = asWord((at(x, i) - mean[k]) / std::sqrt(variance[k] + f.epsilon) * at(scale, k) + at(offset, k));
  }
  finish(c, 0, std::move(out));
  finish(c, 1, std::move(means));
  finish(c, 2, std::move(variances));
}

void inference(Call &c) {
  const Tensor &x = c.tensor(0), &scale = c.tensor(1), &offset = c.tensor(2), &mean = c.tensor(3), &variance = c.tensor(4);
  const Features f(c);
  Tensor out = c.fresh(0);
  Word *to = out.own();
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t k = f.of(i);
    to[i] = asWord((at(x, i) - at(mean, k)) / std::sqrt(at(variance, k) + f.epsilon) * at(scale, k) + at(offset, k));
  }
  finish(c, 0, std::move(out));
}

// With n elements per feature and y = (x - mean) / sqrt(variance + epsilon): the gradient of the operand is
// scale / sqrt(variance + epsilon) * (g - sum(g) / n - y * sum(g y) / n).
void gradient(Call &c) {
  const Tensor &x = c.tensor(0), &scale = c.tensor(1), &mean = c.tensor(2), &variance = c.tensor(3), &g = c.tensor(4);
  const Features f(c);
  std::vector<double> sum(f.count), weighted(f.count), inverse(f.count);
  for (int64_t k = 0; k < f.count; ++k)
    inverse[k] = 1 / std::sqrt(at(variance, k) + f.epsilon);
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t k = f.of(i);
    sum[k] += at(g, i);
    weighted[k] += at(g, i) * (at(x, i) - at(mean, k)) * inverse[k];
  }
  Tensor out = c.fresh(0), scales = c.fresh(1), offsets = c.fresh(2);
  Word *to = out.own();
  const auto n = static_cast<double>(f.perFeature);
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t k = f.of(i);
    const double y = (at(x, i) - at(mean, k)) * inverse[k];
    to[i] = asWord(at(scale, k) * inverse[k] * (at(g, i) - sum[k] / n - y * weighted[k] / n));
  }
  for (int64_t k = 0; k < f.count; ++k) {
    scales.own()[k] = asWord(weighted[k]);
    offsets.own()[k] = asWord(sum[k]);
  }
  finish(c, 0, std::move(out));
  finish(c, 1, std::move(scales));
  finish(c, 2, std::move(offsets));
}

constexpr Rule kRules[] = {
    {"stablehlo.batch_norm_training", training},
    {"stablehlo.batch_norm_inference", inference},
    {"stablehlo.batch_norm_grad", gradient},
};

} // namespace

std::span<const Rule> normRules() { return kRules; }

} // namespace glia::interp
