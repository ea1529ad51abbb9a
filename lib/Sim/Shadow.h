// Who touched which bytes last: exact interval maps per group of 32 partitions. HBM tensors are one row.
#pragma once
#include "Clocks.h"
#include "Faults.h"

#include <functional>
#include <map>

namespace glia::sim {

// One access, remembered by the bytes it touched.
struct Touch {
  uint32_t mask = 0; // partitions of the group
  uint32_t time = 0;
  uint32_t owner = 0; // allocation it went through
  uint16_t component = 0;
  bool write = false;
  bool matmul = false; // a write by the Tensor engine
  InstrId by;
  bool before(const Clock &c) const { return c[component] >= time; }
  bool sameEvent(const Touch &o) const { return component == o.component && time == o.time; }
  friend bool operator==(const Touch &, const Touch &) = default;
};

struct ByteRect {
  int quad = 0;
  uint32_t mask = 0;
  int64_t lo = 0, hi = 0;
};

struct Conflict {
  Touch other;
  ByteRect where;
};

// What a read found out about the bytes, besides races.
struct Findings {
  std::vector<ByteRect> foreign; // last written through another allocation
  std::vector<ByteRect> noBase;  // not last written through the same allocation by what may be accumulated onto (if asked)
  bool wantBase = false;
  bool anyWriter = false; // anything may be accumulated onto, not only what a matmul wrote
};

class Shadow {
public:
  explicit Shadow(int rows) : quads((rows + 31) / 32) {}
  // Records the access `t` (its mask is set from `where`). False: a conflicting access is not ordered before it.
  bool read(const ByteRect &where, Touch t, const Clock &clock, Findings &findings, Conflict &conflict);
  // Own earlier writes of the same event conflict too if `once`; writes of others do not if `harmless` says so.
  using Harmless = std::function<bool(const Conflict &)>;
  bool write(const ByteRect &where, Touch t, const Clock &clock, bool once, Conflict &conflict,
             const Harmless &harmless = {});
  const Touch *lastWrite(int row, int64_t byte) const;
  int64_t bytesTouched() const;
  size_t memory() const { return peak * kSegmentBytes; } // at its largest

private:
  struct Segment {
    int64_t end;
    std::vector<Touch> touches; // writes do not share partitions, unless they are harmless; reads since then
  };
  using Map = std::map<int64_t, Segment>;
  static constexpr size_t kSegmentBytes = sizeof(Map::value_type) + 4 * sizeof(void *) + 2 * sizeof(Touch);
  std::vector<Map> quads;
  size_t segments = 0, peak = 0;
  void grown() { peak = std::max(peak, ++segments); }
  Map::iterator splitAt(Map &m, int64_t at); // the first segment at or after `at`; none reaches across
  void mergeLeft(Map &m, Map::iterator it);
};

} // namespace glia::sim
