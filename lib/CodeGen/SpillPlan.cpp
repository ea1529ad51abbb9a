#include "SpillPlan.h"
#include "KernelCost.h"
#include "SpillUses.h"

#include <algorithm>
#include <cmath>

namespace glia::codegen {

namespace {

constexpr int64_t kAlign = 32;
constexpr int64_t kSpare = 4;      // a part of SBUF is kept free for what comes next
constexpr double kHidden = 8;      // times as long as the transfers: they are hidden
constexpr double kDelicate = 1000; // times as much, for what had better stay

struct State {       // of a tensor, where the walk is
  uint32_t next = 0; // the use that comes, or that is being made
  bool resident = false;
  bool stored = false; // HBM holds what it holds
  int64_t byte = 0;
  size_t stays = 0;
};

struct Item : PlannedTensor {
  State now;
  double store = 0, load = 0; // ns

  uint32_t nextPlace() const { return uses[now.next].place; }
  bool mustStore() const { return !now.stored && !unchanged(now.next - 1) && !uses[now.next].replaces; }
  // Of leaving before the next use.
  double cost() const {
    if (uses[now.next].replaces)
      return 0;
    if (unchanged(now.next - 1))
      return sources.empty() ? 0 : load;
    return ((mustStore() ? store : 0) + load) * (delicate ? kDelicate : 1);
  }
};

struct Resident {
  int64_t lo, hi;
  uint32_t item;
};

int64_t aligned(int64_t a) { return (a + kAlign - 1) / kAlign * kAlign; }

class Planner {
public:
  Planner(nisa::CoreOp core, const std::vector<Lifetime> &sbuf, const Target &target)
      : core(core), capacity(target.sbufBytes) {
    items.resize(sbuf.size());
    const double most = std::max(target.dmaEngines, 1);
    for (size_t n = 0; n < sbuf.size(); ++n) {
      Item &x = items[n];
      x.life = sbuf[n];
      const double bytes = static_cast<double>(x.life.bytes * x.life.partitions);
      const double engines = std::clamp(std::ceil(x.life.partitions / target.number("dma.rows_per_engine")), 1.0, most);
      x.load = target.number("dma.fixed_latency") + bytes / engines / target.number("dma.bytes_per_ns");
      x.store = target.number("dma.fixed_latency") + bytes / engines / target.number("dma.store_bytes_per_ns");
    }
    std::vector<PlannedTensor *> all;
    for (Item &x : items)
      all.push_back(&x);
    findUses(core, all, target);
    for (uint32_t n = 0; n < items.size(); ++n) {
      if (items[n].life.pinned)
        pins.push_back(n);
      if (items[n].life.kept)
        kept[items[n].life.op->getBlock()].push_back(n);
      for (const SpillUse &u : items[n].uses)
        used.push_back({u.place, n});
    }
    std::sort(used.begin(), used.end());
    if (!used.empty())
      pace = workOf(core.getBody().front(), target) / (used.back().first + 1);
  }

  bool run() { return block(core.getBody().front()); }
  std::vector<Item> items;
  std::vector<mlir::Operation *> crowded;

private:
  nisa::CoreOp core;
  const int64_t capacity;
  std::vector<uint32_t> pins;
  llvm::DenseMap<mlir::Block *, std::vector<uint32_t>> kept;
  std::vector<std::pair<uint32_t, uint32_t>> used; // place, item
  std::vector<Resident> residents;                 // by address
  std::vector<std::pair<uint32_t, State>> journal; // items, as they were
  uint32_t next = 0;
  int64_t cursor = 0;
  double pace = 0; // ns of work from one place to the next, on average

