#include "glia/Profile/Waits.h"
#include "Touched.h"

#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace glia {

std::string_view name(WaitKind k) {
  switch (k) {
  case WaitKind::Data: return "data";
  case WaitKind::Reuse: return "buffer reuse";
  case WaitKind::Order: return "order";
  case WaitKind::Queue: return "queue";
  case WaitKind::Bandwidth: return "DMA bandwidth";
  case WaitKind::Port: return "port";
  case WaitKind::Latency: return "semaphore latency";
  case WaitKind::Meeting: return "other core";
  case WaitKind::Fetch: return "instruction fetch";
  }
  return "";
}

namespace {

constexpr double kSlowed = 1.5; // a transfer that takes so many times what it takes alone is slowed down by others

std::vector<Touched> touchedBy(const Program &p, const InstrPlace &x) {
  Decoded d;
  decode(p, x.core, x.engine, x.index, d);
  return touched(d);
}

bool sameMemory(const Program &p, ObjectRef a, ObjectRef b) {
  if (a == b)
    return true;
  if (a.kind != ObjectKind::Allocation || b.kind != ObjectKind::Allocation)
    return false;
  const Allocation &x = p.allocations[a.index], &y = p.allocations[b.index];
  return x.space == y.space && x.core == y.core && x.byteOffset < y.byteOffset + y.bytesPerPartition() &&
         y.byteOffset < x.byteOffset + x.bytesPerPartition() && x.partition < y.partition + y.partitions() &&
         y.partition < x.partition + x.partitions();
}

struct Relation {
  WaitKind kind = WaitKind::Order;
  std::string tile;
};

// Why one instruction has to come after another: what the first writes and the second reads, else memory that one of them writes.
Relation relation(const Program &p, const InstrPlace &first, const InstrPlace &second) {
  const std::vector<Touched> before = touchedBy(p, first), behind = touchedBy(p, second);
  Relation reuse;
  for (const Touched &b : behind)
    for (const Touched &a : before) {
      if (a.written && b.read && a.object == b.object)
        return {WaitKind::Data, p.objectName(a.object)};
      if (reuse.kind == WaitKind::Order && b.written && sameMemory(p, a.object, b.object))
        reuse = {WaitKind::Reuse, p.objectName(b.object)};
    }
  return reuse;
}

class Collector {
public:
  Collector(const Program &p, const TimingResult &r, const std::vector<PathStep> &path)
      : p(p), r(r), engines(p.cores * kNumEngines), critical(r.timeline.size()) {
    for (const PathStep &s : path)
      critical[s.event] = true;
  }
  std::vector<WaitUse> all();

private:
  const Program &p;
  const TimingResult &r;
  const uint32_t engines;
  std::vector<bool> critical;
  struct Key {
    uint32_t waiter, awaited; // origins
    Engine engine, by;
    Wait wait;
    WaitKind kind;
    auto operator<=>(const Key &) const = default;
  };
  struct Sum {
    WaitUse use;
    double longest = 0, first = 0, last = 0;
  };
  std::map<Key, Sum> sums;
  std::map<std::pair<InstrPlace, InstrPlace>, Relation> relations;

