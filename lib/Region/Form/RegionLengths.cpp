#include "glia/Region/RegionLengths.h"

#include <algorithm>

namespace glia::emit {

namespace {

size_t ceilDiv(size_t a, size_t b) { return (a + b - 1) / b; }

constexpr size_t kLongestPeriod = 256; // stages

class Cutter {
public:
  Cutter(std::span<const Stage> stages, int64_t most) : stages(stages), most(most) {}

  std::vector<size_t> run() {
    size_t open = 0; // the region that is being made begins here
    int64_t weight = 0;
    size_t i = 0;
    const auto close = [&] {
      if (i > open)
        lengths.push_back(i - open);
      open = i;
      weight = 0;
    };
    while (i < stages.size()) {
      if (stages[i].alone) {
        close();
        lengths.push_back(1);
        open = ++i;
        continue;
      }
      if (const Repeat r = repeatAt(i); r.period) {
        close();
        for (size_t left = r.times; left > 0;) {
          const size_t now = std::min(left, r.together);
          lengths.push_back(now * r.period);
          left -= now;
        }
        open = i += r.times * r.period;
        continue;
      }
      if (weight + stages[i].weight > most)
        close();
      weight += stages[i].weight;
      ++i;
    }
    close();
    return lengths;
  }

private:
  std::span<const Stage> stages;
  const int64_t most;
  std::vector<size_t> lengths;

  struct Repeat {
    size_t period = 0, times = 0, together = 1;
  };

  // The repetition that begins at a stage and reaches farthest, if it is too much for one region.
  Repeat repeatAt(size_t i) const {
    Repeat best;
    size_t farthest = 0;
    int64_t weight = 0; // of a period
    for (size_t p = 1; p <= kLongestPeriod && i + 2 * p <= stages.size(); ++p) {
      if (stages[i + p - 1].alone)
        break;
      weight += stages[i + p - 1].weight;
      if (weight > most)
        break;
      size_t same = 0;
      while (i + p + same < stages.size() && stages[i + same].kind == stages[i + p + same].kind &&
             !stages[i + p + same].alone)
        ++same;
      const size_t times = same / p + 1;
      if (times < 2 || times * p <= farthest || static_cast<int64_t>(times) * weight <= most)
        continue;
      farthest = times * p;
      const size_t regions = ceilDiv(times, static_cast<size_t>(most / weight));
      best = {p, times, ceilDiv(times, regions)}; // about as many in each: most of them are equal
    }
    return best;
  }
};

} // namespace

std::vector<size_t> regionLengths(std::span<const Stage> stages, int64_t most) { return Cutter(stages, most).run(); }

} // namespace glia::emit
