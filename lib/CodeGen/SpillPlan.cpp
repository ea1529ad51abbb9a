#include "SpillPlan.h"
#include "KernelCost.h"
#include "SpillPieces.h"

#include <algorithm>
#include <cmath>

namespace glia::codegen {

namespace {

constexpr int64_t kAlign = 32;
constexpr size_t kMostLoads = 8; // that are repeated; more are stored together
constexpr double kSlowLoad = 2;  // times as long as one without strides: stored and brought back in one piece

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
    return (mustStore() ? store : 0) + (unchanged(now.next - 1) && loads.empty() ? 0 : load);
  }
};

struct Resident {
  int64_t lo, hi;
  uint32_t item;
};

int64_t aligned(int64_t a) { return (a + kAlign - 1) / kAlign * kAlign; }

// ---- what uses what ---------------------------------------------------------------------------------------------------------------

class Collector {
public:
  Collector(std::vector<Item> &items, const Target &target) : items(items), target(target) {
    for (uint32_t n = 0; n < items.size(); ++n)
      numbers[items[n].life.op.getTensor()] = n;
    depth.resize(items.size());
  }

  void block(mlir::Block &b) {
    frames.emplace_back();
    for (mlir::Operation &op : b) {
      frames.back() = {&op, next++};
      if (auto alloc = llvm::dyn_cast<nisa::AllocOp>(op)) {
        if (const auto it = numbers.find(alloc.getTensor()); it != numbers.end())
          depth[it->second] = frames.size() - 1;
      } else if (const nisa::Instr i{&op}) {
        instruction(i);
      }
      for (mlir::Region &r : op.getRegions())
        for (mlir::Block &inner : r)
          block(inner);
      ++next;
    }
    frames.pop_back();
  }

private:
  struct Frame {
    mlir::Operation *op;
    uint32_t place;
  };
  std::vector<Item> &items;
  const Target &target;
  llvm::DenseMap<mlir::Value, uint32_t> numbers;
  std::vector<size_t> depth;
  std::vector<Frame> frames;
  llvm::DenseMap<mlir::Value, bool> readOnly; // tensors in HBM
  uint32_t next = 0;

  void instruction(nisa::Instr i) {
    for (mlir::OpOperand &o : i->getOpOperands()) {
      const auto it = numbers.find(o.get());
      if (it == numbers.end())
        continue;
      Item &x = items[it->second];
      const Frame &f = frames[depth[it->second]];
      const bool first = x.uses.empty() || x.uses.back().place != f.place;
      if (first)
        x.uses.push_back({f.place, f.op});
      const auto use = static_cast<uint32_t>(x.uses.size() - 1);
      x.operands.push_back({&o, use});
      access(i, x, use, f.op == i.operation());
    }
  }

  void access(nisa::Instr i, Item &x, uint32_t use, bool direct) {
    bool writes = false, reads = false, replaces = false;
    for (size_t k = 0; k < i.def().slots.size(); ++k) {
      const int slot = static_cast<int>(k);
      if (i.tensor(slot) != x.life.op.getTensor())
        continue;
      reads |= i.reads(slot);
      if (!i.writes(slot))
        continue;
      writes = true;
      if (direct && i.access(slot).getTerms().empty() && i.access(slot).getPartitions() == x.life.partitions) {
        const Write w = writeOf(i, slot, x.life.op);
        replaces |= w.sure && w.where.contains(wholeOf(x.life.op));
      }
    }
    if (!writes)
      return;
    x.uses[use].writes = true;
    x.uses[use].replaces = replaces && !reads;
    if (!x.unchanged(use))
      return;
    if (direct && x.loads.size() < kMostLoads && canRepeat(i))
      x.loads.push_back({i.operation(), use});
    else
      x.changed = use;
  }

