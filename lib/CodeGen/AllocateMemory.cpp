// Gives every allocation an address, from lifetimes. Memory that was freed longest ago is used first, so that a new tensor rarely
// has to wait for the readers of an old one; if that does not fit, large tensors are placed before, the largest first and as low as
// possible: as few of them as it takes. If not even that fits, tensors of SBUF that are not used for a while are moved to HBM (SpillPlan).
#include "KernelCost.h"
#include "Lifetimes.h"
#include "SpillLoops.h"
#include "SpillTensors.h"
#include "glia/CodeGen/Passes.h"
#include "glia/Support/Checkpoint.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace glia {

using namespace codegen;

namespace {

struct Placed {
  int64_t lo, hi; // bytes; all partitions count as taken
  uint32_t from, to;
};

class SpaceAllocator {
public:
  // `bySize`: tiles are ordered as a whole, so that a small one in a large one's place would wait for all of that.
  SpaceAllocator(Space space, const Target &t, bool bySize)
      : space(space), target(t), capacity(space == Space::Sbuf ? t.sbufBytes : t.psumBytes), bySize(bySize) {}

  std::vector<Lifetime> all; // of this space

  // `half`: a kernel that keeps to one half can overlap with its neighbours in a program.
  bool fits(bool half) {
    int64_t most = 0;
    peak(most, /*pins=*/false); // which may lie side by side
    if (most > capacity || (!(half && place(halfCapacity())) && !place(capacity) && !packed()))
      return false;
    for (size_t i = 0; i < all.size(); ++i)
      write(all[i], at[i]);
    return true;
  }

  void use(const llvm::DenseMap<mlir::Operation *, int64_t> &addresses) {
    for (Lifetime &l : all)
      write(l, addresses.lookup(l.op));
  }

  // Where the need is greatest.
  uint32_t peak(int64_t &bytes, bool pins = true) const {
    // What is live changes only where a lifetime begins or ends.
    std::vector<std::pair<uint32_t, int64_t>> changes;
    for (const Lifetime &l : all) {
      if (l.pinned && !pins)
        continue;
      changes.push_back({l.from, l.bytes});
      changes.push_back({l.to, -l.bytes});
    }
    std::sort(changes.begin(), changes.end());
    uint32_t worst = 0;
    int64_t now = 0;
    bytes = -1;
    for (size_t i = 0; i < changes.size(); ++i) {
      now += changes[i].second;
      if (now > bytes && (i + 1 == changes.size() || changes[i + 1].first != changes[i].first))
        bytes = now, worst = changes[i].first;
    }
    return worst;
  }

  // Says what is live where the need is greatest.
  [[noreturn]] void refuse() const {
    int64_t most = 0;
    const uint32_t worst = peak(most);
    Diagnostic d;
    d.code = "KERNEL-MEMORY";
    const char *memory = space == Space::Sbuf ? "SBUF" : "PSUM";
    d.message = format("the kernel does not fit: %lld bytes of a partition of %s are live at once, and %s has %lld",
                       (long long)most, memory, target.name.c_str(), (long long)capacity);
    d.value = std::to_string(most);
    d.limit = std::to_string(capacity);
    std::vector<const Lifetime *> live;
    for (const Lifetime &l : all)
      if (together(l, worst, worst + 1))
        live.push_back(&l);
    std::sort(live.begin(), live.end(), [](const Lifetime *a, const Lifetime *b) {
      return a->bytes != b->bytes ? a->bytes > b->bytes : a->number < b->number;
    });
    for (size_t i = 0; i < live.size() && i < 12; ++i) {
      const nisa::Origin o = nisa::originOf(live[i]->op.getLoc());
      if (i == 0)
        d.place = {o.file, o.line, 0};
      d.notes.push_back(format("live at the peak: `%s`, %lld bytes per partition%s", live[i]->op.getLabel().str().c_str(),
                               (long long)live[i]->bytes, o.line ? format(" (%s:%u)", o.file.c_str(), o.line).c_str() : ""));
      d.context = "kernel " + live[i]->op->getParentOfType<nisa::KernelOp>().getSymName().str();
    }
    if (live.size() > 12)
      d.notes.push_back(format("and %zu more", live.size() - 12));
    d.advice = "Use smaller tiles, or keep fewer of them alive at the same time.";
    throw Error(std::move(d));
  }

private:
  Space space;
  const Target &target;
  int64_t capacity;
  bool bySize;
  std::vector<int64_t> at;
  static constexpr int64_t kSmallest = 64; // bytes

  int64_t halfCapacity() const {
    const int64_t bank = space == Space::Psum ? target.psumBankBytes : 64;
    return capacity / 2 / bank * bank;
  }
  static bool together(const Lifetime &a, uint32_t from, uint32_t to) { return a.from < to && from < a.to; }

  // The first address from `start` on that suits the tensor; it must not cross a PSUM bank it could fit into.
  int64_t align(int64_t a, int64_t bytes) const {
    const int64_t step = space == Space::Psum ? 4 : 32;
    a = (a + step - 1) / step * step;
    const int64_t bank = target.psumBankBytes;
    if (space == Space::Psum && (bytes > bank ? a % bank != 0 : a / bank != (a + bytes - 1) / bank))
      a = (a / bank + 1) * bank;
    return a;
  }

