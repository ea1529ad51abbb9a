// One instruction of the sequential executor: its semantics, and where a matmul accumulates.
#include "ExecuteRun.h"
#include "glia/ISA/Collective.h"
#include "glia/ISA/Transfer.h"

#include <cstring>
#include <utility>

namespace glia::execute {

void Run::perform(CoreState &c, Bound &x) {
  const InstrDef &def = x.instr.def();
  if (!def.execute)
    return;
  const bool matmul = def.flow == Flow::Matmul && !def.accumulateFlag.empty();
  if (matmul && x.operands[def.slot(def.accumulateFlag)].integer && !transposes(x))
    return accumulate(c, x);
  if (matmul)
    x.operands[def.slot(def.accumulateFlag)].integer = 0; // a transpose overwrites
  noteWrites(x, c.number);
  if (!isCollective(def))
    return submit(c, x);
  settle();
  execute(exec, c, x);
  // The only rank gets what it gives, but for a permutation that gives it nothing.
  if (x.operands[static_cast<size_t>(def.slot("groups"))].list.empty())
    zeroElements(x.operands[static_cast<size_t>(def.slot("dst"))].region);
}

bool Run::transposes(const Bound &x) const {
  const int slot = x.instr.def().slot("transpose");
  return slot >= 0 && x.operands[slot].integer && target->has("exact_transpose");
}

void Run::execute(Exec &on, CoreState &c, Bound &x, int flag, int32_t value) {
  const InstrDef &def = x.instr.def();
  EngineState &state = c.engines[static_cast<int>(x.engine)];
  on.def = &def;
  on.engine = x.engine;
  on.core = c.number;
  on.state = &state;
  for (size_t k = 0; k < def.slots.size(); ++k)
    if (const SlotKind kind = def.slots[k].kind; kind == SlotKind::RegIn || kind == SlotKind::RegOut)
      state.regs[x.operands[k].integer] = c.registers.lookup(x.instr.reg(static_cast<int>(k)));
  int32_t unused = 0;
  int32_t &flagged = flag < 0 ? unused : x.operands[static_cast<size_t>(flag)].integer;
  struct Lend { // also when the semantics trap
    std::vector<Exec::Operand> &a, &b;
    int32_t &flagged, before;
    Lend(std::vector<Exec::Operand> &a, std::vector<Exec::Operand> &b, int32_t &flagged, int32_t value)
        : a(a), b(b), flagged(flagged), before(std::exchange(flagged, value)) {
      a.swap(b);
    }
    ~Lend() {
      a.swap(b);
      flagged = before;
    }
  };
  {
    Lend lend(on.operands, x.operands, flagged, value);
    def.execute(on);
  }
  for (size_t k = 0; k < def.slots.size(); ++k)
    if (def.slots[k].kind == SlotKind::RegOut)
      c.registers[x.instr.reg(static_cast<int>(k))] = state.regs[x.operands[k].integer];
}

Run::Spot Run::spotOf(const Bound &x, int slot, int core) {
  const mlir::Value tensor = x.instr.tensor(slot);
  const Place &p = memory.place(tensor, core);
  const Region &r = x.operands[slot].region;
  auto [it, fresh] = psum.try_emplace(tensor);
  if (fresh)
    it->second = nisa::PsumState(p.partitions, p.bytes);
  return {&it->second, r.firstPartition - p.firstPartition, r.start - p.start};
}

void Run::noteWrites(const Bound &x, int core) {
  const InstrDef &def = x.instr.def();
  for (size_t k = 0; k < def.slots.size(); ++k) {
    const int slot = static_cast<int>(k);
    if (!x.instr.writes(slot) || x.operands[k].region.space != Space::Psum)
      continue;
    const Spot at = spotOf(x, slot, core);
    const nisa::Touched t = nisa::touchedBy(x.patterns[k], at.partition, at.byte);
    if (def.flow == Flow::Matmul && !transposes(x))
      at.state->set(t, nisa::Held::Sum);
    else if (def.name == "memset" && x.operands[1].number == 0 && x.operands[2].integer == 0)
      at.state->set(t, nisa::Held::Zero);
    else
      at.state->change(t, [&](nisa::Box &b) {
        b.held = nisa::afterWrite(b.held, x.engine == Engine::Tensor ? nisa::Writer::TensorEngine : nisa::Writer::Other);
        b.memset = -1;
      });
  }
}

// Both ways, then each element from the one that is meant for it.
template <class RunAs> static void mixed(const Region &dst, int32_t shift, const nisa::Adds &adds, RunAs &&runAs) {
  const int size = sizeOf(dst.dtype);
  auto each = [&](auto &&f) { // f(host address, index)
    for (int p = 0; p < dst.partitions; ++p)
      for (int64_t e = 0; e < dst.elements; ++e) {
        int64_t at = 0, k = e;
        for (int d = dst.rank - 1; d >= 0; --d) {
          at += k % dst.counts[d] * dst.strides[d];
          k /= dst.counts[d];
        }
        f(dst.row(p) + at, p, e);
      }
  };
  std::vector<std::byte> before(static_cast<size_t>(dst.partitions * dst.elements * size)), over(before.size());
  auto slot = [&](std::vector<std::byte> &v, int p, int64_t e) { return v.data() + (p * dst.elements + e) * size; };
  each([&](std::byte *a, int p, int64_t e) { std::memcpy(slot(before, p, e), a, size); });
  runAs(false);
  each([&](std::byte *a, int p, int64_t e) { std::memcpy(slot(over, p, e), a, size); });
  each([&](std::byte *a, int p, int64_t e) { std::memcpy(a, slot(before, p, e), size); });
  runAs(true);
  each([&](std::byte *a, int p, int64_t e) {
    const int32_t lane = dst.firstPartition + p - shift;
    for (const nisa::Adds::Band &b : adds.bands)
      if (b.first <= lane && lane < b.first + b.count && b.elements[e] == static_cast<uint8_t>(nisa::Adding::Overwrites))
        std::memcpy(a, slot(over, p, e), size);
  });
}

// A matmul that accumulates where its author says so (1) or where a matmul has been before (auto).
void Run::accumulate(CoreState &c, Bound &x) {
  const int flag = x.instr.def().slot(x.instr.def().accumulateFlag);
  const int32_t wanted = x.operands[flag].integer;
  const Spot at = spotOf(x, 0, c.number);
  const nisa::Adds adds =
      nisa::planAdds(*at.state, x.patterns[0], at.partition, at.byte, wanted == nisa::kAccumulateAuto, anyWriter);
  if (!adds.allowed)
    stopAt(x.instr.operation(), "PSUM-ACCUMULATE",
           format("it accumulates onto elements of `%s` that %s", nisa::labelOf(x.instr.tensor(0)).str().c_str(),
                  adds.adding == nisa::Adding::OntoNothing ? "were never written"
                                                           : "another engine wrote, which this target cannot add to"));
  noteWrites(x, c.number);
  if (adds.uniform)
    return submit(c, x, flag, adds.adding == nisa::Adding::Accumulates);
  settle();
  mixed(x.operands[0].region, x.operands[0].region.firstPartition - at.partition, adds,
        [&](bool add) { execute(exec, c, x, flag, add); });
}

} // namespace glia::execute