  // A transfer from HBM that nobody writes, which brings the same bytes whenever it is made.
  bool canRepeat(nisa::Instr i) {
    if (!i.is("dma_copy") || i.slots().size() < 2 || !i.access(0).getTerms().empty() || !i.access(1).getTerms().empty())
      return false;
    for (const char *index : {"dst_index", "src_index"})
      if (i.access(i.def().slot(index)))
        return false;
    auto source = i.tensor(1).getDefiningOp<nisa::TensorOp>();
    if (!source || (source.getKind() != "input" && source.getKind() != "constant"))
      return false;
    const auto [it, fresh] = readOnly.try_emplace(i.tensor(1), true);
    if (fresh)
      for (mlir::OpOperand &o : i.tensor(1).getUses()) {
        const nisa::Instr user(o.getOwner());
        for (size_t k = 0; user && k < user.def().slots.size(); ++k)
          it->second &= user.tensor(static_cast<int>(k)) != o.get() || !user.writes(static_cast<int>(k));
      }
    const Duration d = durationOf(i, target, i.engine().value_or(Engine::Sync));
    const nisa::AccessAttr a = i.access(0);
    const double bytes = static_cast<double>(a.elements() * sizeOf(a.getDtype()));
    const double plain = bytes / (target.number("dma.bytes_per_ns") * d.share * std::max(target.dmaEngines, 1));
    return it->second && d.transfer <= kSlowLoad * plain + target.number("dma.fixed_latency");
  }
};

// ---- the walk ---------------------------------------------------------------------------------------------------------------------

class Planner {
public:
  Planner(nisa::CoreOp core, const std::vector<Lifetime> &sbuf, const Target &target)
      : core(core), capacity(target.sbufBytes) {
    items.resize(sbuf.size());
    const double most = std::max(target.dmaEngines, 1);
    for (size_t n = 0; n < sbuf.size(); ++n) {
      Item &x = items[n];
      x.life = sbuf[n];
      x.changed = UINT32_MAX;
      const double bytes = static_cast<double>(x.life.bytes * x.life.partitions);
      const double engines = std::clamp(std::ceil(x.life.partitions / target.number("dma.rows_per_engine")), 1.0, most);
      x.load = target.number("dma.fixed_latency") + bytes / engines / target.number("dma.bytes_per_ns");
      x.store = target.number("dma.fixed_latency") + bytes / engines / target.number("dma.store_bytes_per_ns");
    }
    Collector(items, target).block(core.getBody().front());
    for (uint32_t n = 0; n < items.size(); ++n) {
      if (items[n].life.pinned)
        pins.push_back(n);
      if (items[n].life.kept)
        kept[items[n].life.op->getBlock()].push_back(n);
      for (const SpillUse &u : items[n].uses)
        used.push_back({u.place, n});
    }
    std::sort(used.begin(), used.end());
  }

  bool run() { return block(core.getBody().front()); }
  std::vector<Item> items;

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

  bool block(mlir::Block &b) {
    for (mlir::Operation &op : b) {
      const uint32_t place = next++;
      const llvm::ArrayRef<std::pair<uint32_t, uint32_t>> here = usedAt(place);
      if (!here.empty() && !bring(here, place) && !rearrange(here, place))
        return false;
      if (op.getNumRegions() && !loop(op, here, place))
        return false;
      for (const auto &[at, n] : here)
        passed(n);
      if (&b == &core.getBody().front())
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
    if (body(op, place))
      return true;
    while (journal.size() > mark) {
      auto &[n, old] = journal.back();
      Item &x = items[n];
      x.now = old;
      x.stays.resize(old.stays);
      if (old.resident)
        x.stays.back().byte = old.byte;
      journal.pop_back();
    }
    residents = before;
    next = inside;
    return rearrange(here, place) && body(op, place);
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
    residents.erase(std::find_if(residents.begin(), residents.end(), [&](const Resident &r) { return r.item == n; }));
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
      if (a < 0)
        a = cheapest(fixed, l.bytes, place);
      if (a >= 0) {
        clear(a, n, place);
        cursor = a + l.bytes;
        return true;
      }
      if (pins.empty())
        break;
    }
    return false;
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

std::optional<std::vector<PlannedTensor>> planSpills(nisa::CoreOp core, const std::vector<Lifetime> &sbuf,
                                                     const Target &target) {
  Planner planner(core, sbuf, target);
  if (!planner.run())
    return std::nullopt;
  return std::vector<PlannedTensor>(std::make_move_iterator(planner.items.begin()),
                                    std::make_move_iterator(planner.items.end()));
}

} // namespace glia::codegen
