#include "OrderState.h"
#include "glia/Support/Checksum.h"

#include <cstring>

namespace glia::sim {

Windows::Windows(const Program &p, const Memory &memory) : byMemory(memory.memories.size()) {
  auto add = [&](const Place &place, int firstRow, int rows, int64_t lo, int64_t hi) {
    byMemory[place.memory].push_back(static_cast<int>(windows.size()));
    windows.push_back({place.memory, firstRow, rows, lo, hi, bytes, place.base, place.pitch});
    bytes += static_cast<size_t>(rows) * static_cast<size_t>(hi - lo);
  };
  // Allocations that share bytes of a row share a window.
  struct Span {
    int memory;
    int64_t lo, hi;
    int first, end;
    const Place *place;
  };
  std::vector<Span> spans;
  for (uint32_t i = 0; i < p.allocations.size(); ++i)
    if (const Place &place = memory.place({ObjectKind::Allocation, i}, 0); place.bytes > 0 && place.partitions > 0)
      spans.push_back({place.memory, place.start, place.start + place.bytes, place.firstPartition,
                       place.firstPartition + place.partitions, &place});
  std::sort(spans.begin(), spans.end(),
            [](const Span &a, const Span &b) { return a.memory != b.memory ? a.memory < b.memory : a.lo < b.lo; });
  for (size_t i = 0; i < spans.size();) {
    Span s = spans[i++];
    for (; i < spans.size() && spans[i].memory == s.memory && spans[i].lo < s.hi; ++i) {
      s.hi = std::max(s.hi, spans[i].hi);
      s.first = std::min(s.first, spans[i].first);
      s.end = std::max(s.end, spans[i].end);
    }
    add(*s.place, s.first, s.end - s.first, s.lo, s.hi);
  }
  for (uint32_t i = 0; i < p.tensors.size(); ++i)
    for (int core = 0; core < static_cast<int>(p.cores); ++core)
      if (const Place &place = memory.place({ObjectKind::Tensor, i}, core);
          !place.readOnly && byMemory[place.memory].empty() && place.bytes > 0)
        add(place, 0, 1, 0, place.bytes);
}

int64_t Windows::at(int memory, int row, int64_t byte) const {
  for (int i : byMemory[memory]) {
    const Window &w = windows[i];
    if (byte >= w.lo && byte < w.hi && row >= w.firstRow && row < w.firstRow + w.rows)
      return static_cast<int64_t>(w.start) + (row - w.firstRow) * (w.hi - w.lo) + byte - w.lo;
  }
  return -1;
}

Windows::Stretch Windows::stretch(int64_t at, int64_t n) const {
  const auto after = std::upper_bound(windows.begin(), windows.end(), static_cast<size_t>(at),
                                      [](size_t v, const Window &w) { return v < w.start; });
  const Window &w = *std::prev(after);
  const int64_t pitch = w.hi - w.lo, from = at - static_cast<int64_t>(w.start), to = from + n;
  const int first = w.firstRow + static_cast<int>(from / pitch), last = w.firstRow + static_cast<int>((to - 1) / pitch);
  if (first != last)
    return {w.memory, first, last + 1, w.lo, w.hi};
  return {w.memory, first, last + 1, w.lo + from % pitch, w.lo + from % pitch + n};
}

void Windows::copyOut(std::vector<std::byte> &image) const {
  image.resize(bytes);
  for (const Window &w : windows)
    for (int r = 0; r < w.rows; ++r)
      std::memcpy(image.data() + w.start + r * (w.hi - w.lo), w.base + (w.firstRow + r) * w.pitch + w.lo, w.hi - w.lo);
}

void Windows::copyIn(const std::vector<std::byte> &image) const {
  for (const Window &w : windows)
    for (int r = 0; r < w.rows; ++r)
      std::memcpy(w.base + (w.firstRow + r) * w.pitch + w.lo, image.data() + w.start + r * (w.hi - w.lo), w.hi - w.lo);
}

namespace {

class Writer {
public:
  template <class T> void put(const T &v) {
    static_assert(std::has_unique_object_representations_v<T>);
    const auto *from = reinterpret_cast<const std::byte *>(&v);
    data.insert(data.end(), from, from + sizeof v);
  }
  template <class T> void puts(const std::vector<T> &v) {
    put(v.size());
    const auto *from = reinterpret_cast<const std::byte *>(v.data());
    data.insert(data.end(), from, from + v.size() * sizeof(T));
  }
  void text(std::string_view s) {
    put(s.size());
    for (char c : s)
      put(c);
  }
  std::vector<std::byte> data;
};

// What registers chose, besides the instruction itself.
void put(Writer &w, const Prepared &x) {
  w.put(x.id.core);
  w.put(static_cast<int>(x.id.engine));
  w.put(x.id.index);
  w.put(x.skip);
  for (int slot : x.dynamic) {
    w.put(x.operands[slot].integer);
    w.put(x.operands[slot].region.start);
    w.put(x.operands[slot].region.firstPartition);
  }
}

void put(Writer &w, const OrderStream &s) {
  w.put(s.pc);
  w.put(s.waited);
  w.put(s.barrier);
  for (int32_t r : s.state.regs)
    w.put(r);
  for (float f : s.state.accumulator)
    w.put(std::bit_cast<uint32_t>(f));
  w.put(s.state.activationSet);
  w.put(s.defined.regs);
  for (bool b : s.defined.accumulator)
    w.put(b);
  w.put(s.loops.size());
  for (const StreamState::Loop &l : s.loops) {
    w.put(l.begin);
    w.put(l.i);
    w.put(l.n);
  }
}

void put(Writer &w, const OrderTransfer &t) {
  w.put(t.number);
  for (const auto &x : t.sides)
    put(w, *x);
  for (const OrderTransfer::Part &part : t.parts) {
    w.put(part.complete);
    for (size_t side = 0; side < t.sides.size(); ++side) {
      w.put(part.phase[side]);
      for (const OrderPiece &piece : part.pieces[side]) {
        w.put(piece.at);
        w.puts(piece.bytes);
        w.puts(piece.tags);
      }
    }
  }
}

} // namespace

StateKey keyOf(const OrderState &s) {
  Writer w;
  w.data.reserve(s.bytes.size() * 3 + s.streams.size() * 1100);
  w.puts(s.bytes);
  w.puts(s.tags);
  for (const OrderStream &stream : s.streams)
    put(w, stream);
  w.puts(s.semaphores);
  for (const OrderQueue &q : s.queues) {
    w.put(q.issued);
    w.put(q.inFlight.size());
    for (const OrderTransfer &t : q.inFlight)
      put(w, t);
    for (const auto &waiting : q.waiting) {
      w.put(waiting.size());
      for (const auto &x : waiting)
        put(w, *x);
    }
  }
  for (const auto &[barrier, n] : s.arrivals) {
    w.text(barrier.first);
    w.put(barrier.second);
    w.put(n);
  }
  return {checksum64(w.data, 0), checksum64(w.data, 0x5851F42D4C957F2Du)};
}

} // namespace glia::sim