  // An address in [begin, end) that is free from `taken`, which is sorted by address; -1 if there is none.
  int64_t fit(const std::vector<Placed> &taken, int64_t bytes, int64_t begin, int64_t end) const {
    int64_t a = align(begin, bytes);
    for (const Placed &p : taken) {
      if (a + bytes <= p.lo)
        break;
      if (p.hi > a)
        a = align(p.hi, bytes);
    }
    return a + bytes <= end ? a : -1;
  }

  static void insertSorted(std::vector<Placed> &list, Placed p) {
    list.insert(std::upper_bound(list.begin(), list.end(), p, [](const Placed &a, const Placed &b) { return a.lo < b.lo; }),
                p);
  }

  // Those that have their place before the others: what the kernel pins, and, the largest first and as low as possible, what has so many
  // bytes. nullopt: they do not fit.
  std::optional<std::vector<Placed>> fixed(int64_t large) {
    std::vector<Placed> out;
    std::vector<size_t> order;
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].pinned) {
        at[i] = (*all[i].op.getAt())[1];
        insertSorted(out, {at[i], at[i] + all[i].bytes, all[i].from, all[i].to});
      } else if (all[i].bytes >= large) {
        order.push_back(i);
      }
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return all[a].bytes != all[b].bytes ? all[a].bytes > all[b].bytes : a < b; });
    std::vector<Placed> taken;
    for (size_t i : order) {
      checkpoint();
      const Lifetime &l = all[i];
      taken.clear();
      llvm::copy_if(out, std::back_inserter(taken), [&](const Placed &p) { return p.from < l.to && l.from < p.to; });
      at[i] = fit(taken, l.bytes, 0, capacity);
      if (at[i] < 0)
        return std::nullopt;
      insertSorted(out, {at[i], at[i] + l.bytes, l.from, l.to});
    }
    return out;
  }

  // What has fewer bytes than that is placed in program order.
  bool place(int64_t capacity, int64_t large = std::numeric_limits<int64_t>::max()) {
    at.assign(all.size(), 0);
    const std::optional<std::vector<Placed>> before = fixed(large);
    if (!before)
      return false;
    std::vector<Placed> live, both;
    int64_t cursor = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      const Lifetime &l = all[i];
      if (l.pinned || l.bytes >= large)
        continue;
      std::erase_if(live, [&](const Placed &p) { return p.to <= l.from; });
      const std::vector<Placed> *taken = &live;
      if (!before->empty()) {
        both = live;
        for (const Placed &p : *before)
          if (p.from < l.to && l.from < p.to)
            insertSorted(both, p);
        taken = &both;
      }
      int64_t a = fit(*taken, l.bytes, cursor, capacity);
      if (a < 0)
        a = fit(*taken, l.bytes, 0, capacity);
      if (a < 0)
        return false;
      at[i] = a;
      cursor = a + l.bytes;
      if (l.to > l.from)
        insertSorted(live, {a, a + l.bytes, l.from, l.to});
    }
    return true;
  }

  // With fewer and fewer in program order, at last none.
  bool packed() {
    for (int64_t large = capacity / 4; !bySize && large >= kSmallest; large /= 2)
      if (place(capacity, large))
        return true;
    return place(capacity, 0);
  }

  static void write(Lifetime &l, int64_t byte) {
    mlir::Builder b(l.op.getContext());
    const int64_t partition = l.pinned ? (*l.op.getAt())[0] : 0;
    mlir::NamedAttrList attributes(l.op->getAttrs()); // one new dictionary, not two
    attributes.set(l.op.getAtAttrName(), b.getDenseI64ArrayAttr({partition, byte}));
    attributes.set(l.op.getLiveAttrName(), b.getDenseI64ArrayAttr({l.from, std::max(l.to, l.from + 1)}));
    l.op->setAttrs(attributes);
  }
};

} // namespace

void allocateMemory(nisa::KernelOp k, const Target &target) {
  constexpr double kLong = 200'000; // ns: what its neighbours could overlap with is little beside what more room gives
  for (auto core : k.getBody().getOps<nisa::CoreOp>()) {
    const bool half = workOf(core.getBody().front(), target) < kLong;
    const bool bySize = k->hasAttr(kWholeTiles);
    SpaceAllocator sbuf(Space::Sbuf, target, bySize), psum(Space::Psum, target, bySize);
    auto collect = [&] {
      sbuf.all.clear(), psum.all.clear();
      for (Lifetime &l : lifetimesOf(core))
        (l.space == Space::Sbuf ? sbuf : psum).all.push_back(l);
    };
    collect();
    if (!sbuf.fits(half)) {
      const SpaceAllocator before = sbuf;
      SpillPlan plan = planSpills(core, sbuf.all, target);
      for (int round = 0; !plan.crowded.empty(); ++round) {
        if (!plan.possible || !spillInLoops(core, plan, round, target))
          before.refuse();
        collect();
        plan = planSpills(core, sbuf.all, target);
      }
      if (!plan.possible)
        before.refuse();
      const auto addresses = spillTensors(core, plan.tensors, target);
      collect();
      sbuf.use(addresses);
    }
    if (!psum.fits(false))
      psum.refuse();
  }
}

} // namespace glia
