#include "glia/Profile/MemoryUse.h"

#include "glia/Program/Decode.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace glia {

namespace {

struct Span {
  double from = 0, to = -1; // used if to >= from
};

// Allocations that the instructions of a stream touch, each instruction decoded once.
class Touches {
public:
  explicit Touches(const Program &p) : p(p), first(p.cores * kNumEngines) {}
  std::pair<const uint32_t *, const uint32_t *> of(const TimelineEvent &e) {
    std::vector<std::pair<uint32_t, uint32_t>> &known = first[e.core * kNumEngines + static_cast<uint32_t>(e.engine)];
    if (known.empty())
      known.resize(p.stream(e.core, e.engine).instrs.size(), {UINT32_MAX, 0});
    std::pair<uint32_t, uint32_t> &range = known[e.index];
    if (range.first == UINT32_MAX) {
      range.first = static_cast<uint32_t>(list.size());
      decode(p, e.core, e.engine, e.index, d);
      for (const Value &v : d.values)
        if (v.kind == Value::Tensor && v.access.object.kind == ObjectKind::Allocation)
          list.push_back(v.access.object.index);
      range.second = static_cast<uint32_t>(list.size());
    }
    return {list.data() + range.first, list.data() + range.second};
  }

private:
  const Program &p;
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> first; // by stream and instruction: a range of `list`
  std::vector<uint32_t> list;
  Decoded d;
};

void findPeak(MemoryUse &m) {
  for (const auto &[time, bytes] : bytesOverTime(m))
    if (bytes > m.peak)
      m.peak = bytes, m.peakAt = time;
  for (const TileUse &t : m.tiles)
    if (t.from <= m.peakAt && m.peakAt < t.to)
      m.inPeak.push_back(t);
  std::sort(m.inPeak.begin(), m.inPeak.end(), [](const TileUse &a, const TileUse &b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : std::tie(a.from, a.name) < std::tie(b.from, b.name);
  });
}

} // namespace

std::vector<std::pair<double, int64_t>> bytesOverTime(const MemoryUse &m) {
  std::map<double, int64_t> changes; // of one moment together: what ends makes room
  for (const TileUse &t : m.tiles) {
    changes[t.from] += t.bytes;
    changes[t.to] -= t.bytes;
  }
  std::vector<std::pair<double, int64_t>> out;
  int64_t now = 0;
  for (const auto &[time, bytes] : changes)
    out.emplace_back(time, now += bytes);
  return out;
}

std::vector<MemoryUse> memoryUse(const Program &p, const TimingResult &r) {
  std::vector<Span> spans(p.allocations.size());
  Touches touches(p);
  for (const TimelineEvent &e : r.timeline)
    for (auto [a, end] = touches.of(e); a != end; ++a) {
      Span &s = spans[*a];
      s.from = s.to < s.from ? e.start : std::min(s.from, e.start);
      s.to = std::max(s.to, e.end);
    }
  std::vector<MemoryUse> out;
  for (uint32_t core = 0; core < p.cores; ++core)
    for (const Space space : {Space::Sbuf, Space::Psum}) {
      MemoryUse m;
      m.core = static_cast<int>(core);
      m.space = space;
      m.capacity = p.target->partitions * (space == Space::Sbuf ? p.target->sbufBytes : p.target->psumBytes);
      for (size_t i = 0; i < spans.size(); ++i)
        if (const Allocation &a = p.allocations[i]; a.core == core && a.space == space && spans[i].to >= spans[i].from)
          m.tiles.push_back({a.name, a.partitions() * a.bytesPerPartition(), spans[i].from, spans[i].to});
      std::sort(m.tiles.begin(), m.tiles.end(),
                [](const TileUse &a, const TileUse &b) { return std::tie(a.from, a.name) < std::tie(b.from, b.name); });
      if (m.tiles.empty())
        continue;
      findPeak(m);
      out.push_back(std::move(m));
    }
  return out;
}

} // namespace glia
