// Lowering: costs by opcode and shape (each evaluated once), rectangles for the dependency check.
#include "TimingCosts.h"
#include "glia/ISA/Control.h"

#include "glia/Program/Encoding.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <array>
#include <span>

namespace glia::timing {

namespace {

class Lowering {
public:
  Lowering(const Program &p, Lowered &out) : p(p), t(*p.target), out(out), costs(p, out.assumedNames) {
    vectorGpsimd = t.has("vector_gpsimd_concurrent");
    vectorScalar = t.has("vector_scalar_psum_concurrent");
    for (const InstrDef *def : p.opcodes)
      layouts.push_back(layoutOf(*def));
    for (const Allocation &a : p.allocations)
      spaces.push_back(a.space);
    extents.resize(p.patterns.size());
    for (size_t i = 0; i < p.patterns.size(); ++i)
      extents[i] = extentOf(p.patterns[i]);
  }

  void run() {
    out.streams.resize(p.cores * kNumEngines);
    out.queues.assign(out.streams.size(), std::vector<uint8_t>(p.queues.size()));
    out.semaphores.resize(p.semaphores.size());
    for (uint32_t c = 0; c < p.cores; ++c)
      for (int e = 0; e < kNumEngines; ++e)
        stream(static_cast<int>(c), static_cast<Engine>(e));
  }

private:
  struct Extent {
    int64_t lo = 0, hi = 0;
  }; // bytes from the first element
  const Program &p;
  const Target &t;
  Lowered &out;
  Costs costs;
  std::vector<Extent> extents; // by pattern
  std::vector<Space> spaces;   // by allocation
  bool vectorGpsimd = false, vectorScalar = false;
  struct Known {
    uint64_t hash;
    uint32_t first, size, cost;
  };
  std::vector<Known> table = std::vector<Known>(1024);
  std::vector<uint32_t> pool, key, mask; // all keys; the one at hand, and which words are part of it
  Footprint f;                           // of the instruction at hand
  Decoded d;

  static Extent extentOf(const Pattern &x) {
    int64_t lo = 0, hi = 0;
    for (int i = 0; i < x.rank; ++i)
      (x.dims[i].stride < 0 ? lo : hi) += int64_t{x.dims[i].stride} * (x.dims[i].count - 1);
    return {lo * sizeOf(x.dtype), (hi + 1) * sizeOf(x.dtype)};
  }

  struct Source { // a stream, without asking each time where its arrays lie
    std::span<const Instr> instrs;
    std::span<const uint32_t> words;
    const SyncOp *syncs;
    uint8_t *queues; // see Lowered
    int32_t number;
  };

  void stream(int core, Engine e) {
    const Stream &from = p.stream(core, e);
    const int number = core * kNumEngines + static_cast<int>(e);
    const Source s{from.instrs.span(), from.words.span(), from.syncs.data(), out.queues[number].data(), number};
    std::vector<Op> &ops = out.streams[number];
    ops.reserve(s.instrs.size());
    for (uint32_t i = 0; i < s.instrs.size(); ++i)
      ops.push_back(one(core, e, i, s));
  }

  // What the walk over an instruction's words needs of its slots; the definitions themselves are too wide to read a million times.
  enum class Step : uint8_t { Tensor, Pair, List, Queue, Word, Skip };
  struct StepOf {
    Step step;
    SlotKind kind;
  };
  struct Layout {
    int packedWords = 0;
    Kind kind = Kind::Compute;
    std::vector<StepOf> steps;
  };
  std::vector<Layout> layouts;

  static Layout layoutOf(const InstrDef &def) {
    Layout l;
    int packed = 0;
    l.kind = kindOf(def);
    for (const Slot &slot : def.slots) {
      Step step = Step::Word;
      switch (slot.kind) {
      case SlotKind::Enum:
      case SlotKind::Flag:
      case SlotKind::Small: ++packed; continue;
      case SlotKind::In:
      case SlotKind::Out:
      case SlotKind::InOut:
      case SlotKind::OptIn:
      case SlotKind::OptOut:
      case SlotKind::Scalar:
      case SlotKind::OptScalar: step = Step::Tensor; break;
      case SlotKind::RegOrInt: step = Step::Pair; break;
      case SlotKind::Ints: step = Step::List; break;
      case SlotKind::Queue: step = Step::Queue; break;
      case SlotKind::Float:
      case SlotKind::Int: break;
      case SlotKind::RegOut:
      case SlotKind::RegIn:
      case SlotKind::Text: // no cost formula sees it, and names of loops are all different
      case SlotKind::Label: step = Step::Skip; break;
      }
      l.steps.push_back({step, slot.kind});
    }
    l.packedWords = (packed + 3) / 4;
    return l;
  }

