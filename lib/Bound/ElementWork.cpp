// Spreading work over engines is a linear program: the least T with shares of each item on each engine, and no engine busier than T.
// Its dual is solved instead, because each of its values is a lower bound: with prices of the engines' time that add up to one, an
// item costs what it costs where it is cheapest.
#include "glia/Bound/Least.h"

#include <algorithm>
#include <vector>

namespace glia {

namespace {

constexpr std::array<std::string_view, 3> kEngines = {"vector", "scalar", "gpsimd"};
constexpr std::array<std::string_view, 3> kClocks = {"clock.vector", "clock.scalar", "clock.gpsimd"};
constexpr int kSteps = 48; // of a search by thirds

// The x in [0, 1] with the largest f, which is concave.
template <typename F> double highest(F f) {
  double lo = 0, hi = 1;
  for (int i = 0; i < kSteps; ++i) {
    const double a = lo + (hi - lo) / 3, b = hi - (hi - lo) / 3;
    (f(a) < f(b) ? lo : hi) = f(a) < f(b) ? a : b;
  }
  double best = (lo + hi) / 2;
  for (double end : {0.0, 1.0})
    if (f(end) >= f(best))
      best = end;
  return best;
}

} // namespace

void ElementWork::busy(Engine e, double ns) { fixed[e == Engine::Vector ? 0 : e == Engine::Scalar ? 1 : 2] += ns; }

double ElementWork::spread(std::string &engines) const {
  using Times = std::array<double, 3>;
  const bool turns = !target.has("vector_gpsimd_concurrent"); // two engines, and the time of one
  std::vector<Times> items;
  const auto item = [&](Times ns) {
    if (turns)
      ns = {std::min(ns[0], ns[2]), ns[1], kCannot};
    items.push_back(ns);
  };
  for (const auto &[cycles, elements] : work) {
    Times ns;
    for (size_t e = 0; e < 3; ++e)
      ns[e] = cycles[e] >= kCannot ? kCannot : elements / target.partitions * cycles[e] / target.number(kClocks[e]);
    item(ns);
  }
  for (size_t e = 0; e < 3; ++e)
    if (fixed[e] > 0) {
      Times ns = {kCannot, kCannot, kCannot};
      ns[e] = fixed[e];
      item(ns);
    }
  engines.clear();
  if (items.empty())
    return 0;
  const auto prices = [](double v, double rest) { return Times{v, (1 - v) * rest, (1 - v) * (1 - rest)}; };
  const auto value = [&](const Times &price) {
    double sum = 0;
    for (const Times &i : items) {
      double least = kCannot;
      for (size_t e = 0; e < 3; ++e)
        if (i[e] < kCannot)
          least = std::min(least, price[e] * i[e]);
      sum += least;
    }
    return sum;
  };
  const auto restFor = [&](double v) { return highest([&](double r) { return value(prices(v, r)); }); };
  const double v = highest([&](double x) { return value(prices(x, restFor(x))); });
  const Times price = prices(v, restFor(v));
  for (size_t e = 0; e < 3; ++e)
    if (price[e] > 0.02)
      engines += (engines.empty() ? "" : " and ") + std::string(kEngines[e]);
  return value(price);
}

double Least::total() const { return std::max({tensor, elements, transfers, hbm, path}); }

std::string Least::reason() const {
  const double most = total();
  if (most == tensor)
    return "tensor";
  if (most == elements)
    return "elements on " + engines;
  if (most == hbm)
    return "hbm";
  return most == transfers ? "dma" : "path";
}

} // namespace glia
