// reduce and map. A result that is one operation of its own element is a fold over rows: sums and products of floats then stay in double
// until the end and are rounded once, as fp32 accumulation would be to a narrower type. Any other runs element by element and rounds
// each step.
#include "Interpret/Fold.h"
#include "Interpret/Rules.h"

#include <algorithm>

namespace glia::interp {

namespace {

void reduce(Call &c) {
  const size_t arrays = c.operandCount() / 2;
  const Tensor &in = c.tensor(0);
  const Shape own = rowMajor(in.shape), dims = c.intsOr("dimensions", 0, 0);
  Shape kept, keptStrides(in.shape.size(), 0); // strides of the result by dimension of the input, 0 where reduced
  for (int64_t d = 0; d < in.rank(); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end())
      kept.push_back(d);
  const Shape outStrides = rowMajor(c.resultType(0).shape);
  for (size_t k = 0; k < kept.size(); ++k)
    keptStrides[kept[k]] = outStrides[k];
  const std::unique_ptr<Body> body = c.body(0);
  std::vector<Tensor> outs;
  std::vector<Word *> to;
  std::vector<Fold> folds;
  for (size_t k = 0; k < arrays; ++k) {
    outs.push_back(c.fresh(k));
    folds.push_back(findFold(body->single(k), outs[k].element));
  }
  for (Tensor &t : outs)
    to.push_back(t.own());
  const auto begin = [&](size_t k) { std::fill_n(to[k], outs[k].count(), c.tensor(arrays + k).at(0)); };
  const int64_t fromStep = step(own), toStep = step(keptStrides);
  if (std::find(folds.begin(), folds.end(), nullptr) != folds.end()) {
    for (size_t k = 0; k < arrays; ++k)
      begin(k);
    std::vector<Word> arguments(2 * arrays), results(arrays);
    walkRows<2>(in.shape, {&keptStrides, &own}, [&](const std::array<int64_t, 2> &at, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t t = at[0] + i * toStep, f = at[1] + i * fromStep;
        for (size_t k = 0; k < arrays; ++k) {
          arguments[k] = to[k][t];
          arguments[arrays + k] = c.tensor(k).at(f);
        }
        body->run(arguments.data(), results.data());
        for (size_t k = 0; k < arrays; ++k)
          to[k][t] = results[k];
      }
    });
  }
  for (size_t k = 0; k < arrays; ++k) {
    if (folds[k]) {
      begin(k);
      walkRows<2>(in.shape, {&keptStrides, &own}, [&](const std::array<int64_t, 2> &at, int64_t n) {
        folds[k](to[k] + at[0], toStep, c.tensor(k).words() + at[1], fromStep, n);
      });
      settle(outs[k].element, c.inDouble, to[k], outs[k].count());
    }
    c.set(k, std::move(outs[k]));
  }
}

void map(Call &c) {
  Tensor out = c.fresh(0);
  const std::unique_ptr<Body> body = c.body(0);
  std::vector<Word> arguments(c.operandCount());
  Word *to = out.own();
  for (int64_t i = 0; i < out.count(); ++i) {
    for (size_t k = 0; k < arguments.size(); ++k)
      arguments[k] = c.tensor(k).at(i);
    body->run(arguments.data(), &to[i]);
  }
  c.set(0, std::move(out));
}

constexpr Rule kRules[] = {{"stablehlo.reduce", reduce}, {"stablehlo.map", map}};

} // namespace

std::span<const Rule> reductionRules() { return kRules; }

} // namespace glia::interp
