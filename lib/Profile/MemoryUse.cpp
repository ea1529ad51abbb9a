#include "glia/Profile/MemoryUse.h"

#include "glia/Program/Decode.h"

#include <algorithm>
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
  struct Change {
    double time;
    int64_t bytes;
  };
  std::vector<Change> changes;
  for (const TileUse &t : m.tiles) {
    changes.push_back({t.from, t.bytes});
    changes.push_back({t.to, -t.bytes});
  }
  std::sort(changes.begin(), changes.end(), [](const Change &a, const Change &b) {
    return a.time != b.time ? a.time < b.time : a.bytes < b.bytes; // what ends makes room
  });
  int64_t now = 0;
  for (const Change &c : changes)
    if (now += c.bytes; now > m.peak)
      m.peak = now, m.peakAt = c.time;
  for (const TileUse &t : m.tiles)
    if (t.from <= m.peakAt && m.peakAt < t.to)
      m.inPeak.push_back(t);
  std::sort(m.inPeak.begin(), m.inPeak.end(), [](const TileUse &a, const TileUse &b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : std::tie(a.from, a.name) < std::tie(b.from, b.name);
  });
}

} // namespace

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
