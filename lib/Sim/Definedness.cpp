#include "Definedness.h"
#include "glia/ISA/Accumulator.h"

namespace glia::sim {

namespace {

// Calls f(firstByte) for each element of one partition, in element order; absolute bytes.
template <class F> void forEachElement(const Region &r, F &&f) {
  std::array<int64_t, kMaxDims> i{};
  int64_t at = r.start;
  for (;;) {
    f(at);
    int d = r.rank - 1;
    for (; d >= 0; --d) {
      at += r.strides[d];
      if (++i[d] < r.counts[d])
        break;
      at -= r.strides[d] * r.counts[d];
      i[d] = 0;
    }
    if (d < 0)
      return;
  }
}

} // namespace

bool isRead(const Prepared &x, int slot) {
  if (x.d.values[slot].kind != Value::Tensor)
    return false;
  const SlotKind k = x.d.def->slots[slot].kind;
  if (slot == 0 && !x.d.def->accumulateFlag.empty() && x.operands[x.d.def->slot(x.d.def->accumulateFlag)].integer)
    return true;
  return !isWritten(k) || k == SlotKind::InOut;
}

Definedness::Definedness(const Memory &m) : memories(m) {
  bits.reserve(m.memories.size());
  for (const MemoryInfo &info : m.memories)
    bits.emplace_back(info);
}

size_t Definedness::memory() const {
  size_t n = 0;
  for (const DefinedBits &b : bits)
    n += b.memory();
  return n;
}

bool Definedness::defined(const Region &r, int core, const std::vector<ByteRect> &foreign) const {
  if (!foreign.empty())
    return false;
  const DefinedBits &b = bits[memoryOf(r, core)];
  const ByteSet s = byteSet(r);
  for (int p = 0; p < r.partitions; ++p)
    if (!forEachRun(s, [&](int64_t lo, int64_t hi) { return b.all(r.firstPartition + p, lo, hi); }))
      return false;
  return true;
}

void Definedness::setAll(const Region &r, int core, bool defined) {
  DefinedBits &b = bits[memoryOf(r, core)];
  const ByteSet s = byteSet(r);
  for (int p = 0; p < r.partitions; ++p)
    forEachRun(s, [&](int64_t lo, int64_t hi) {
      b.set(r.firstPartition + p, lo, hi, defined);
      return true;
    });
}

Definedness::Flags Definedness::flagsOf(const Region &r, int core, const std::vector<ByteRect> &foreign) const {
  Flags out;
  out.reserve(r.elements * r.partitions);
  const DefinedBits &b = bits[memoryOf(r, core)];
  const int size = sizeOf(r.dtype);
  for (int p = r.firstPartition; p < r.firstPartition + r.partitions; ++p)
    forEachElement(r, [&](int64_t at) {
      bool undefined = !b.all(p, at, at + size);
      for (const ByteRect &f : foreign)
        undefined |= f.quad == p / 32 && f.mask >> p % 32 & 1 && at < f.hi && f.lo < at + size;
      out.push_back(undefined);
    });
  return out;
}

void Definedness::setFlags(const Region &r, int core, const Flags &undefined) {
  DefinedBits &b = bits[memoryOf(r, core)];
  const int size = sizeOf(r.dtype);
  size_t k = 0;
  for (int p = r.firstPartition; p < r.firstPartition + r.partitions; ++p)
    forEachElement(r, [&](int64_t at) { b.set(p, at, at + size, !undefined[k++]); });
}

void Definedness::elements(int memory, int row, int64_t lo, int64_t bytes, int size, std::vector<uint8_t> &undefined) const {
  if (bits[memory].all(row, lo, lo + bytes)) {
    undefined.insert(undefined.end(), bytes / size, 0);
    return;
  }
  for (int64_t at = lo; at < lo + bytes; at += size)
    undefined.push_back(!bits[memory].all(row, at, at + size));
}

void Definedness::store(int memory, int row, int64_t lo, int size, const uint8_t *undefined, int64_t count) {
  if (std::all_of(undefined, undefined + count, [](uint8_t u) { return u == 0; }))
    return bits[memory].set(row, lo, lo + count * size, true);
  for (int64_t k = 0; k < count; ++k)
    bits[memory].set(row, lo + k * size, lo + (k + 1) * size, !undefined[k]);
}

void Definedness::exchange(const Prepared &x, int src, int srcCore, const std::vector<ByteRect> &foreign) {
  const Region &from = x.operands[src].region, &to = x.operands[x.d.def->slot("dst")].region;
  if (defined(from, srcCore, foreign))
    return setAll(to, x.d.core, true);
  const Flags flags = flagsOf(from, srcCore, foreign);
  const FlowSource source{&from, &flags, src};
  setFlags(to, x.d.core, flowInto(x, to, {&source, 1}));
}

void Definedness::apply(const Prepared &x, const std::vector<Exec::Operand> &operands,
                        const std::vector<std::vector<ByteRect>> &foreign, EngineDefined &engine) {
  const InstrDef &def = *x.d.def;
  const int core = x.d.core;
  // Registers that are read, and whether every tensor source is whole.
  bool registers = true, whole = true;
  for (size_t i = 0; i < def.slots.size(); ++i) {
    const Value &v = x.d.values[i];
    if (v.kind == Value::Register && def.slots[i].kind != SlotKind::RegOut)
      registers &= engine.regs >> v.integer & 1;
    if (isRead(x, static_cast<int>(i)))
      whole &= defined(operands[i].region, core, foreign[i]);
  }
  std::vector<Flags> flags(whole ? 0 : def.slots.size());
  std::vector<FlowSource> sources;
  if (!whole)
    for (size_t i = 0; i < def.slots.size(); ++i)
      if (isRead(x, static_cast<int>(i))) {
        flags[i] = flagsOf(operands[i].region, core, foreign[i]);
        sources.push_back({&operands[i].region, &flags[i], static_cast<int>(i)});
      }
  const int result = def.accumulator ? def.slot("reduce_res") : -1;
  if (def.accumulator) {
    const int data = def.slot("data"), init = def.slot("reduce_init");
    const Region &lanes = operands[data].region;
    const auto cmd = static_cast<ReduceCmd>(operands[def.slot("reduce_cmd")].integer);
    auto rowDefined = [&](const FlowSource &s, int p) {
      const int64_t n = s.region->elements, row = std::min(p, s.region->partitions - 1);
      return std::all_of(s.undefined->begin() + row * n, s.undefined->begin() + (row + 1) * n,
                         [](uint8_t u) { return u == 0; });
    };
    Flags lane(lanes.partitions);
    for (int p = 0; p < lanes.partitions; ++p) {
      bool dataOk = true, initOk = true;
      for (const FlowSource &s : sources)
        (s.slot == init ? initOk : dataOk) &= rowDefined(s, p);
      bool &now = engine.accumulator[(lanes.firstPartition + p) % kLanes];
      now = accumulatorDefined(cmd, x.d.engine, now, dataOk, initOk);
      lane[p] = !now;
    }
    if (result >= 0 && x.d.values[result].kind == Value::Tensor) {
      const Region &r = operands[result].region;
      Flags out(r.partitions * r.elements);
      for (size_t k = 0; k < out.size(); ++k)
        out[k] = lane[std::min<size_t>(k / r.elements, lane.size() - 1)];
      setFlags(r, core, out);
    }
  }
  for (size_t i = 0; i < def.slots.size(); ++i) {
    const SlotKind k = def.slots[i].kind;
    if (k == SlotKind::RegOut) {
      const uint64_t bit = uint64_t{1} << x.d.values[i].integer;
      engine.regs = whole && registers ? engine.regs | bit : engine.regs & ~bit;
    }
    if (!isWritten(k) || x.d.values[i].kind != Value::Tensor || static_cast<int>(i) == result)
      continue;
    const Region &out = operands[i].region;
    if (def.unit == Unit::Register || !registers)
      setAll(out, core, whole && registers);
    else if (whole || def.flow == Flow::None)
      setAll(out, core, true);
    else
      setFlags(out, core, flowInto(x, out, sources));
  }
}

} // namespace glia::sim