  const Relation &related(const InstrPlace &first, const InstrPlace &second) {
    const auto [it, fresh] = relations.try_emplace({first, second});
    if (fresh)
      it->second = relation(p, first, second);
    return it->second;
  }
  Relation classify(const TimelineEvent &e, const TimelineEvent *by, double freeAt);
  void add(const TimelineEvent &e, double freeAt, bool onPath);
};

Relation Collector::classify(const TimelineEvent &e, const TimelineEvent *by, double freeAt) {
  switch (e.wait) {
  case Wait::Queue: return {WaitKind::Queue, {}};
  case Wait::Port: return {WaitKind::Port, {}};
  case Wait::Fetch: return {WaitKind::Fetch, {}};
  case Wait::Barrier: return {WaitKind::Meeting, {}};
  case Wait::Result: return by ? related(instructionOf(*by), instructionOf(e)) : Relation{WaitKind::Data, {}};
  default: break;
  }
  if (!by)
    return {};
  if (by->core != e.core)
    return {WaitKind::Meeting, {}};
  if (by->end <= freeAt)
    return {WaitKind::Latency, {}};
  if (by->lane >= engines) {
    if (by->end - by->start > kSlowed * by->alone)
      return {WaitKind::Bandwidth, related(instructionOf(*by), instructionOf(e)).tile};
    if (by->wait == Wait::Queue && by->start - freeAt > (by->end - freeAt) / 2)
      return {WaitKind::Queue, {}};
  }
  return related(instructionOf(*by), instructionOf(e));
}

void Collector::add(const TimelineEvent &e, double freeAt, bool onPath) {
  const TimelineEvent *by = e.after < r.timeline.size() ? &r.timeline[e.after] : nullptr;
  const Relation why = classify(e, by, freeAt);
  const InstrPlace at = instructionOf(e), of = by ? instructionOf(*by) : at;
  const double length = e.start - freeAt;
  Sum &s = sums[{instr(p, at).origin, by ? instr(p, of).origin : 0, at.engine, of.engine, e.wait, why.kind}];
  WaitUse &u = s.use;
  if (!u.count++)
    s.first = freeAt;
  s.last = freeAt;
  u.kind = why.kind;
  u.length += length;
  u.critical += onPath ? length : 0;
  u.instructions.push_back(at);
  if (length > s.longest) {
    s.longest = length;
    u.at = at;
    u.by = of;
    u.known = by != nullptr;
    u.tile = why.tile;
  }
}

std::vector<WaitUse> Collector::all() {
  std::vector<double> freeAt(engines);
  for (uint32_t i = 0; i < r.timeline.size(); ++i) {
    const TimelineEvent &e = r.timeline[i];
    if (e.lane >= engines)
      continue;
    if (e.wait != Wait::None && e.start > freeAt[e.lane])
      add(e, freeAt[e.lane], critical[i]);
    freeAt[e.lane] = e.end;
  }
  std::vector<WaitUse> out;
  for (auto &[key, s] : sums) {
    WaitUse &u = s.use;
    if (u.kind == WaitKind::Reuse && u.count > 1 && s.last > s.first)
      u.copies = 1 + static_cast<int>(std::ceil(s.longest / ((s.last - s.first) / static_cast<double>(u.count - 1))));
    else if (u.kind == WaitKind::Reuse)
      u.copies = 2;
    std::sort(u.instructions.begin(), u.instructions.end());
    u.instructions.erase(std::unique(u.instructions.begin(), u.instructions.end()), u.instructions.end());
    out.push_back(std::move(u));
  }
  return out;
}

} // namespace

std::vector<WaitUse> waitUse(const Program &p, const TimingResult &r, const std::vector<PathStep> &path,
                             const TimingOptions &options, size_t most) {
  std::vector<WaitUse> all = Collector(p, r, path).all();
  std::sort(all.begin(), all.end(), [](const WaitUse &a, const WaitUse &b) {
    return std::tie(a.critical, a.length, b.at, b.kind) > std::tie(b.critical, b.length, a.at, a.kind);
  });
  TimingOptions again = options;
  again.timeline = again.stalls = false;
  for (size_t i = 0; i < all.size() && i < most && all[i].critical > 0; ++i) {
    again.unheld = all[i].instructions;
    all[i].gain = std::max(r.total - simulateTime(p, again).total, 0.0);
  }
  std::sort(all.begin(), all.end(), [](const WaitUse &a, const WaitUse &b) {
    return std::tie(a.gain, a.critical, a.length, b.at, b.kind) > std::tie(b.gain, b.critical, b.length, a.at, a.kind);
  });
  return all;
}

std::string describe(const Program &p, const WaitUse &w) {
  const std::string at = placeOf(p, w.at), engine(name(w.at.engine));
  const std::string what(name(w.kind)), tile = w.tile.empty() ? "" : " `" + w.tile + "`";
  std::string s = engine + ", " + at + ": ";
  const std::string by = w.known ? placeOf(p, w.by) + " (" + std::string(name(w.by.engine)) + ")" : "";
  switch (w.kind) {
  case WaitKind::Data: s += what + (by.empty() ? "" : tile + " of " + by); break;
  case WaitKind::Reuse:
    s += what + ", until" + tile + " is free: " + by;
    if (w.copies > 1)
      s += format("; %d places for it would do", w.copies);
    break;
  case WaitKind::Bandwidth: s += what + ", a transfer that others slow down:" + tile + " of " + by; break;
  default: s += what + (by.empty() ? "" : ", behind " + by);
  }
  return s;
}

} // namespace glia
