// Lowering: costs by opcode and shape (each evaluated once), rectangles for the dependency check, shares by origin.
#include "TimingModel.h"

#include "glia/Program/Encoding.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

namespace glia::timing {

Ps toPs(double ns) {
  if (!(ns >= 0) || ns > 1e12)
    throw Error("TIME-LONG", format("an instruction would take %g ns", ns), "Check the target's cost parameters.");
  return static_cast<Ps>(ns * 1000 + 0.5);
}

namespace {

class Query final : public CostQuery {
public:
  Query(const Program &p, const Decoded &d, const Target &t) : CostQuery(*d.def, t, d.engine), p(p), d(d) {}
  bool has(int slot) const override { return d.values[slot].kind == Value::Tensor; }
  const Pattern &pattern(int slot) const override { return p.patterns[d.values[slot].access.pattern]; }
  Space space(int slot) const override { return has(slot) ? p.space(d.values[slot].access.object) : Space::Sbuf; }
  int32_t integer(int slot) const override { return d.values[slot].integer; }
  float number(int slot) const override { return d.values[slot].number; }

private:
  const Program &p;
  const Decoded &d;
};

bool isTimeKey(std::string_view key) {
  for (std::string_view s : {"clock.", "cost.", "dma.", "hbm.", "fetch."})
    if (key.starts_with(s))
      return true;
  return false;
}

// Changes parameters of a private copy of the target a little and looks at what happens to a duration.
class Sensitivity {
public:
  Sensitivity(const Target &t, std::vector<std::string> &assumedNames) : target(t) {
    for (auto &[key, v] : target.values)
      if (isTimeKey(key)) {
        byOrigin[static_cast<int>(v.origin)].push_back(&v);
        if (v.origin == Origin::Assumed)
          assumedNames.push_back(key);
      }
  }

  // `measure` gives N durations for a target; the result is a share for each.
  template <int N, class F> std::array<Share, N> shares(const F &measure) {
    const std::array<double, N> base = measure(target);
    std::array<std::array<double, 3>, N> change{};
    for (int o = 0; o < 3; ++o)
      vary(byOrigin[o], [&](const std::array<double, N> &now) {
        for (int i = 0; i < N; ++i)
          change[i][o] = std::fabs(now[i] - base[i]);
      }, measure);
    std::array<Share, N> out;
    for (int i = 0; i < N; ++i) {
      const double sum = change[i][0] + change[i][1] + change[i][2];
      if (sum > 0)
        out[i] = {change[i][0] / sum, change[i][1] / sum, 0};
    }
    const std::vector<TargetValue *> &assumed = byOrigin[static_cast<int>(Origin::Assumed)];
    for (size_t k = 0; k < assumed.size(); ++k)
      vary({assumed[k]}, [&](const std::array<double, N> &now) {
        for (int i = 0; i < N; ++i)
          if (now[i] != base[i])
            out[i].assumed |= uint64_t{1} << std::min<size_t>(k, 63);
      }, measure);
    return out;
  }

private:
  Target target;
  std::array<std::vector<TargetValue *>, 3> byOrigin;

  template <class Use, class F> void vary(const std::vector<TargetValue *> &values, const Use &use, const F &measure) {
    for (TargetValue *v : values)
      v->number *= 1.0078125;
    use(measure(target));
    for (TargetValue *v : values)
      v->number /= 1.0078125;
  }
};

bool hands(Unit u) { return u == Unit::Dma || u == Unit::Exchange; }

class Lowering {
public:
  Lowering(const Program &p, Lowered &out) : p(p), t(*p.target), out(out), sensitivity(t, out.assumedNames) {
    vectorGpsimd = t.has("vector_gpsimd_concurrent");
    vectorScalar = t.has("vector_scalar_psum_concurrent");
    extents.resize(p.patterns.size());
    for (size_t i = 0; i < p.patterns.size(); ++i)
      extents[i] = extentOf(p.patterns[i]);
  }