  // Most instructions cost what followed the one before the last times. Whether one does is seen from its words, compared under a
  // mask with those of the first of that cost: no key is built and looked up for them.
  struct Operand {
    uint32_t at; // in the words
    SlotKind kind;
    Space space;
  };
  static constexpr uint32_t kLanes = 4;
  struct Form {
    uint32_t head = 0, first = 0, words = 0; // in `formWords`: kLanes words, their mask, and so on
    uint32_t firstOperand = 0, operands = 0; // in `formOperands`: those on chip
    uint32_t queueAt = 0;
    Kind kind = Kind::Compute;
  };
  std::vector<Form> forms; // by cost
  std::vector<uint32_t> formWords;
  std::vector<Operand> formOperands;
  std::vector<std::array<uint32_t, 2>> following; // by cost: the costs of what came next
  uint32_t previous = 0;                          // cost

  static uint32_t headOf(const Instr &in, Engine e) { return in.opcode | static_cast<uint32_t>(e) << 16; }

  static constexpr uint32_t kOnChip =
      0x80000000u; // in the second word of a tensor operand: an allocation, not a tensor of HBM
  Space spaceOf(const uint32_t *tensor) const { return tensor[1] & kOnChip ? spaces[tensor[1] & ~kOnChip] : Space::Hbm; }

  bool matches(const Form &form, const Instr &in, Engine e, const Source &s) const {
    if (form.head != headOf(in, e) || in.words + size_t{form.words} > s.words.size())
      return false;
    const uint32_t *w = s.words.data() + in.words, *f = formWords.data() + form.first;
    uint32_t lanes[kLanes] = {};
    for (const uint32_t *end = w + form.words; w != end; w += kLanes, f += 2 * kLanes)
      for (uint32_t j = 0; j < kLanes; ++j)
        lanes[j] |= (w[j] ^ f[j]) & f[kLanes + j];
    uint32_t difference = lanes[0] | lanes[1] | lanes[2] | lanes[3];
    if (difference)
      return false;
    w = s.words.data() + in.words;
    for (uint32_t i = 0; i < form.operands; ++i) {
      const Operand &o = formOperands[form.firstOperand + i];
      difference |= static_cast<uint32_t>(spaces[w[o.at + 1] & ~kOnChip]) ^ static_cast<uint32_t>(o.space);
    }
    return difference == 0;
  }

  // Reads an instruction: its key (everything the cost may depend on, no addresses), and its form behind the known ones.
  Form read(const Layout &layout, const Instr &in, Engine e, const Source &s) {
    const uint32_t *const begin = s.words.data() + in.words, *w = begin;
    Form form;
    form.head = headOf(in, e);
    form.kind = layout.kind;
    form.first = static_cast<uint32_t>(formWords.size());
    form.firstOperand = static_cast<uint32_t>(formOperands.size());
    key.assign(1, form.head);
    mask.clear();
    auto matters = [&](uint32_t n) {
      key.insert(key.end(), w, w + n);
      mask.insert(mask.end(), n, ~0u);
      w += n;
    };
    auto skip = [&](uint32_t n) {
      mask.insert(mask.end(), n, 0);
      w += n;
    };
    matters(static_cast<uint32_t>(layout.packedWords));
    for (const StepOf &x : layout.steps)
      switch (x.step) {
      case Step::Tensor:
        if (w[0] == kAbsentWord) {
          matters(1);
        } else if (w[0] == kImmediateWord) {
          matters(2);
        } else {
          const Space space = spaceOf(w);
          if (space != Space::Hbm)
            formOperands.push_back({static_cast<uint32_t>(w - begin), x.kind, space});
          matters(1);
          key.push_back(static_cast<uint32_t>(space));
          mask.push_back(kOnChip);
          ++w;
          skip(2);
        }
        break;
      case Step::Pair: skip(2); break;
      case Step::List: matters(*w + 1); break;
      case Step::Queue:
        form.queueAt = static_cast<uint32_t>(w - begin);
        skip(1);
        break;
      case Step::Word: matters(1); break;
      case Step::Skip: skip(1); break;
      }
    mask.resize((mask.size() + kLanes - 1) / kLanes * kLanes);
    form.words = static_cast<uint32_t>(mask.size());
    form.operands = static_cast<uint32_t>(formOperands.size()) - form.firstOperand;
    for (uint32_t i = 0; i < form.words; ++i) {
      if (i && i % kLanes == 0)
        formWords.insert(formWords.end(), mask.begin() + i - kLanes, mask.begin() + i);
      formWords.push_back(begin + i < w ? begin[i] : 0);
    }
    formWords.insert(formWords.end(), mask.end() - (form.words ? kLanes : 0), mask.end());
    return form;
  }

