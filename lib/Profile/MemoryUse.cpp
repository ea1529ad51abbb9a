#include "glia/Profile/MemoryUse.h"
#include "Touched.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace glia {

namespace {

// What the instructions of a stream touch on chip, each instruction decoded once.
class Touches {
public:
  explicit Touches(const Program &p) : p(p), first(p.cores * kNumEngines) {}
  std::pair<const Touched *, const Touched *> of(const TimelineEvent &e) {
    std::vector<std::pair<uint32_t, uint32_t>> &known = first[e.core * kNumEngines + static_cast<uint32_t>(e.engine)];
    if (known.empty())
      known.resize(p.stream(e.core, e.engine).instrs.size(), {UINT32_MAX, 0});
    std::pair<uint32_t, uint32_t> &range = known[e.index];
    if (range.first == UINT32_MAX) {
      range.first = static_cast<uint32_t>(list.size());
      decode(p, e.core, e.engine, e.index, d);
      for (const Touched &t : touched(d))
        if (t.object.kind == ObjectKind::Allocation)
          list.push_back(t);
      range.second = static_cast<uint32_t>(list.size());
    }
    return {list.data() + range.first, list.data() + range.second};
  }

private:
  const Program &p;
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> first; // by stream and instruction: a range of `list`
  std::vector<Touched> list;
  Decoded d;
};

// Follows what each allocation holds. Events come in the order of their starts.
class Follower {
public:
  explicit Follower(const Program &p) : contents(p.allocations.size()), states(p.allocations.size()), touches(p) {}
  void see(const TimelineEvent &e) {
    for (auto [t, end] = touches.of(e); t != end; ++t) {
      State &s = states[t->object.index];
      if (s.read && t->written && !t->read)
        close(t->object.index);
      if (!s.used)
        s = {true, false, e.start, e.end};
      s.to = std::max(s.to, e.end);
      s.read |= t->read;
    }
  }
  void close(size_t allocation) {
    State &s = states[allocation];
    if (s.used)
      contents[allocation].emplace_back(s.from, s.to);
    s = {};
  }
  std::vector<std::vector<std::pair<double, double>>> contents; // by allocation

private:
  struct State { // the content of now
    bool used = false, read = false;
    double from = 0, to = 0;
  };
  std::vector<State> states;
  Touches touches;
};

void findPeak(MemoryUse &m) {
  for (const auto &[time, bytes] : bytesOverTime(m))
    if (bytes > m.peak)
      m.peak = bytes, m.peakAt = time;
  for (const Content &c : m.contents)
    if (c.from <= m.peakAt && m.peakAt < c.to)
      m.inPeak.push_back({m.tiles[c.tile].name, m.tiles[c.tile].bytes, c.from, c.to});
  std::sort(m.inPeak.begin(), m.inPeak.end(), [](const TileUse &a, const TileUse &b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : std::tie(a.from, a.name) < std::tie(b.from, b.name);
  });
}

MemoryUse useOf(const Program &p, const Follower &f, uint32_t core, Space space) {
  MemoryUse m;
  m.core = static_cast<int>(core);
  m.space = space;
  m.capacity = p.target->partitions * (space == Space::Sbuf ? p.target->sbufBytes : p.target->psumBytes);
  std::vector<size_t> used;
  for (size_t i = 0; i < p.allocations.size(); ++i)
    if (const Allocation &a = p.allocations[i]; a.core == core && a.space == space && !f.contents[i].empty())
      used.push_back(i);
  std::sort(used.begin(), used.end(), [&](size_t a, size_t b) {
    return std::tie(f.contents[a].front().first, a) < std::tie(f.contents[b].front().first, b);
  });
  for (const size_t i : used) {
    const Allocation &a = p.allocations[i];
    for (const auto &[from, to] : f.contents[i])
      m.contents.push_back({static_cast<uint32_t>(m.tiles.size()), from, to});
    m.tiles.push_back(
        {a.name, a.partitions() * a.bytesPerPartition(), f.contents[i].front().first, f.contents[i].back().second});
  }
  return m;
}

// Whether an event only hands a transfer to a queue: the transfer is an event of its own.
bool handsOver(const Program &p, const TimelineEvent &e) {
  return e.lane < p.cores * kNumEngines && p.opcodes[p.stream(e.core, e.engine).instrs[e.index].opcode]->unit == Unit::Dma;
}

} // namespace

std::vector<std::pair<double, int64_t>> bytesOverTime(const MemoryUse &m) {
  std::map<double, int64_t> changes; // of one moment together: what ends makes room
  for (const Content &c : m.contents) {
    changes[c.from] += m.tiles[c.tile].bytes;
    changes[c.to] -= m.tiles[c.tile].bytes;
  }
  std::vector<std::pair<double, int64_t>> out;
  int64_t now = 0;
  for (const auto &[time, bytes] : changes)
    out.emplace_back(time, now += bytes);
  return out;
}

std::vector<MemoryUse> memoryUse(const Program &p, const TimingResult &r) {
  std::vector<uint32_t> order; // engines run ahead of each other in the timeline
  for (uint32_t i = 0; i < r.timeline.size(); ++i)
    if (!handsOver(p, r.timeline[i]))
      order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return std::tie(r.timeline[a].start, a) < std::tie(r.timeline[b].start, b); });
  Follower f(p);
  for (const uint32_t i : order)
    f.see(r.timeline[i]);
  for (size_t i = 0; i < p.allocations.size(); ++i)
    f.close(i);
  std::vector<MemoryUse> out;
  for (uint32_t core = 0; core < p.cores; ++core)
    for (const Space space : {Space::Sbuf, Space::Psum})
      if (MemoryUse m = useOf(p, f, core, space); !m.tiles.empty()) {
        findPeak(m);
        out.push_back(std::move(m));
      }
  return out;
}

} // namespace glia