  void run() {
    out.streams.resize(p.cores * kNumEngines);
    for (uint32_t c = 0; c < p.cores; ++c)
      for (int e = 0; e < kNumEngines; ++e)
        stream(static_cast<int>(c), static_cast<Engine>(e));
  }

private:
  struct Extent { int64_t lo = 0, hi = 0; };       // bytes from the first element
  const Program &p;
  const Target &t;
  Lowered &out;
  Sensitivity sensitivity;
  std::vector<Extent> extents;
  bool vectorGpsimd = false, vectorScalar = false;
  std::unordered_map<std::string, uint32_t> known; // key words -> cost entry
  std::string key;
  uint32_t lastKeyCost = UINT32_MAX;
  std::string lastKey;
  Decoded d;

  static Extent extentOf(const Pattern &x) {
    int64_t lo = 0, hi = 0;
    for (int i = 0; i < x.rank; ++i)
      (x.dims[i].stride < 0 ? lo : hi) += int64_t{x.dims[i].stride} * (x.dims[i].count - 1);
    return {lo * sizeOf(x.dtype), (hi + 1) * sizeOf(x.dtype)};
  }

  void stream(int core, Engine e) {
    const Stream &s = p.stream(core, e);
    std::vector<Op> &ops = out.streams[core * kNumEngines + static_cast<int>(e)];
    ops.resize(s.instrs.size());
    for (uint32_t i = 0; i < s.instrs.size(); ++i)
      ops[i] = one(core, e, i, s);
  }

  void word(uint32_t w) { key.append(reinterpret_cast<const char *>(&w), 4); }

  // One instruction: its key (everything the cost may depend on, no addresses), its cost, and what replaying it needs.
  Op one(int core, Engine e, uint32_t index, const Stream &s) {
    const Instr &in = s.instrs[index];
    const InstrDef &def = *p.opcodes[in.opcode];
    Op op;
    op.sync = in.sync;
    op.numWaits = in.numWaits;
    op.numUpdates = in.numUpdates;
    op.kind = kindOf(def);
    const bool boxes = op.kind == Kind::Compute && e != Engine::Tensor;   // Tensor reads SBUF and writes PSUM: no chains
    Footprint f;
    uint32_t queue = 0;

    key.clear();
    word(in.opcode | static_cast<uint32_t>(e) << 16);
    const uint32_t *w = s.words.data() + in.words;
    int packed = 0;
    for (const Slot &slot : def.slots)
      packed += isPackedSlot(slot.kind);
    for (int i = 0; i < (packed + 3) / 4; ++i)
      word(*w++);
    for (const Slot &slot : def.slots) {
      switch (slot.kind) {
      case SlotKind::Enum: case SlotKind::Flag: case SlotKind::Small:
        break;
      case SlotKind::In: case SlotKind::Out: case SlotKind::InOut: case SlotKind::OptIn: case SlotKind::OptOut:
      case SlotKind::Scalar: case SlotKind::OptScalar:
        word(w[0]);
        if (w[0] == kAbsentWord) {
          ++w;
        } else if (w[0] == kImmediateWord) {
          word(w[1]);
          w += 2;
        } else {
          const Space space = w[1] >> 31 ? p.allocations[w[1] & 0x7FFFFFFFu].space : Space::Hbm;
          word(static_cast<uint32_t>(space));
          if (boxes && space != Space::Hbm)
            addBox(f, slot.kind, w, space, e);
          w += 4;
        }
        break;
      case SlotKind::RegOrInt:
        w += 2;
        break;
      case SlotKind::Ints:
        for (uint32_t n = *w + 1; n > 0; --n)
          word(*w++);
        break;
      case SlotKind::Queue:
        queue = *w++;
        break;
      case SlotKind::Float: case SlotKind::Int: case SlotKind::Text:
        word(*w++);
        break;
      case SlotKind::RegOut: case SlotKind::RegIn: case SlotKind::Label:
        ++w;
        break;
      }
    }
    op.cost = cost(core, e, index);

    if (boxes && (f.numWritten || f.numRead || f.ports)) {
      op.extra = static_cast<uint32_t>(out.footprints.size() + 1);
      out.footprints.push_back(f);
    } else if (op.kind >= Kind::Register && op.kind <= Kind::Branch) {
      decode(p, core, e, index, d);
      op.extra = static_cast<uint32_t>(out.registerOps.size());
      out.registerOps.push_back({&def, index, d.values});
    } else if (op.kind == Kind::Dma) {
      op.extra = queue;
    } else if (op.kind == Kind::Exchange || op.kind == Kind::Barrier) {
      decode(p, core, e, index, d);
      const int slot = def.slot(op.kind == Kind::Exchange ? "pipe" : "name");
      op.extra = slot < 0 ? 0 : static_cast<uint32_t>(d.values[slot].integer);
    }
    op.global = op.numWaits || f.ports || op.kind >= Kind::Dma;
    return op;
  }

