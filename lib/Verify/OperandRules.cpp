// The rules that every tensor operand obeys, whatever the instruction: bounds, partition starts, fields of the access
// pattern, reach of the engine, types, read-only tensors, and operands of one instruction that overlap.
#include "StaticParts.h"
#include "glia/Target/TypeFeatures.h"

#include <algorithm>

namespace glia {

namespace {

std::string text(int64_t v) { return std::to_string(v); }

// What an engine reaches, one bit per memory. DMA reaches SBUF and HBM.
constexpr uint8_t kSbuf = 1 << static_cast<int>(Space::Sbuf), kPsum = 1 << static_cast<int>(Space::Psum);
struct Reach {
  uint8_t reads, writes;
};
constexpr Reach kEngineReach[kNumEngines] = {
    {kSbuf, kPsum},                 // Tensor
    {kSbuf | kPsum, kSbuf | kPsum}, // Vector
    {kSbuf | kPsum, kSbuf | kPsum}, // Scalar
    {kSbuf, kSbuf},                 // GpSimd
    {0, 0},                         // Sync
};

bool isMove(Unit u) { return u == Unit::Dma || u == Unit::Exchange; }
bool isIndexSlot(const Slot &s) { return s.name.ends_with("_index"); }

// Rows of this operand are chosen by an index tensor: the slot `dst_index` belongs to the slot `dst`.
bool isIndexed(const Decoded &d, int slot) {
  const std::string_view of = d.def->slots[slot].name;
  for (size_t i = 0; i < d.values.size(); ++i)
    if (d.values[i].kind == Value::Tensor && isIndexSlot(d.def->slots[i]) &&
        d.def->slots[i].name.substr(0, d.def->slots[i].name.size() - 6) == of)
      return true;
  return false;
}

// The same bytes of partitions from the same one on. A shuffle reads a quadrant before it writes it, so its source may be the
// first partitions of its destination: that is how one partition is spread over a tile. Its own rules ask for one type and as many
// elements.
bool sameRows(const OperandInfo &a, const OperandInfo &b) {
  const Pattern &x = *a.pattern, &y = *b.pattern;
  return a.partition == b.partition && a.byteOffset == b.byteOffset &&
         std::equal(x.dims.begin(), x.dims.begin() + x.rank, y.dims.begin());
}

// A result may lie exactly on a source only where each partition (shuffles: each quadrant) is read before it is written.
bool worksInPlace(const InstrDef &d) {
  if (d.unit == Unit::Exchange)
    return false;
  switch (d.flow) {
  case Flow::Transpose:
  case Flow::Matmul:
  case Flow::All: return false;
  default: return true;
  }
}

} // namespace

bool engineReaches(Engine e, Space s, bool writes) {
  const Reach &reach = kEngineReach[static_cast<int>(e)];
  return (writes ? reach.writes : reach.reads) >> static_cast<int>(s) & 1;
}

int partitionStep(int partitions) { return partitions > 64 ? 128 : partitions > 32 ? 64 : 32; }

OperandRules::OperandRules(const Program &p, Reporter &r) : p(p), target(*p.target), r(r), patterns(patternFacts(p)) {
  for (const Tensor &t : p.tensors)
    tensors.push_back({Space::Hbm, t.bytes(), 0, 0, 0, t.kind == TensorKind::Input || t.kind == TensorKind::Constant});
  for (const Allocation &a : p.allocations)
    allocations.push_back({a.space, a.bytesPerPartition(), a.byteOffset, a.partition, a.partitions(), false});
  maxCount = target.integer("memory.max_dim_count");
  maxStride = target.integer("memory.max_dim_stride");
  maxFree[0] = target.integer("memory.max_free_elements_sbuf");
  maxFree[1] = target.integer("memory.max_free_elements_psum");
  maxDmaDims = target.integer("dma.max_dims");
  typeThere.fill(true);
  for (const TypeFeature &n : kTypeFeatures) {
    typeThere[static_cast<int>(n.type)] = target.has(n.feature);
    typeFeature[static_cast<int>(n.type)] = n.feature;
  }
}

const std::vector<OperandInfo> &OperandRules::place(const Decoded &d) {
  if (infos.size() < d.values.size())
    infos.resize(d.values.size());
  for (size_t i = 0; i < d.values.size(); ++i) {
    const Value &v = d.values[i];
    OperandInfo &o = infos[i];
    const SlotKind k = d.def->slots[i].kind;
    o.present = v.kind == Value::Tensor || (v.kind == Value::Float && (k == SlotKind::Scalar || k == SlotKind::OptScalar));
    o.immediate = v.kind == Value::Float;
    o.number = v.number;
    o.pattern = nullptr;
    if (v.kind != Value::Tensor)
      continue;
    const ObjectFacts &x = object(v.access.object);
    o.space = x.space;
    o.pattern = &p.patterns[v.access.pattern];
    o.partition = static_cast<int32_t>(std::clamp<int64_t>(x.partition + v.access.partition, INT32_MIN, INT32_MAX));
    o.byteOffset = clampFar(static_cast<__int128>(x.byteOffset) + v.access.byteOffset);
    o.object = v.access.object;
    o.objectName = p.objectName(v.access.object);
    o.objectBytes = x.bytes;
    o.objectPartitions = static_cast<int32_t>(x.partitions);
  }
  return infos;
}

bool OperandRules::check(const Decoded &d) {
  int written = 0, tensorOperands = 0;
  bool plainMove = isMove(d.def->unit);
  const Pattern *first = nullptr;
  for (size_t i = 0; i < d.values.size(); ++i) {
    if (d.values[i].kind != Value::Tensor)
      continue;
    ++tensorOperands;
    written += isWritten(d.def->slots[i].kind);
    if (isIndexSlot(d.def->slots[i]))
      continue;
    if (first && infos[i].pattern->dtype != first->dtype)
      plainMove = false;
    first = infos[i].pattern;
  }
  bool reached = true;
  for (size_t i = 0; i < d.values.size(); ++i)
    if (d.values[i].kind == Value::Tensor) {
      reached = checkOne(d, static_cast<int>(i)) && reached;
      checkType(d, static_cast<int>(i), plainMove);
    }
  if (written && tensorOperands > 1)
    checkPairs(d);
  return reached;
}

bool OperandRules::checkOne(const Decoded &d, int slot) {
  const Access &a = d.values[slot].access;
  const OperandInfo &o = infos[slot];
  const PatternFacts &f = patterns[a.pattern];
  const bool writes = isWritten(d.def->slots[slot].kind);

  const bool reached = checkReach(d, slot);
  checkBounds(d, slot);
  if (d.def->unit == Unit::Compute && o.onChip())
    checkEngineOperand(d, slot);
  if (isMove(d.def->unit)) {
    const int dims = f.dims + (o.onChip() && o.partitions() > 1);
    if (dims > maxDmaDims)
      r.fail("DMA-DIMS", d, slot,
             format("%s has %d dimensions of more than one element, a transfer has at most %lld", r.operand(d, slot).c_str(),
                    dims, (long long)maxDmaDims),
             text(dims), text(maxDmaDims));
  }

  const int size = sizeOf(o.dtype());
  if (o.byteOffset % size || !f.aligned)
    r.fail("OPERAND-ALIGN", d, slot,
           format("%s starts at byte %lld%s; %s elements lie at multiples of %d bytes", r.operand(d, slot).c_str(),
                  (long long)o.byteOffset, f.aligned ? "" : " plus a register times a step that is no whole element",
                  std::string(name(o.dtype())).c_str(), size),
           text(o.byteOffset), "a multiple of " + text(size));
  if (!writes)
    return reached;
  if (object(a.object).readOnly)
    r.fail("READ-ONLY", d, slot,
           format("%s is an %s and is written", r.operand(d, slot).c_str(),
                  p.tensors[a.object.index].kind == TensorKind::Input ? "input" : "unchangeable constant"));
  if (!f.distinct && !isIndexed(d, slot))
    r.fail("WRITE-ONCE", d, slot, format("%s writes an element more than once", r.operand(d, slot).c_str()));
  return reached;
}

void OperandRules::checkBounds(const Decoded &d, int slot) {
  const Access &a = d.values[slot].access;
  const Pattern &x = *infos[slot].pattern;
  const PatternFacts &f = patterns[a.pattern];
  const ObjectFacts &o = object(a.object);
  if (infos[slot].onChip() && !f.movesPartition && (a.partition < 0 || int64_t{a.partition} + x.partitions > o.partitions))
    r.fail("OPERAND-BOUNDS", d, slot,
           format("%s takes partitions %d to %lld of an allocation with %lld", r.operand(d, slot).c_str(), a.partition,
                  (long long)a.partition + x.partitions - 1, (long long)o.partitions),
           text(int64_t{a.partition} + x.partitions), text(o.partitions));
  if (isIndexed(d, slot) ||
      std::any_of(x.dynamic.begin(), x.dynamic.begin() + x.numDynamic, [](const DynamicTerm &t) { return !t.partition; }))
    return; // where it starts in the object is not known here
  const __int128 lo = static_cast<__int128>(a.byteOffset) + f.lo, hi = static_cast<__int128>(a.byteOffset) + f.hi;
  if (lo < 0 || hi > o.bytes)
    r.fail("OPERAND-BOUNDS", d, slot,
           format("%s takes bytes %lld to %lld of %lld", r.operand(d, slot).c_str(), (long long)clampFar(lo),
                  (long long)clampFar(hi - 1), (long long)o.bytes),
           text(clampFar(lo < 0 ? lo : hi)), text(o.bytes));
}

void OperandRules::checkEngineOperand(const Decoded &d, int slot) {
  const OperandInfo &o = infos[slot];
  const PatternFacts &f = patterns[d.values[slot].access.pattern];
  const int step = partitionStep(o.partitions());
  if (!f.movesPartition && o.partition % step)
    r.fail("PARTITION-START", d, slot,
           format("%s starts at partition %d; %d partitions start at a multiple of %d", r.operand(d, slot).c_str(),
                  o.partition, o.partitions(), step),
           text(o.partition), "a multiple of " + text(step));
  if (f.maxCount > maxCount)
    r.fail("PATTERN-FIELDS", d, slot,
           format("%s has a dimension of %u elements, the field holds at most %lld", r.operand(d, slot).c_str(), f.maxCount,
                  (long long)maxCount),
           text(f.maxCount), text(maxCount));
  const int64_t stride = f.maxStride > maxStride ? f.maxStride : f.minStride < -maxStride - 1 ? f.minStride : 0;
  if (stride)
    r.fail("PATTERN-FIELDS", d, slot,
           format("%s has a stride of %lld elements, the field holds at most %lld", r.operand(d, slot).c_str(),
                  (long long)stride, (long long)maxStride),
           text(stride), text(maxStride));
  const int64_t free = maxFree[o.space == Space::Psum];
  if (f.elements > free)
    r.fail("FREE-SIZE", d, slot,
           format("%s has %lld elements in each partition, an operand in %s has at most %lld", r.operand(d, slot).c_str(),
                  (long long)f.elements, std::string(name(o.space)).c_str(), (long long)free),
           text(f.elements), text(free));
  if (f.minStride < 0 && !(d.engine == Engine::Tensor && !isWritten(d.def->slots[slot].kind)))
    r.fail("NEGATIVE-STRIDE", d, slot,
           format("%s has a stride of %lld elements", r.operand(d, slot).c_str(), (long long)f.minStride), text(f.minStride),
           "0 or more");
}

bool OperandRules::checkReach(const Decoded &d, int slot) {
  const Unit u = d.def->unit;
  if (u != Unit::Compute && !isMove(u))
    return true;
  const bool writes = isWritten(d.def->slots[slot].kind);
  const Space s = infos[slot].space;
  if (isMove(u) ? s != Space::Psum : engineReaches(d.engine, s, writes))
    return true;
  const std::string who = isMove(u) ? "DMA" : "the " + std::string(name(d.engine)) + " engine";
  r.fail("ENGINE-REACH", d, slot,
         format("%s is in %s, which %s cannot %s", r.operand(d, slot).c_str(), std::string(name(s)).c_str(), who.c_str(),
                writes ? "write" : "read"),
         std::string(name(s)));
  return false;
}

// Bytes of any type can be moved; computing on a type, converting included, takes hardware for it.
void OperandRules::checkType(const Decoded &d, int slot, bool plainMove) {
  const int t = static_cast<int>(infos[slot].dtype());
  if (!typeThere[t] && !plainMove)
    r.fail("DTYPE-TARGET", d, slot,
           format("%s is %s, which %s does not compute on (feature %s)", r.operand(d, slot).c_str(),
                  std::string(name(infos[slot].dtype())).c_str(), target.name.c_str(), std::string(typeFeature[t]).c_str()),
           std::string(name(infos[slot].dtype())));
}

void OperandRules::checkPairs(const Decoded &d) {
  const int n = static_cast<int>(d.values.size());
  for (int i = 0; i < n; ++i) {
    if (d.values[i].kind != Value::Tensor || !isWritten(d.def->slots[i].kind))
      continue;
    for (int j = 0; j < n; ++j)
      if (j != i && d.values[j].kind == Value::Tensor && !(j < i && isWritten(d.def->slots[j].kind)))
        checkPair(d, i, j);
  }
}

void OperandRules::checkPair(const Decoded &d, int written, int other) {
  const OperandInfo &a = infos[written], &b = infos[other];
  if (a.space != b.space || (!a.onChip() && !(a.object == b.object)))
    return;
  const Pattern &x = *a.pattern, &y = *b.pattern;
  // Addresses that registers move apart are compared by the flow analysis.
  if (x.numDynamic != y.numDynamic || !std::equal(x.dynamic.begin(), x.dynamic.begin() + x.numDynamic, y.dynamic.begin()))
    return;
  if (a.onChip() &&
      (a.partition + int64_t{x.partitions} <= b.partition || b.partition + int64_t{y.partitions} <= a.partition))
    return;
  const Access &ax = d.values[written].access, &by = d.values[other].access;
  const bool same = a.partition == b.partition && a.byteOffset == b.byteOffset && (ax.pattern == by.pattern || x == y);
  if ((same || (d.def->flow == Flow::Shuffle && sameRows(a, b))) && worksInPlace(*d.def) &&
      !isWritten(d.def->slots[other].kind))
    return;
  if (!same && !mayOverlap(x, patterns[ax.pattern], a.byteOffset, y, patterns[by.pattern], b.byteOffset))
    return;
  r.fail("OPERAND-OVERLAP", d, written,
         format("%s and %s %s", r.operand(d, written).c_str(), r.operand(d, other).c_str(),
                same ? "are the same bytes, and this instruction does not work in place"
                     : "overlap without being the same view"));
}

} // namespace glia