  bool block(mlir::Block &b) {
    const bool outermost = &b == &core.getBody().front();
    for (mlir::Operation &op : b) {
      const uint32_t place = next++;
      const llvm::ArrayRef<std::pair<uint32_t, uint32_t>> here = usedAt(place);
      const bool there = here.empty() || bring(here, place) || rearrange(here, place), loops = op.getNumRegions();
      if (!there || (loops && !loop(op, here, place))) {
        if (loops)
          crowded.push_back(&op);
        if (!loops || !outermost)
          return false;
        next = after(op, place); // go on behind it, to find all of them
      }
      for (const auto &[at, n] : here)
        passed(n);
      if (outermost)
        journal.clear(); // no loop is left to try again
      ++next;
    }
    return true;
  }

  // What is in use around the loop is moved together if the body does not find room beside it.
  bool loop(mlir::Operation &op, llvm::ArrayRef<std::pair<uint32_t, uint32_t>> here, uint32_t place) {
    const size_t mark = journal.size();
    const std::vector<Resident> before = residents;
    const uint32_t inside = next;
    auto restore = [&] {
      for (; journal.size() > mark; journal.pop_back()) {
        const auto &[n, old] = journal.back();
        Item &x = items[n];
        x.now = old;
        x.stays.resize(old.stays);
        if (old.resident)
          x.stays.back().byte = old.byte;
      }
      residents = before;
      next = inside;
    };
    const size_t known = crowded.size();
    if (body(op, place))
      return true;
    restore();
    crowded.resize(known);
    if (rearrange(here, place) && body(op, place))
      return true;
    restore();
    return false;
  }

  // The place at which the operation ends.
  static uint32_t after(mlir::Operation &op, uint32_t place) {
    uint32_t n = 0;
    op.walk([&](mlir::Operation *) { n += 2; });
    return place + n - 1;
  }

  bool body(mlir::Operation &op, uint32_t place) {
    for (mlir::Region &r : op.getRegions())
      for (mlir::Block &b : r) {
        const auto through = kept.find(&b);
        if (through != kept.end())
          for (uint32_t n : through->second)
            if (!settle(n, place))
              return false;
        if (!block(b))
          return false;
        if (through != kept.end())
          for (uint32_t n : through->second)
            remove(n);
      }
    return true;
  }

  llvm::ArrayRef<std::pair<uint32_t, uint32_t>> usedAt(uint32_t place) const {
    const auto from = std::lower_bound(used.begin(), used.end(), std::pair(place, 0u));
    auto to = from;
    while (to != used.end() && to->first == place)
      ++to;
    return {used.data() + (from - used.begin()), static_cast<size_t>(to - from)};
  }

  State &change(uint32_t n) {
    Item &x = items[n];
    x.now.stays = x.stays.size();
    journal.push_back({n, x.now});
    return x.now;
  }

  // Pinned ones first, then the largest.
  std::vector<uint32_t> absent(llvm::ArrayRef<std::pair<uint32_t, uint32_t>> here) const {
    std::vector<uint32_t> out;
    for (const auto &[at, n] : here)
      if (!items[n].now.resident)
        out.push_back(n);
    std::sort(out.begin(), out.end(), [&](uint32_t a, uint32_t b) {
      const Lifetime &x = items[a].life, &y = items[b].life;
      return x.pinned != y.pinned ? x.pinned : x.bytes != y.bytes ? x.bytes > y.bytes : a < b;
    });
    return out;
  }

  bool bring(llvm::ArrayRef<std::pair<uint32_t, uint32_t>> here, uint32_t place) {
    for (uint32_t n : absent(here))
      if (!settle(n, place))
        return false;
    return true;
  }

  // The use is over.
  void passed(uint32_t n) {
    Item &x = items[n];
    State &s = change(n);
    if (x.uses[s.next].writes)
      s.stored = false;
    if (++s.next == x.uses.size() && !x.life.kept)
      remove(n);
  }

  void remove(uint32_t n) {
    State &s = change(n);
    s.resident = false;
    auto it = std::lower_bound(residents.begin(), residents.end(), s.byte,
                               [](const Resident &r, int64_t byte) { return r.lo < byte; });
    while (it != residents.end() && it->item != n) // pinned ones may begin at the same byte
      ++it;
    if (it != residents.end())
      residents.erase(it);
  }