  // One instruction: its cost, and what replaying it needs. Most are matched and need little else; what the others need is kept out
  // of the way, so that the compiler keeps this in registers.
  Op one(int core, Engine e, uint32_t index, const Source &s) {
    const Instr &in = s.instrs[index];
    Op op;
    op.sync = in.sync;
    op.numWaits = in.numWaits;
    op.numUpdates = in.numUpdates;
    if (forms.empty())
      op.cost = look(core, e, index, s);
    else if (const uint32_t likely = following[previous][0]; matches(forms[likely], in, e, s))
      op.cost = likely;
    else if (const uint32_t other = following[previous][1]; matches(forms[other], in, e, s))
      op.cost = other;
    else
      op.cost = look(core, e, index, s);
    previous = op.cost;
    op.kind = forms[op.cost].kind;
    op.shares = op.kind >= Kind::Dma;
    if (op.kind == Kind::Dma) {
      op.extra = s.words[in.words + forms[op.cost].queueAt];
      s.queues[op.extra] = 1;
    } else if (op.kind != Kind::Compute) {
      control(core, e, index, op);
    } else if (e != Engine::Tensor || out.costs[op.cost].tile) { // Tensor reads SBUF and writes PSUM: no chains
      boxes(e, s.words.data() + in.words, op);
    }
    semaphores(s, op);
    return op;
  }

  void semaphores(const Source &s, const Op &op) {
    const SyncOp *x = s.syncs + op.sync;
    for (const SyncOp *end = x + op.numWaits; x != end; ++x) {
      if (SemaphoreUse &use = out.semaphores[x->semaphore]; use.waiter != s.number)
        use.waiter = SemaphoreUse::join(use.waiter, s.number);
    }
    const int32_t by = op.kind == Kind::Dma        ? SemaphoreUse::kTransfers
                       : op.kind == Kind::Exchange ? SemaphoreUse::kExchange
                                                   : s.number;
    for (const SyncOp *end = x + op.numUpdates; x != end; ++x) {
      SemaphoreUse &use = out.semaphores[x->semaphore];
      if (use.updater != by)
        use.updater = SemaphoreUse::join(use.updater, by);
      if (x->kind != SyncKind::Add || x->value <= 0)
        use.onlyAdds = false;
    }
  }

  // The cost of an instruction that did not match.
  [[gnu::noinline]] uint32_t look(int core, Engine e, uint32_t index, const Source &s) {
    const Instr &in = s.instrs[index];
    const Form form = read(layouts[in.opcode], in, e, s);
    const uint32_t c = cost(core, e, index);
    if (c == forms.size()) {
      forms.push_back(form);
      following.push_back({});
    } else { // known already
      formWords.resize(form.first);
      formOperands.resize(form.firstOperand);
    }
    following[previous] = {c, following[previous][0]};
    return c;
  }

  [[gnu::noinline]] void boxes(Engine e, const uint32_t *w, Op &op) {
    const Form &form = forms[op.cost];
    f.numWritten = f.numRead = 0;
    f.ports = 0;
    for (uint32_t i = 0; i < form.operands; ++i) {
      const Operand &o = formOperands[form.firstOperand + i];
      addBox(o.kind, w + o.at, o.space, e);
    }
    if (!f.numWritten && !f.numRead && !f.ports)
      return;
    op.extra = static_cast<uint32_t>(out.footprints.size() + 1);
    op.shares |= f.ports != 0;
    out.footprints.push_back(f);
  }

  [[gnu::noinline]] void control(int core, Engine e, uint32_t index, Op &op) {
    decode(p, core, e, index, d);
    if (op.kind <= Kind::Branch) {
      op.extra = static_cast<uint32_t>(out.registerOps.size());
      out.registerOps.push_back({d.def, index, d.values});
    } else {
      const int slot = d.def->slot(op.kind == Kind::Exchange ? "pipe" : "name");
      op.extra = slot < 0 ? 0 : static_cast<uint32_t>(d.values[slot].integer);
    }
  }

