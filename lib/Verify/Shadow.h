// What is known about the bytes of one memory: who wrote and read them last, whether they are defined, whose they are.
// Exact: byte intervals, each with cells for sets of partitions (a 32-bit mask per quadrant of the memory).
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace glia::flow {

struct Touch { // one access: component and its number there, who it was
  uint32_t comp = 0, seq = 0;
  uint32_t who = 0;   // packed instruction identity, see Walk
  uint32_t place = 0; // the bytes it touched (Walk::spots); 0: all of the cell
  friend bool operator==(const Touch &, const Touch &) = default;
};

struct Cell {
  uint32_t mask = 0;    // partitions of the quadrant
  int32_t owner = -1;   // allocation that wrote last
  uint32_t content = 0; // what is known of the values, index into Contents, 0 = nothing
  bool written = false, defined = false;
  bool matmul = false;            // a matmul may add to it: who wrote last is one that it may add to
  Touch write;                    // the last one that wrote all of the cell
  std::vector<Touch> reads;       // since then
  std::vector<Touch> otherWrites; // since then, of some bytes or perhaps; and what may be the last write in its stead
};

// A later access of a component stands for an earlier one to the same bytes, or to fewer: who knows of it knows of that.
inline bool standsFor(const Touch &later, const Touch &t) {
  return later.comp == t.comp && later.seq >= t.seq && (later.place == t.place || !later.place);
}

inline void keepLatest(std::vector<Touch> &list, const Touch &t) {
  if (std::any_of(list.begin(), list.end(), [&t](const Touch &x) { return standsFor(x, t); }))
    return;
  std::erase_if(list, [&t](const Touch &x) { return standsFor(t, x); }); // the order of the others stays
  list.push_back(t);
}

// All touches of a second list. Returns whether one was new.
inline bool keepLatest(std::vector<Touch> &list, const std::vector<Touch> &more) {
  size_t next = 0; // lists of one origin are alike for the most part, in the same order
  auto known = [&](const Touch &t) {
    for (size_t n = 0; n < list.size(); ++n) {
      const bool stands = standsFor(list[next], t);
      next = next + 1 == list.size() ? 0 : next + 1;
      if (stands)
        return true;
    }
    return false;
  };
  std::vector<Touch> fresh;
  for (const Touch &t : more)
    if (!known(t))
      fresh.push_back(t);
  if (fresh.empty())
    return false;
  std::erase_if(list, [&fresh](const Touch &x) {
    return std::any_of(fresh.begin(), fresh.end(), [&x](const Touch &t) { return standsFor(t, x); });
  });
  list.insert(list.end(), fresh.begin(), fresh.end());
  return true;
}

class ByteMap {
public:
  // Calls f(Cell&) for every cell of [lo, hi) x mask, creating cells for bytes never touched. Nodes that reach over the ends are cut there.
  template <class F> void visit(int64_t lo, int64_t hi, uint32_t mask, F &&f) {
    auto it = nodes.lower_bound(lo);
    if (it != nodes.begin() && (it == nodes.end() || it->first != lo))
      if (const auto before = std::prev(it); before->second.hi > lo)
        it = split(before, lo);
    for (int64_t at = lo; at < hi; ++it) {
      if (it == nodes.end() || it->first > at) // a gap
        it = nodes.emplace_hint(it, at, Node{it == nodes.end() ? hi : std::min(hi, it->first), {}});
      else if (it->second.hi > hi)
        split(it, hi);
      at = it->second.hi;
      visit(it->second.cells, mask, f);
    }
  }

  // Whether every byte of [lo, hi) x mask is in a cell for which f(const Cell&) holds. Changes nothing.
  template <class F> bool all(int64_t lo, int64_t hi, uint32_t mask, F &&f) const {
    auto it = nodes.upper_bound(lo);
    if (it == nodes.begin())
      return false;
    for (--it; lo < hi; lo = it->second.hi, ++it) {
      if (it == nodes.end() || it->first > lo || it->second.hi <= lo)
        return false;
      uint32_t rest = mask;
      for (const Cell &c : it->second.cells)
        if (c.mask & mask) {
          if (!f(c))
            return false;
          rest &= ~c.mask;
        }
      if (rest)
        return false;
    }
    return true;
  }

  // After a write: one cell for the whole rectangle where nothing else is in the way.
  void assign(int64_t lo, int64_t hi, uint32_t mask, const Cell &value) {
    auto first = nodes.lower_bound(lo);
    bool whole = true;
    auto last = first;
    for (; last != nodes.end() && last->first < hi; ++last)
      for (const Cell &c : last->second.cells)
        whole &= (c.mask & ~mask) == 0;
    if (whole && first != nodes.end()) {
      Node &n = first->second;
      n.hi = hi;
      n.cells.resize(1);
      set(n.cells[0], value);
      n.cells[0].mask = mask;
      nodes.erase(std::next(first), last);
      return;
    }
    visit(lo, hi, mask, [&](Cell &c) { set(c, value); });
  }

  template <class F> void forEach(F &&f) {
    for (auto &[lo, node] : nodes)
      for (Cell &c : node.cells)
        f(lo, node.hi, c);
  }
  template <class F> void forEach(F &&f) const {
    for (const auto &[lo, node] : nodes)
      for (const Cell &c : node.cells)
        f(lo, node.hi, c);
  }

private:
  struct Node {
    int64_t hi = 0;
    std::vector<Cell> cells;
  };
  std::map<int64_t, Node> nodes; // by first byte; disjoint

  static void set(Cell &c, const Cell &value) {
    const uint32_t mask = c.mask;
    c.owner = value.owner, c.content = value.content, c.written = value.written, c.defined = value.defined;
    c.matmul = value.matmul, c.write = value.write;
    c.reads.clear();
    c.otherWrites.clear();
    c.mask = mask;
  }

  template <class F> static void visit(std::vector<Cell> &cells, uint32_t mask, F &f) {
    uint32_t rest = mask;
    for (size_t k = 0; k < cells.size() && rest; ++k) {
      const uint32_t common = cells[k].mask & rest;
      if (!common)
        continue;
      if (common != cells[k].mask) { // split: the untouched partitions keep a copy
        Cell copy = cells[k];
        copy.mask &= ~common;
        cells[k].mask = common;
        cells.push_back(std::move(copy));
      }
      rest &= ~common;
      f(cells[k]);
    }
    if (rest) {
      Cell fresh;
      fresh.mask = rest;
      cells.push_back(std::move(fresh));
      f(cells.back());
    }
  }

  std::map<int64_t, Node>::iterator split(std::map<int64_t, Node>::iterator it, int64_t at) {
    Node right = it->second;
    it->second.hi = at;
    return nodes.emplace_hint(std::next(it), at, std::move(right));
  }
};

} // namespace glia::flow