  bool mayLeave(uint32_t n, uint32_t place) const {
    const Item &x = items[n];
    return !x.life.pinned && !x.life.kept && x.nextPlace() > place;
  }

  void leave(uint32_t n) {
    const bool store = items[n].mustStore();
    remove(n);
    items[n].now.stored |= store;
  }

  void put(uint32_t n, int64_t byte) {
    Item &x = items[n];
    State &s = change(n);
    s.resident = true;
    s.byte = byte;
    if (!x.stays.empty() && x.stays.back().first == s.next)
      x.stays.back().byte = byte; // it has just been brought, and is moved before its use
    else
      x.stays.push_back({s.next, byte});
    const Resident r{byte, byte + x.life.bytes, n};
    residents.insert(std::upper_bound(residents.begin(), residents.end(), r,
                                      [](const Resident &a, const Resident &b) { return a.lo < b.lo; }),
                     r);
  }

  // A place for the tensor, if others have to leave for it.
  bool settle(uint32_t n, uint32_t place) {
    const Lifetime &l = items[n].life;
    if (l.pinned)
      return clear((*items[n].life.op.getAt())[1], n, place);
    for (const bool ahead : {true, false}) {
      const std::vector<Resident> fixed = pinsBeside(l, place, ahead);
      int64_t a = hole(fixed, l.bytes, cursor);
      if (a < 0)
        a = hole(fixed, l.bytes, 0);
      const bool full = a < 0;
      if (full)
        a = cheapest(fixed, l.bytes, place);
      if (a >= 0) {
        clear(a, n, place);
        cursor = a + l.bytes;
        if (full)
          makeRoom(place);
        return true;
      }
      if (pins.empty())
        break;
    }
    return false;
  }

  // Memory is full: what is not needed for so long that its transfers are hidden leaves too, so that what comes next does not have to
  // wait for what was here.
  void makeRoom(uint32_t place) {
    int64_t free = capacity;
    std::vector<std::pair<double, uint32_t>> far; // cost for each place that it will be away
    for (const Resident &r : residents) {
      free -= r.hi - r.lo;
      if (!mayLeave(r.item, place))
        continue;
      const double away = items[r.item].nextPlace() - place, cost = items[r.item].cost();
      if (away * pace >= kHidden * cost)
        far.push_back({cost / away, r.item});
    }
    std::sort(far.begin(), far.end());
    for (size_t k = 0; k < far.size() && free < capacity / kSpare; ++k) {
      free += items[far[k].second].life.bytes;
      leave(far[k].second);
    }
  }

  // Puts the tensor there; what lies there leaves.
  bool clear(int64_t byte, uint32_t n, uint32_t place) {
    const int64_t end = byte + items[n].life.bytes;
    std::vector<uint32_t> out;
    for (const Resident &r : residents)
      if (r.lo < end && byte < r.hi) {
        if (items[n].life.pinned && items[r.item].life.pinned)
          continue; // other partitions
        if (!mayLeave(r.item, place))
          return false;
        out.push_back(r.item);
      }
    for (uint32_t m : out)
      leave(m);
    put(n, byte);
    return true;
  }

  // Pinned tensors that are not there yet and will be while this one lives (`ahead`).
  std::vector<Resident> pinsBeside(const Lifetime &l, uint32_t place, bool ahead) {
    std::vector<Resident> out;
    for (uint32_t n : pins)
      if (Lifetime &p = items[n].life; ahead && p.from < l.to && place < p.to)
        out.push_back({(*p.op.getAt())[1], (*p.op.getAt())[1] + p.bytes, n});
    return out;
  }

