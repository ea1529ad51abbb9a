// Finds the instruction that made a NaN which an output holds. Each tensor remembers which instruction made the NaN that was last
// written into it; a NaN computed from one of these has the same maker.
#include "ExecuteObserver.h"
#include "glia/Numerics/Convert.h"

#include <cmath>

namespace glia::execute {
namespace {

std::byte *findNaN(const Region &r) {
  if (!isFloat(r.dtype))
    return nullptr;
  std::byte *found = nullptr;
  const int64_t size = sizeOf(r.dtype);
  forEachRun(r, [&](std::byte *at, int64_t bytes) {
    for (int64_t b = 0; !found && b < bytes; b += size)
      if (std::isnan(toF32(r.dtype, at + b)))
        found = at + b;
  });
  return found;
}

class NanObserver : public Observer {
public:
  NanObserver(nisa::KernelOp kernel, const Memory &m, const Numbers &n, Observations &out)
      : kernel(kernel), memory(m), owners(kernel, m, n), out(out) {}

  void before(const Bound &x, const Moment &m) override {
    inherited = -1;
    for (size_t k = 0; k < x.operands.size() && inherited < 0; ++k) {
      const int slot = static_cast<int>(k);
      if (x.instr.reads(slot) && slot != x.indexed && findNaN(x.operands[k].region))
        inherited = makerOf(owners.of(x, slot, m.core).place);
    }
  }

  void after(const Bound &x, const Moment &m) override {
    for (size_t k = 0; k < x.operands.size(); ++k) {
      const int slot = static_cast<int>(k);
      if (!x.instr.writes(slot))
        continue;
      const auto [p, tensor] = owners.of(x, slot, m.core);
      if (slot == x.indexed) { // its rows are chosen by data
        if (inherited >= 0)
          of[p.base] = inherited;
        continue;
      }
      const std::byte *at = findNaN(x.operands[k].region);
      if (!at)
        continue;
      if (inherited < 0) {
        inherited = static_cast<int>(makers.size());
        const int64_t offset = at - p.base;
        makers.push_back(
            {m, tensor, p.pitch ? static_cast<int32_t>(offset / p.pitch) : 0, p.pitch ? offset % p.pitch : offset, {}});
      }
      of[p.base] = inherited;
    }
  }

  void finished() override {
    for (auto t : kernel.getBody().getOps<nisa::TensorOp>()) {
      if (t.getKind() != "output")
        continue;
      const auto it = of.find(memory.place(t.getTensor(), 0).base);
      if (it == of.end())
        continue;
      out.nans.push_back(makers[it->second]);
      out.nans.back().output = t.getLabel().str();
    }
  }

private:
  nisa::KernelOp kernel;
  const Memory &memory;
  Owners owners;
  Observations &out;
  std::vector<NanOrigin> makers;
  llvm::DenseMap<const std::byte *, int> of; // by the start of a tensor
  int inherited = -1;                        // of the instruction that is being run

  int makerOf(const Place &p) const {
    const auto it = of.find(p.base);
    return it == of.end() ? -1 : it->second;
  }
};

} // namespace

std::unique_ptr<Observer> nanObserver(nisa::KernelOp kernel, const Memory &m, const Numbers &n, Observations &out) {
  return std::make_unique<NanObserver>(kernel, m, n, out);
}

} // namespace glia::execute