  static Kind kindOf(const InstrDef &def) {
    switch (def.unit) {
    case Unit::Dma: return Kind::Dma;
    case Unit::Exchange: return Kind::Exchange;
    case Unit::Barrier: return Kind::Barrier;
    case Unit::Control:
      return isWhile(def) ? Kind::While : beginsLoop(def) ? Kind::Loop : endsLoop(def) ? Kind::EndLoop : Kind::Branch;
    case Unit::Register: {
      bool tensor = false, result = false;
      for (const Slot &s : def.slots)
        tensor |= isTensorSlot(s.kind), result |= s.kind == SlotKind::RegOut;
      return result && tensor ? Kind::Load : Kind::Register;
    }
    case Unit::Compute: break;
    }
    return Kind::Compute;
  }

  void addBox(SlotKind kind, const uint32_t *w, Space space, Engine e) {
    const Allocation &a = p.allocations[w[1] & ~kOnChip];
    const Pattern &pattern = p.patterns[w[0]];
    const Extent &x = extents[w[0]];
    const int64_t start = a.byteOffset + static_cast<int32_t>(w[2]);
    const int64_t first = std::clamp<int64_t>(a.partition + static_cast<int32_t>(w[3]), 0, 255);
    Box b;
    b.lo = static_cast<int32_t>(std::clamp<int64_t>(start + x.lo, INT32_MIN, INT32_MAX));
    b.hi = static_cast<int32_t>(std::clamp<int64_t>(start + x.hi, INT32_MIN, INT32_MAX));
    b.firstPartition = static_cast<uint8_t>(first);
    b.lastPartition = static_cast<uint8_t>(std::min<int64_t>(first + pattern.partitions - 1, 255));
    b.space = space;
    if (pattern.numDynamic)
      b.pattern = w[0];
    f.ports |= portsOf(b, e);
    if (isWritten(kind) && f.numWritten < 2)
      f.written[f.numWritten++] = b;
    if (kind != SlotKind::Out && kind != SlotKind::OptOut && f.numRead < kMaxSources)
      f.read[f.numRead++] = b;
  }

  // Bit 0: SBUF, where Vector and GpSimd take turns. Bit 1: PSUM, where Vector and Scalar take turns. Bits 2 to 15: PSUM banks,
  // where Vector and Scalar take turns only if they meet in one bank.
  uint16_t portsOf(const Box &b, Engine e) const {
    if (b.space == Space::Sbuf)
      return !vectorGpsimd && (e == Engine::Vector || e == Engine::GpSimd) ? 1 : 0;
    if (e != Engine::Vector && e != Engine::Scalar)
      return 0;
    if (!vectorScalar)
      return 2;
    if (b.pattern != UINT32_MAX)
      return 0; // which bank is known only to the registers: taken as free of conflict
    uint16_t mask = 0;
    const int64_t bank = std::max<int64_t>(t.psumBankBytes, 1);
    for (int64_t k = std::max<int64_t>(b.lo, 0) / bank; k <= std::max<int64_t>(b.hi - 1, 0) / bank && k < 14; ++k)
      mask |= static_cast<uint16_t>(4u << k);
    return mask;
  }

  // Finds the key among those seen before: open addressing over a pool of all keys.
  uint32_t cost(int core, Engine e, uint32_t index) {
    uint64_t hash = key.size();
    for (uint32_t x : key)
      hash = (hash ^ x) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    for (size_t at = hash & (table.size() - 1);; at = (at + 1) & (table.size() - 1)) {
      Known &k = table[at];
      if (k.size == 0) {
        k = {hash, static_cast<uint32_t>(pool.size()), static_cast<uint32_t>(key.size()),
             static_cast<uint32_t>(out.costs.size())};
        pool.insert(pool.end(), key.begin(), key.end());
        decode(p, core, e, index, d);
        out.costs.push_back(costs.of(d));
        const uint32_t fresh = k.cost;
        if (2 * out.costs.size() > table.size())
          rehash();
        return fresh;
      }
      if (k.hash == hash && k.size == key.size() && std::equal(key.begin(), key.end(), pool.begin() + k.first))
        return k.cost;
    }
  }

  void rehash() {
    std::vector<Known> old(2 * table.size());
    old.swap(table);
    for (const Known &k : old)
      if (k.size) {
        size_t at = k.hash & (table.size() - 1);
        while (table[at].size)
          at = (at + 1) & (table.size() - 1);
        table[at] = k;
      }
  }
};

} // namespace

Lowered lower(const Program &p) {
  Lowered out;
  Lowering(p, out).run();
  return out;
}

} // namespace glia::timing
