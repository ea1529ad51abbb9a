#include "Shadow.h"

#include <bit>

namespace glia::sim {

Shadow::Map::iterator Shadow::splitAt(Map &m, int64_t at) {
  auto it = m.lower_bound(at);
  if (it == m.begin())
    return it;
  auto left = std::prev(it);
  if (left->second.end <= at)
    return it;
  it = m.emplace_hint(it, at, Segment{left->second.end, left->second.touches});
  grown();
  left->second.end = at;
  return it;
}

void Shadow::mergeLeft(Map &m, Map::iterator it) {
  if (it == m.begin())
    return;
  auto left = std::prev(it);
  if (left->second.end != it->first || left->second.touches != it->second.touches)
    return;
  left->second.end = it->second.end;
  m.erase(it);
  --segments;
}

// Reads that happened before a new one need not be kept: whoever is ordered after the new one is ordered after them.
static void addRead(std::vector<Touch> &touches, const Touch &t, const Clock &clock) {
  size_t kept = 0;
  for (size_t i = 0; i < touches.size(); ++i) {
    Touch o = touches[i];
    if (!o.write && (o.before(clock) || o.sameEvent(t)))
      o.mask &= ~t.mask;
    if (o.mask)
      touches[kept++] = o;
  }
  touches.resize(kept);
  touches.push_back(t);
}

bool Shadow::read(const ByteRect &w, Touch t, const Clock &clock, Findings &findings, Conflict &conflict) {
  Map &m = quads[w.quad];
  t.mask = w.mask;
  auto it = splitAt(m, w.lo);
  for (int64_t at = w.lo; at < w.hi; ++it) {
    if (it == m.end() || it->first > at) {
      const int64_t end = it == m.end() ? w.hi : std::min(w.hi, it->first);
      if (findings.wantBase)
        findings.noBase.push_back({w.quad, w.mask, at, end});
      it = m.emplace_hint(it, at, Segment{end, {t}});
      grown();
      at = end;
      continue;
    }
    if (it->second.end > w.hi)
      it = std::prev(splitAt(m, w.hi));
    const int64_t end = it->second.end;
    uint32_t accumulated = 0;
    for (const Touch &o : it->second.touches) {
      const uint32_t shared = o.mask & w.mask;
      if (!o.write || !shared)
        continue;
      if (!o.before(clock) && !o.sameEvent(t)) {
        conflict = {o, {w.quad, shared, at, end}};
        return false;
      }
      if (o.owner != t.owner)
        findings.foreign.push_back({w.quad, shared, at, end});
      else if (o.matmul || findings.anyWriter)
        accumulated |= shared;
    }
    if (findings.wantBase && accumulated != w.mask)
      findings.noBase.push_back({w.quad, w.mask & ~accumulated, at, end});
    addRead(it->second.touches, t, clock);
    at = end;
  }
  return true;
}

bool Shadow::write(const ByteRect &w, Touch t, const Clock &clock, bool once, Conflict &conflict, const Harmless &harmless) {
  Map &m = quads[w.quad];
  t.mask = w.mask;
  t.write = true;
  const auto first = splitAt(m, w.lo);
  const auto last = splitAt(m, w.hi);
  bool whole = true; // nothing else has to be kept
  for (auto it = first; it != last; ++it)
    for (const Touch &o : it->second.touches) {
      whole &= (o.mask & ~w.mask) == 0;
      if (!(o.mask & w.mask) || o.before(clock))
        continue;
      if (o.sameEvent(t) && !(once && o.write))
        continue;
      conflict = {o, {w.quad, o.mask & w.mask, it->first, it->second.end}};
      if (!(o.write && !o.sameEvent(t) && harmless && harmless(conflict)))
        return false;
      whole = false; // both stay on record
    }
  if (whole) {
    auto it = first;
    if (first != last && first->first == w.lo) {
      for (auto next = std::next(first); next != last;) {
        next = m.erase(next);
        --segments;
      }
      first->second.end = w.hi;
      first->second.touches.assign(1, t);
    } else {
      for (auto next = first; next != last;) {
        next = m.erase(next);
        --segments;
      }
      it = m.emplace_hint(last, w.lo, Segment{w.hi, {t}});
      grown();
    }
    mergeLeft(m, it);
    return true;
  }
  auto it = first;
  for (int64_t at = w.lo; at < w.hi; ++it) {
    if (it == m.end() || it->first > at) {
      const int64_t end = it == m.end() ? w.hi : std::min(w.hi, it->first);
      it = m.emplace_hint(it, at, Segment{end, {t}});
      grown();
      at = end;
      continue;
    }
    std::vector<Touch> &touches = it->second.touches;
    for (Touch &o : touches)
      if (!o.write || o.before(clock) || o.sameEvent(t))
        o.mask &= ~w.mask;
    std::erase_if(touches, [](const Touch &o) { return o.mask == 0; });
    touches.push_back(t);
    at = it->second.end;
  }
  return true;
}

const Touch *Shadow::lastWrite(int row, int64_t byte) const {
  const Map &m = quads[row / 32];
  auto it = m.upper_bound(byte);
  if (it == m.begin())
    return nullptr;
  --it;
  if (it->second.end <= byte)
    return nullptr;
  for (const Touch &t : it->second.touches)
    if (t.write && t.mask >> row % 32 & 1)
      return &t;
  return nullptr;
}

int64_t Shadow::bytesTouched() const {
  int64_t n = 0;
  for (const Map &m : quads)
    for (const auto &[start, s] : m) {
      uint32_t mask = 0;
      for (const Touch &t : s.touches)
        mask |= t.mask;
      n += (s.end - start) * std::popcount(mask);
    }
  return n;
}

} // namespace glia::sim
