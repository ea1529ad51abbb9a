// Finds where undefined data come from: each byte of memory remembers which unwritten bytes it was computed from, as the verifier
// sees it: what an instruction reads makes all that it writes undefined.
#include "ExecuteObserver.h"

#include <algorithm>

namespace glia::execute {
namespace {

enum : uint32_t { kDefined = 0, kUnwritten = 1, kFirst = 2 }; // kFirst + k: computed from what origin k names

struct Extent { // of host memory that tensors lie in
  std::byte *from, *to;
  std::vector<uint32_t> marks;
};

class UndefinedObserver : public Observer {
public:
  UndefinedObserver(nisa::KernelOp kernel, const Memory &m, const Numbers &n, Observations &out)
      : kernel(kernel), memory(m), numbers(n), owners(kernel, m, n), out(out) {
    for (const Owners::Owner &o : owners.all())
      extents.push_back({o.place.base, o.place.base + (o.place.partitions - 1) * o.place.pitch + o.place.bytes, {}});
    join();
    for (auto t : kernel.getBody().getOps<nisa::TensorOp>())
      if (t.getKind() == "input" || t.getKind() == "constant" || t.getAlias())
        for (int core = 0; core < static_cast<int>(kernel.cores()); ++core)
          set(memory.place(t.getTensor(), core), kDefined);
  }

  void allocated(mlir::Value tensor, int core) override { set(memory.place(tensor, core), kUnwritten); }

  void before(const Bound &x, const Moment &m) override {
    carried = kDefined;
    const InstrDef &def = x.instr.def();
    for (size_t k = 0; k < x.operands.size(); ++k) {
      const int slot = static_cast<int>(k);
      if (!x.instr.reads(slot) || slot == x.indexed)
        continue;
      const bool sum = k == 0 && def.flow == Flow::Matmul; // the first matmul of an element overwrites it
      read(x, slot, m, sum);
    }
  }

  void after(const Bound &x, const Moment &m) override {
    for (size_t k = 0; k < x.operands.size(); ++k) {
      const int slot = static_cast<int>(k);
      if (!x.instr.writes(slot))
        continue;
      if (slot == x.indexed) // its rows are chosen by data: any of them may be
        set(memory.place(x.instr.tensor(slot), m.core), carried);
      else
        forEachRun(x.operands[k].region, [&](std::byte *at, int64_t bytes) {
          uint32_t *to = marks(at);
          std::fill(to, to + bytes, carried);
        });
      auto tensor = x.instr.tensor(slot).getDefiningOp<nisa::TensorOp>();
      if (carried < kFirst || !tensor || tensor.getKind() != "output")
        continue;
      UndefinedOrigin &o = out.undefined[carried - kFirst];
      if (o.output.empty()) {
        o.output = tensor.getLabel().str();
        o.stored = m;
      }
    }
  }

  void finished() override {
    for (auto t : kernel.getBody().getOps<nisa::TensorOp>()) {
      if (t.getKind() != "output")
        continue;
      const Place &p = memory.place(t.getTensor(), 0);
      const uint32_t *from = marks(p.base), *to = from + p.bytes;
      const uint32_t *first = std::find(from, to, kUnwritten);
      if (first == to)
        continue;
      const auto last = std::find(std::make_reverse_iterator(to), std::make_reverse_iterator(from), kUnwritten);
      UndefinedOrigin o;
      o.tensor = numbers.tensorOf.lookup(t.getTensor());
      o.bytes[0] = first - from;
      o.bytes[1] = last.base() - from - 1;
      o.output = t.getLabel().str();
      out.undefined.push_back(std::move(o));
    }
  }

private:
  nisa::KernelOp kernel;
  const Memory &memory;
  const Numbers &numbers;
  Owners owners;
  Observations &out;
  std::vector<Extent> extents;                                   // sorted
  uint32_t carried = kDefined;                                   // by the instruction that is being run
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, uint32_t> known; // instruction and tensor -> origin

  void join() {
    std::sort(extents.begin(), extents.end(), [](const Extent &a, const Extent &b) { return a.from < b.from; });
    std::vector<Extent> joined;
    for (Extent &e : extents)
      if (!joined.empty() && e.from < joined.back().to)
        joined.back().to = std::max(joined.back().to, e.to);
      else
        joined.push_back(e);
    for (Extent &e : joined)
      e.marks.assign(static_cast<size_t>(e.to - e.from), kUnwritten);
    extents = std::move(joined);
  }

  uint32_t *marks(const std::byte *at) {
    auto it =
        std::upper_bound(extents.begin(), extents.end(), at, [](const std::byte *a, const Extent &e) { return a < e.from; });
    --it;
    return it->marks.data() + (at - it->from);
  }

  void set(const Place &p, uint32_t mark) {
    for (int32_t row = 0; row < p.partitions; ++row) {
      uint32_t *to = marks(p.base + row * p.pitch);
      std::fill(to, to + p.bytes, mark);
    }
  }

  void read(const Bound &x, int slot, const Moment &m, bool sum) {
    const Region &r = x.operands[slot].region;
    const Owners::Owner owner = owners.of(x, slot, m.core);
    const Place &p = owner.place;
    int32_t rows[2] = {INT32_MAX, -1};
    int64_t bytes[2] = {INT64_MAX, -1};
    forEachRun(r, [&](std::byte *at, int64_t n) {
      const uint32_t *from = marks(at);
      for (int64_t b = 0; b < n; ++b) {
        if (from[b] >= kFirst && carried == kDefined)
          carried = from[b];
        if (from[b] != kUnwritten || sum)
          continue;
        const int64_t offset = at + b - p.base;
        const auto row = static_cast<int32_t>(p.pitch ? offset / p.pitch : 0);
        const int64_t byte = p.pitch ? offset % p.pitch : offset;
        rows[0] = std::min(rows[0], row);
        rows[1] = std::max(rows[1], row);
        bytes[0] = std::min(bytes[0], byte);
        bytes[1] = std::max(bytes[1], byte);
      }
    });
    if (rows[1] < 0)
      return;
    const uint32_t tensor = owner.tensor;
    const auto [it, fresh] = known.try_emplace({m.instruction, tensor}, static_cast<uint32_t>(out.undefined.size()));
    if (fresh) {
      UndefinedOrigin o;
      o.tensor = tensor;
      std::copy(rows, rows + 2, o.partitions);
      std::copy(bytes, bytes + 2, o.bytes);
      o.reader = m;
      out.undefined.push_back(std::move(o));
    }
    carried = kFirst + it->second;
  }
};

} // namespace

std::unique_ptr<Observer> undefinedObserver(nisa::KernelOp kernel, const Memory &m, const Numbers &n, Observations &out) {
  return std::make_unique<UndefinedObserver>(kernel, m, n, out);
}

} // namespace glia::execute