  // The first free address from `begin` on; -1: none.
  int64_t hole(const std::vector<Resident> &fixed, int64_t bytes, int64_t begin) const {
    int64_t a = aligned(begin);
    for (bool moved = true; moved;) {
      moved = false;
      for (const Resident &r : residents) {
        if (a + bytes <= r.lo)
          break;
        if (r.hi > a)
          a = aligned(r.hi);
      }
      for (const Resident &r : fixed)
        if (r.lo < a + bytes && a < r.hi)
          a = aligned(r.hi), moved = true;
    }
    return a + bytes <= capacity ? a : -1;
  }

  // The address from which it costs least to send away what lies there, for each place that it will be away; -1: none.
  int64_t cheapest(const std::vector<Resident> &fixed, int64_t bytes, uint32_t place) const {
    struct Sum { // up to a resident
      double cost = 0;
      uint32_t stay = 0;
    };
    std::vector<Sum> sums(residents.size() + 1);
    std::vector<int64_t> starts = {0};
    int64_t reach = 0; // pinned tensors may lie beside each other
    std::vector<int64_t> ends;
    for (size_t k = 0; k < residents.size(); ++k) {
      const Resident &r = residents[k];
      const bool may = mayLeave(r.item, place);
      sums[k + 1] = sums[k];
      if (may)
        sums[k + 1].cost += items[r.item].cost() / (items[r.item].nextPlace() - place);
      else
        ++sums[k + 1].stay;
      reach = std::max(reach, r.hi);
      ends.push_back(reach);
      starts.push_back(aligned(r.lo));
      starts.push_back(aligned(r.hi));
    }
    std::sort(starts.begin(), starts.end());
    int64_t best = -1;
    double least = 0;
    size_t from = 0, to = 0;
    for (int64_t a : starts) {
      if (a + bytes > capacity)
        break;
      while (from < ends.size() && ends[from] <= a)
        ++from;
      while (to < residents.size() && residents[to].lo < a + bytes)
        ++to;
      if (to > from && sums[to].stay != sums[from].stay)
        continue;
      const double cost = to > from ? sums[to].cost - sums[from].cost : 0;
      if ((best < 0 || cost < least) &&
          std::none_of(fixed.begin(), fixed.end(), [&](const Resident &r) { return r.lo < a + bytes && a < r.hi; }))
        best = a, least = cost;
    }
    return best;
  }

  // Everything leaves that may, and what the operation needs is placed anew, from the bottom.
  bool rearrange(llvm::ArrayRef<std::pair<uint32_t, uint32_t>> here, uint32_t place) {
    const std::vector<Resident> old = residents;
    for (const Resident &r : old) {
      const Item &x = items[r.item];
      if (mayLeave(r.item, place))
        leave(r.item);
      else if (!x.life.pinned && !x.life.kept && x.nextPlace() == place && usesIt(here, r.item)) {
        const bool fresh = x.stays.back().first == x.now.next; // not used since it came
        const bool store = !fresh && x.mustStore();
        remove(r.item);
        items[r.item].now.stored |= store;
      }
    }
    for (uint32_t n : absent(here)) {
      const Lifetime &l = items[n].life;
      int64_t a = -1;
      if (l.pinned)
        a = (*items[n].life.op.getAt())[1];
      for (const bool ahead : {true, false})
        if (a < 0)
          a = hole(pinsBeside(l, place, ahead), l.bytes, 0);
      if (a < 0 || !clear(a, n, place))
        return false;
    }
    cursor = 0;
    return true;
  }

  static bool usesIt(llvm::ArrayRef<std::pair<uint32_t, uint32_t>> here, uint32_t n) {
    return std::any_of(here.begin(), here.end(), [&](const auto &u) { return u.second == n; });
  }
};

} // namespace

SpillPlan planSpills(nisa::CoreOp core, const std::vector<Lifetime> &sbuf, const Target &target) {
  Planner planner(core, sbuf, target);
  SpillPlan plan;
  plan.possible = planner.run();
  plan.crowded = std::move(planner.crowded);
  plan.tensors.assign(std::make_move_iterator(planner.items.begin()), std::make_move_iterator(planner.items.end()));
  return plan;
}

} // namespace glia::codegen
