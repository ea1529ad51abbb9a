// What the observers of a run share, and capture: what tensors hold at chosen moments.
#include "ExecuteObserver.h"

#include <algorithm>
#include <cstring>

namespace glia::execute {

Numbers::Numbers(nisa::KernelOp kernel) {
  auto add = [&](mlir::Value v) {
    tensorOf[v] = static_cast<uint32_t>(tensors.size());
    tensors.push_back(v);
  };
  for (auto t : kernel.getBody().getOps<nisa::TensorOp>())
    add(t.getTensor());
  kernel.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (auto alloc = llvm::dyn_cast<nisa::AllocOp>(op))
      add(alloc.getTensor());
    else if (auto reg = llvm::dyn_cast<nisa::RegisterOp>(op))
      registers.push_back(reg.getReg());
    else if (auto loop = llvm::dyn_cast<nisa::LoopOp>(op))
      registers.push_back(loop.iterator());
    else if (nisa::Instr(op))
      instructionOf.try_emplace(op, static_cast<uint32_t>(instructionOf.size()));
  });
}

Owners::Owners(nisa::KernelOp kernel, const Memory &m, const Numbers &n) : memory(m), numbers(n) {
  auto add = [&](mlir::Value tensor, int core) { owners.push_back({m.place(tensor, core), n.tensorOf.lookup(tensor)}); };
  for (auto t : kernel.getBody().getOps<nisa::TensorOp>())
    for (int core = 0; core < static_cast<int>(t.getIsPrivate() ? kernel.cores() : 1); ++core)
      add(t.getTensor(), core);
  for (auto core : kernel.getBody().getOps<nisa::CoreOp>())
    core.walk([&](nisa::AllocOp op) { add(op.getTensor(), static_cast<int>(core.getNumber())); });
}

Owners::Owner Owners::of(const Bound &x, int slot, int core) const {
  const Owner own{memory.place(x.instr.tensor(slot), core), numbers.tensorOf.lookup(x.instr.tensor(slot))};
  if (x.instr.def().unit != Unit::Exchange)
    return own;
  const std::byte *at = x.operands[static_cast<size_t>(slot)].region.base;
  for (const Owner &o : owners)
    if (o.place.base <= at && at < o.place.base + (o.place.partitions - 1) * o.place.pitch + o.place.bytes)
      return o;
  return own;
}

int64_t sizeOf(const Place &p) { return p.partitions * p.bytes; }

void copyBytes(const Place &p, std::byte *to) {
  for (int32_t row = 0; row < p.partitions; ++row)
    std::memcpy(to + row * p.bytes, p.base + row * p.pitch, static_cast<size_t>(p.bytes));
}

std::vector<std::byte> bytesOf(const Place &p) {
  std::vector<std::byte> out(static_cast<size_t>(sizeOf(p)));
  copyBytes(p, out.data());
  return out;
}

void forEachRun(const Region &r, const std::function<void(std::byte *, int64_t)> &f) {
  const int64_t size = sizeOf(r.dtype);
  const bool joined = r.rank > 0 && r.strides[r.rank - 1] == size;
  const int64_t run = joined ? r.counts[r.rank - 1] : 1;
  for (int32_t p = 0; p < r.partitions; ++p)
    for (int64_t e = 0; e < r.elements; e += run) {
      int64_t at = 0, k = e;
      for (int d = r.rank - 1; d >= 0; --d) {
        at += k % r.counts[d] * r.strides[d];
        k /= r.counts[d];
      }
      f(r.row(p) + at, run * size);
    }
}

namespace {

class CaptureObserver : public Observer {
public:
  CaptureObserver(const Memory &m, const Numbers &n, Observations &out, Copy copy)
      : memory(m), numbers(n), out(out), copy(std::move(copy)) {
    for (size_t k = 0; k < out.captures.size(); ++k)
      wanted[out.captures[k].instruction].push_back(static_cast<uint32_t>(k));
  }

  void before(const Bound &, const Moment &m) override { take(m, true); }
  void after(const Bound &, const Moment &m) override { take(m, false); }

private:
  void take(const Moment &m, bool before) {
    const auto it = wanted.find(m.instruction);
    if (it == wanted.end())
      return;
    for (uint32_t k : it->second) {
      if (out.captures[k].before != before)
        continue;
      const Place &p = memory.place(numbers.tensors[out.captures[k].tensor], m.core);
      const auto size = static_cast<size_t>(sizeOf(p));
      std::byte *to = room(size);
      copy(p, to);
      out.captured.push_back({k, m, {to, size}, chunk});
    }
  }

  // Many tensors share a piece of memory: pages of their own would take longer to get than to fill.
  std::byte *room(size_t bytes) {
    const size_t aligned = (bytes + 63) / 64 * 64;
    if (!chunk || taken + aligned > chunk->bytes()) {
      next = std::min(2 * next, kLargest);
      chunk = std::make_shared<sim::Pages>(std::max(next, aligned), std::max(next, aligned) >= kLargest);
      taken = 0;
    }
    taken += aligned;
    return chunk->data() + (taken - aligned);
  }

  const Memory &memory;
  const Numbers &numbers;
  Observations &out;
  const Copy copy;
  static constexpr size_t kLargest = 4 << 20;
  std::shared_ptr<sim::Pages> chunk;
  size_t taken = 0, next = 32 << 10;
  llvm::DenseMap<uint32_t, llvm::SmallVector<uint32_t, 1>> wanted; // by instruction
};

} // namespace

std::unique_ptr<Observer> captureObserver(const Memory &m, const Numbers &n, Observations &out, Copy copy) {
  return std::make_unique<CaptureObserver>(m, n, out, std::move(copy));
}

} // namespace glia::execute
