// Which layouts a certificate says: those of the patterns by which tensors are reached most, if all their accesses together are much
// fewer runs in them.
#include "Layout.h"
#include "glia/Program/Decode.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace glia::flow {

namespace {

constexpr int64_t kFewRuns = 64;         // tensors that are reached in no more are left as they are
constexpr size_t kMostSampled = 4096;    // accesses of a tensor by which layouts are compared
constexpr size_t kMostCandidates = 4;    // of a tensor
constexpr size_t kRunsOfAPattern = 4096; // patterns of more are not looked at
constexpr int64_t kWorth = 2;            // times fewer runs, at least

struct Use { // of a tensor
  uint32_t pattern = 0;
  int64_t start = 0;
};

struct Uses {
  std::vector<Use> sample; // every `step`-th
  size_t count = 0, step = 1;
  std::map<uint32_t, int64_t> runs; // by pattern: of all accesses
  bool moves = false;               // by registers or indices: the map of bytes knows less than runs

  void add(Use u) {
    if (count++ % step)
      return;
    sample.push_back(u);
    if (sample.size() < kMostSampled)
      return;
    for (size_t i = 0; i < sample.size() / 2; ++i)
      sample[i] = sample[2 * i];
    sample.resize(sample.size() / 2);
    step *= 2;
  }
};

class Search {
public:
  explicit Search(const Program &p) : program(p), uses(p.tensors.size()), footprints(p.patterns.size()) {
    Decoded d;
    for (uint32_t c = 0; c < p.cores; ++c)
      for (int e = 0; e < kNumEngines; ++e)
        for (uint32_t i = 0; i < p.stream(static_cast<int>(c), static_cast<Engine>(e)).instrs.size(); ++i) {
          decode(p, static_cast<int>(c), static_cast<Engine>(e), i, d);
          look(d);
        }
  }

  Layouts choose() {
    Layouts out;
    for (size_t t = 0; t < uses.size(); ++t)
      if (const Layout best = bestOf(uses[t], program.tensors[t].bytes())) {
        out.resize(uses.size());
        out[t] = best;
      }
    return out;
  }

private:
  const Program &program;
  std::vector<Uses> uses;
  std::vector<std::vector<ByteRun>> footprints; // by pattern, at 0; found when asked for

  const std::vector<ByteRun> &runsOf(uint32_t pattern) {
    if (footprints[pattern].empty() && !footprint(program.patterns[pattern], 0, footprints[pattern], kRunsOfAPattern))
      footprints[pattern].assign(1, {}); // too many: no run at all
    return footprints[pattern];
  }

  void look(const Decoded &d) {
    bool indexed = false;
    for (size_t i = 0; i < d.values.size(); ++i)
      indexed |= d.values[i].kind == Value::Tensor && d.def->slots[i].name.ends_with("_index");
    for (const Value &v : d.values) {
      if (v.kind != Value::Tensor || v.access.object.kind != ObjectKind::Tensor)
        continue;
      const TensorKind kind = program.tensors[v.access.object.index].kind;
      if (kind != TensorKind::Output && kind != TensorKind::Scratch)
        continue;
      Uses &u = uses[v.access.object.index];
      const std::vector<ByteRun> &runs = runsOf(v.access.pattern);
      u.moves |= indexed || program.patterns[v.access.pattern].numDynamic || runs.front().lo == runs.front().hi;
      u.runs[v.access.pattern] += static_cast<int64_t>(runs.size());
      u.add({v.access.pattern, v.access.byteOffset});
    }
  }

  // Runs of the sampled accesses; INT64_MAX: one of them does not fit.
  int64_t cost(const Uses &u, const Layout &l) {
    int64_t sum = 0;
    std::vector<ByteRun> runs;
    for (const Use &use : u.sample) {
      runs = runsOf(use.pattern);
      for (ByteRun &r : runs)
        r.lo += use.start, r.hi += use.start;
      if (l && !renumberRuns(l, runs))
        return INT64_MAX;
      sum += static_cast<int64_t>(runs.size());
    }
    return sum;
  }

  Layout bestOf(const Uses &u, int64_t bytes) {
    int64_t all = 0;
    std::vector<std::pair<int64_t, uint32_t>> patterns;
    for (const auto &[pattern, runs] : u.runs) {
      all += runs;
      patterns.emplace_back(-runs, pattern);
    }
    if (u.moves || all <= kFewRuns)
      return {};
    std::sort(patterns.begin(), patterns.end());
    patterns.resize(std::min(patterns.size(), kMostCandidates));
    Layout best;
    int64_t least = cost(u, best) / kWorth;
    for (const auto &[runs, pattern] : patterns) {
      const std::vector<ByteRun> &f = runsOf(pattern);
      if (f.size() < 2)
        continue;
      Layout l{f[1].lo - f[0].lo, 0, 0};
      if (bytes % l.pitch)
        continue;
      l.height = std::gcd(static_cast<int64_t>(f.size()), bytes / l.pitch);
      l.width = std::gcd(f[0].hi - f[0].lo, l.pitch);
      if (const int64_t now = cost(u, l); now <= least) {
        least = now;
        best = l;
      }
    }
    return best;
  }
};

} // namespace

Layouts chooseLayouts(const Program &p) { return Search(p).choose(); }

} // namespace glia::flow