  static Kind kindOf(const InstrDef &def) {
    switch (def.unit) {
    case Unit::Dma: return Kind::Dma;
    case Unit::Exchange: return Kind::Exchange;
    case Unit::Barrier: return Kind::Barrier;
    case Unit::Control: return def.name == "loop" ? Kind::Loop : def.name == "end_loop" ? Kind::EndLoop : Kind::Branch;
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

  void addBox(Footprint &f, SlotKind kind, const uint32_t *w, Space space, Engine e) {
    const Allocation &a = p.allocations[w[1] & 0x7FFFFFFFu];
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
      return 0;                                    // which bank is known only to the registers: taken as free of conflict
    uint16_t mask = 0;
    const int64_t bank = std::max<int64_t>(t.psumBankBytes, 1);
    for (int64_t k = std::max<int64_t>(b.lo, 0) / bank; k <= std::max<int64_t>(b.hi - 1, 0) / bank && k < 14; ++k)
      mask |= static_cast<uint16_t>(4u << k);
    return mask;
  }

  uint32_t cost(int core, Engine e, uint32_t index) {
    if (key == lastKey)
      return lastKeyCost;
    auto [it, fresh] = known.try_emplace(key, static_cast<uint32_t>(out.costs.size()));
    if (fresh) {
      decode(p, core, e, index, d);
      out.costs.push_back(evaluate());
    }
    lastKey = key;
    return lastKeyCost = it->second;
  }

  CostEntry evaluate() {
    CostEntry c;
    if (!d.def->cost)
      throw Error("TIME-COST", format("`%s` has no cost formula", std::string(d.def->name).c_str()));
    auto costOn = [&](const Target &target) { return d.def->cost(Query(p, d, target)); };
    const Cost base = costOn(t);
    c.busy = toPs(base.busy);
    c.latency = toPs(base.latency);
    c.lead = base.lead > 0 ? std::min(toPs(base.lead), c.latency) : c.latency;
    c.work = c.latency - c.lead;
    c.setup = toPs(base.setup);
    const Flow flow = d.def->flow;
    c.streamsOut = base.lead > 0 && (flow == Flow::Elementwise || flow == Flow::Copy || flow == Flow::Scan);
    c.streamsIn = base.lead > 0 && (c.streamsOut || flow == Flow::Reduce);
    auto both = sensitivity.shares<2>([&](const Target &target) {
      const Cost x = costOn(target);
      return std::array<double, 2>{x.busy, x.latency};
    });
    c.busyShare = both[0];
    c.latencyShare = both[1];
    if (hands(d.def->unit)) {
      c.transfer = transferOf(p, d, t);
      c.transfer.share = sensitivity.shares<1>([&](const Target &target) {
        return std::array<double, 1>{static_cast<double>(transferOf(p, d, target).work)};
      })[0];
    }
    return c;
  }
};

} // namespace

Lowered lower(const Program &p) {
  Lowered out;
  Lowering(p, out).run();
  return out;
}

Param param(const Target &t, const Lowered &l, std::string_view key) {
  const TargetValue &v = t.value(key);
  Param out;
  out.time = toPs(v.number);
  out.share = {v.origin == Origin::Documented ? 1.0 : 0.0, v.origin == Origin::Derived ? 1.0 : 0.0, 0};
  if (v.origin == Origin::Assumed)
    for (size_t i = 0; i < l.assumedNames.size(); ++i)
      if (l.assumedNames[i] == key)
        out.share.assumed = uint64_t{1} << std::min<size_t>(i, 63);
  return out;
}

} // namespace glia::timing
