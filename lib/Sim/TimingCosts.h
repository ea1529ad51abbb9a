// What an instruction costs, and which share of it comes from values of each origin.
#pragma once
#include "TimingModel.h"

#include <array>
#include <cmath>
#include <vector>

namespace glia::timing {

inline bool hands(Unit u) { return u == Unit::Dma || u == Unit::Exchange; } // work over to queues or links

// Changes parameters of a private copy of the target a little and looks at what happens to a duration.
class Sensitivity {
public:
  Sensitivity(const Target &t, std::vector<std::string> &assumedNames);

  // `measure` gives N durations for a target; the result is a share for each.
  template <int N, class F> std::array<Share, N> shares(const F &measure) {
    const std::array<double, N> base = measure(target);
    std::array<std::array<double, 3>, N> change{};
    for (int o = 0; o < 3; ++o)
      vary(
          byOrigin[o],
          [&](const std::array<double, N> &now) {
            for (int i = 0; i < N; ++i)
              change[i][o] = std::fabs(now[i] - base[i]);
          },
          measure);
    std::array<Share, N> out;
    bool anyAssumed = false;
    for (int i = 0; i < N; ++i) {
      const double sum = change[i][0] + change[i][1] + change[i][2];
      if (sum > 0)
        out[i] = Share{{change[i][0] / sum, change[i][1] / sum}, 0};
      anyAssumed |= change[i][2] > 0;
    }
    if (!anyAssumed)
      return out;
    const std::vector<TargetValue *> &assumed = byOrigin[static_cast<int>(Origin::Assumed)];
    for (size_t k = 0; k < assumed.size(); ++k)
      vary(
          {assumed[k]},
          [&](const std::array<double, N> &now) {
            for (int i = 0; i < N; ++i)
              if (now[i] != base[i])
                out[i].assumed |= uint64_t{1} << std::min<size_t>(k, 63);
          },
          measure);
    return out;
  }

private:
  Target target;
  std::array<std::vector<TargetValue *>, 3> byOrigin;

  template <class Use, class F> void vary(const std::vector<TargetValue *> &values, const Use &use, const F &measure) {
    for (TargetValue *v : values)
      v->number *= 1.0078125;
    use(measure(target));
    for (TargetValue *v : values)
      v->number /= 1.0078125;
  }
};

class Costs {
public:
  Costs(const Program &p, std::vector<std::string> &assumedNames) : p(p), t(*p.target), sensitivity(t, assumedNames) {}
  CostEntry of(const Decoded &d);

private:
  const Program &p;
  const Target &t;
  Sensitivity sensitivity;
};

} // namespace glia::timing
