// Addresses, races, definedness, ownership: what the walk does with the operands of one instruction.
#include "Walk.h"
#include "glia/ISA/Accumulator.h"
#include "glia/ISA/Transfer.h"

#include <algorithm>

namespace glia::flow {

// ---- addresses ----------------------------------------------------------------------------------------------

Place Walk::resolve(const EngineWalk &e, const Decoded &d, int slot) {
  const Access &a = d.values[slot].access;
  Place p;
  p.slot = slot;
  p.pattern = &program.patterns[a.pattern];
  p.object = a.object;
  p.space = program.space(a.object);
  p.core = e.core;
  int64_t base = a.byteOffset, objectLo = 0, objectHi = 0;
  int partition = 0, objectFirst = 0, objectLast = 0;
  if (a.object.kind == ObjectKind::Allocation) {
    const Allocation &x = program.allocations[a.object.index];
    base += x.byteOffset;
    objectLo = x.byteOffset;
    objectHi = x.byteOffset + x.bytesPerPartition();
    partition = x.partition + a.partition;
    objectFirst = x.partition;
    objectLast = static_cast<int>(x.partition + x.partitions());
    p.partitions = p.pattern->partitions;
  } else {
    objectHi = program.tensors[a.object.index].bytes();
  }
  p.start = RegisterValue::constant(base);
  p.partition = RegisterValue::constant(partition);
  for (int i = 0; i < p.pattern->numDynamic; ++i) {
    const DynamicTerm &t = p.pattern->dynamic[i];
    const RegisterValue &r = e.regs[t.reg];
    if (r.undefined)
      fail("UNDEFINED-ADDRESS", who(d), slot, format("the address of `%s` uses register r%d, which holds an undefined value",
                                                     program.objectName(a.object).c_str(), t.reg));
    RegisterValue &to = t.partition ? p.partition : p.start;
    to = add(to, scaled(r, t.scale));
  }

  const ByteRun ext = extent(*p.pattern);
  p.fixed = p.start.isConstant() && p.partition.isConstant();
  if (p.pattern->numDynamic) {
    const bool bytesInside = p.start.lo + ext.lo >= objectLo && p.start.hi + ext.hi <= objectHi;
    const bool partitionsInside = !p.partitions || (p.partition.lo >= objectFirst && p.partition.hi + p.partitions <= objectLast);
    const std::string range = format("bytes %lld to %lld", (long long)(p.start.lo + ext.lo), (long long)(p.start.hi + ext.hi));
    if (bytesInside && partitionsInside) {
      verdict(d, slot, Proof::Proved, "inside the object for every value of the register");
    } else if (d.def->unit == Unit::Dma) {
      verdict(d, slot, Proof::MayTrap, range + " of an object of " + std::to_string(objectHi - objectLo));
      if (options.requireProved)
        fail("DYNAMIC-UNPROVED", who(d), slot, format("the register-addressed access to `%s` can cover %s of %lld and may trap",
                                                      program.objectName(a.object).c_str(), range.c_str(), (long long)(objectHi - objectLo)),
             range, format("0 to %lld", (long long)(objectHi - objectLo)));
    } else {
      fail("OPERAND-BOUNDS", who(d), slot,
           partitionsInside ? format("`%s` is addressed at %s, and the object holds %lld to %lld", program.objectName(a.object).c_str(),
                                     range.c_str(), (long long)objectLo, (long long)objectHi)
                            : format("`%s` is addressed at partitions %lld to %lld, and the object holds %d to %d",
                                     program.objectName(a.object).c_str(), (long long)p.partition.lo,
                                     (long long)(p.partition.hi + p.partitions), objectFirst, objectLast),
           range, format("%lld to %lld", (long long)objectLo, (long long)objectHi));
    }
    if (p.partitions && d.def->unit != Unit::Dma) {
      const int64_t step = p.partitions > 64 ? 128 : p.partitions > 32 ? 64 : 32;
      const bool aligned = p.partition.isConstant() ? p.partition.lo % step == 0
                                                    : p.partition.modulus % step == 0 && p.partition.residue % step == 0;
      if (!aligned)
        fail("PARTITION-START", who(d), slot,
             format("`%s` starts at a partition that a register gives (%lld to %lld, %lld modulo %lld), and an operand of %d partitions starts at a multiple of %lld",
                    program.objectName(a.object).c_str(), (long long)p.partition.lo, (long long)p.partition.hi,
                    (long long)p.partition.residue, (long long)p.partition.modulus, p.partitions, (long long)step));
    }
  }
  if (a.object.kind == ObjectKind::Tensor && program.tensors[a.object.index].kind != TensorKind::Output &&
      program.tensors[a.object.index].kind != TensorKind::Scratch) {
    p.runs.assign(1, {p.start.lo + ext.lo, p.start.hi + ext.hi});   // nobody writes it: the hull will do
  } else if (p.fixed) {
    p.fixed = footprint(*p.pattern, p.start.lo, p.runs);
    p.firstPartition = static_cast<int>(p.partition.lo);
    p.lastPartition = p.firstPartition + p.partitions;
  } else {
    p.runs.assign(1, {std::max(objectLo, p.start.lo + ext.lo), std::min(objectHi, p.start.hi + ext.hi)});
    p.firstPartition = static_cast<int>(std::max<int64_t>(objectFirst, p.partition.lo));
    p.lastPartition = static_cast<int>(std::min<int64_t>(objectLast, p.partition.hi + p.partitions));
  }
  // What lies outside traps or was reported; what is left is what can be touched.
  for (ByteRun &r : p.runs) {
    r.lo = std::max(r.lo, objectLo);
    r.hi = std::min(r.hi, objectHi);
  }
  std::erase_if(p.runs, [](const ByteRun &r) { return r.lo >= r.hi; });
  return p;
}

std::vector<Place> Walk::resolveAll(const EngineWalk &e, const Decoded &d) {
  std::vector<Place> places;
  for (size_t i = 0; i < d.values.size(); ++i)
    if (d.values[i].kind == Value::Tensor)
      places.push_back(resolve(e, d, static_cast<int>(i)));
  return places;
}

void Walk::verdict(const Decoded &d, int slot, Proof proof, std::string why) {
  auto [it, fresh] = verdicts.emplace(std::make_tuple(who(d), slot), result.dynamicAccesses.size());
  if (fresh)
    result.dynamicAccesses.push_back({d.core, d.engine, d.index, slot, proof, std::move(why)});
  else if (DynamicAccess &known = result.dynamicAccesses[it->second]; proof > known.proof)
    known.proof = proof, known.why = std::move(why);
}

ByteMap *Walk::mapOf(const Place &p, int quadrant) {
  if (p.space == Space::Hbm) {
    auto &maps = hbm[p.object.index];
    return &maps[maps.size() == 1 ? 0 : p.core];
  }
  return &chip[p.core][p.space == Space::Psum][quadrant];
}

// f(map, lo, hi, mask) for every rectangle of the place.
template <class F> void Walk::forEachRect(const Place &p, F &&f) {
  if (p.space == Space::Hbm) {
    ByteMap *map = mapOf(p, 0);
    for (const ByteRun &r : p.runs)
      f(*map, r.lo, r.hi, 1u);
    return;
  }
  for (int q = p.firstPartition / 32; q * 32 < p.lastPartition && q < 4; ++q) {
    const int first = std::max(p.firstPartition - q * 32, 0), last = std::min(p.lastPartition - q * 32, 32);
    const uint32_t mask = static_cast<uint32_t>(((uint64_t{1} << (last - first)) - 1) << first);
    ByteMap *map = mapOf(p, q);
    for (const ByteRun &r : p.runs)
      f(*map, r.lo, r.hi, mask);
  }
}

// ---- reads and writes ---------------------------------------------------------------------------------------

void Walk::race(const Place &p, const Issuer &by, const Touch &other, const char *mine, const char *theirs) {
  const InstrRef o = ref(other.who);
  fail("RACE", by.who, p.slot,
       format("it %s `%s` while another instruction may still be %s it", mine, program.objectName(p.object).c_str(), theirs), {}, {},
       {"the other: " + reporter.describe(o), "nothing orders the two: they can happen in either order",
        format("to see the other order: glia run --strict --hold core%d.%s#%u", o.core, std::string(name(o.engine)).c_str(), o.index)});
}

static bool ordered(const Touch &t, uint32_t comp, uint32_t seq, const EngineWalk *e, const Knowledge *k) {
  return t.comp == e->comp || (t.comp == comp && t.seq == seq) || k->knows(t.comp, t.seq);
}

std::optional<Content> Walk::inputContent(const Place &p) const {
  const Tensor &t = program.tensors[p.object.index];
  if (p.space == Space::Hbm && t.kind == TensorKind::Input && t.hasRange)
    return Content{t.rangeLo, t.rangeHi, t.uniqueRows};
  if (p.space == Space::Hbm && t.kind == TensorKind::Input && t.uniqueRows && isInteger(t.dtype) && sizeOf(t.dtype) <= 4)
    return Content{info(t.dtype).isSigned ? INT32_MIN : 0, info(t.dtype).isSigned ? INT32_MAX : int64_t{UINT32_MAX}, true};
  if (p.space == Space::Hbm && t.kind == TensorKind::Constant && isInteger(t.dtype) && sizeOf(t.dtype) <= 4) {
    Content c{INT64_MAX, INT64_MIN, false};
    std::set<int64_t> seen;
    const int size = sizeOf(t.dtype);
    for (size_t i = 0; i + size <= t.data.size(); i += size) {
      int64_t v = 0;
      for (int k = size - 1; k >= 0; --k)
        v = v << 8 | static_cast<int64_t>(t.data[i + k]);
      if (info(t.dtype).isSigned && v >> (8 * size - 1))
        v -= int64_t{1} << (8 * size);
      if (p.fixed && p.pattern->elements() == 1 && static_cast<int64_t>(i) == p.start.lo)
        return Content{v, v, false};
      c.lo = std::min(c.lo, v);
      c.hi = std::max(c.hi, v);
      seen.insert(v);
    }
    c.distinct = seen.size() == static_cast<size_t>(t.elements());
    return c;
  }
  return std::nullopt;
}

uint32_t Walk::keepContent(const std::optional<Content> &c) {
  if (!c)
    return 0;
  contents.push_back(*c);
  return static_cast<uint32_t>(contents.size() - 1);
}

bool Walk::read(const Place &p, const Issuer &by, uint32_t *content) {
  if (p.space == Space::Hbm) {
    const TensorKind kind = program.tensors[p.object.index].kind;
    if (kind == TensorKind::Input || kind == TensorKind::Constant)
      return false;
  }
  const int32_t owner = p.space == Space::Hbm ? -1 : static_cast<int32_t>(p.object.index);
  const Touch me{by.comp, by.seq, by.who};
  bool undefined = false, first = true;
  uint32_t common = 0;
  forEachRect(p, [&](ByteMap &map, int64_t lo, int64_t hi, uint32_t mask) {
    map.visit(lo, hi, mask, [&](Cell &c) {
      if (c.written && !ordered(c.write, by.comp, by.seq, by.engine, by.knows))
        race(p, by, c.write, "reads", "writing");
      for (const Touch &t : c.olderWrites)
        if (!ordered(t, by.comp, by.seq, by.engine, by.knows))
          race(p, by, t, "reads", "writing");
      undefined |= !c.defined || (p.space != Space::Hbm && c.owner != owner);
      common = first || common == c.content ? c.content : 0;
      first = false;
      keepLatest(c.reads, me);
    });
  });
  if (content)
    *content = common;
  return undefined;
}

void Walk::write(EngineWalk &e, const Place &p, const Issuer &by, bool defined, bool maybe, bool matmul, uint32_t content) {
  const bool output = p.space == Space::Hbm && program.tensors[p.object.index].kind == TensorKind::Output;
  if (output && !defined)
    fail("UNDEFINED-OUTPUT", by.who, p.slot, format("undefined bytes reach output `%s`", program.objectName(p.object).c_str()));
  Cell value;
  value.owner = p.space == Space::Hbm ? -1 : static_cast<int32_t>(p.object.index);
  value.written = true;
  value.defined = defined;
  value.matmul = matmul;
  value.content = maybe ? 0 : content;
  value.write = {by.comp, by.seq, by.who};

  // A write in a loop that may run less often than it is walked is undone, as far as definedness goes, when it is left.
  LoopRun *undo = nullptr;
  for (LoopFrame &f : e.loops)
    if (f.run->summarised && !undo && f.run->count.lo < f.run->walked && f.iteration >= std::max<int64_t>(f.run->count.lo, 0))
      undo = f.run.get();

  forEachRect(p, [&](ByteMap &map, int64_t lo, int64_t hi, uint32_t mask) {
    bool allKept = true, allMatmul = true;
    map.visit(lo, hi, mask, [&](Cell &c) {
      if (c.written && !ordered(c.write, by.comp, by.seq, by.engine, by.knows))
        race(p, by, c.write, "writes", "writing");
      for (const Touch &t : c.olderWrites)
        if (!ordered(t, by.comp, by.seq, by.engine, by.knows))
          race(p, by, t, "writes", "writing");
      for (const Touch &t : c.reads)
        if (!ordered(t, by.comp, by.seq, by.engine, by.knows))
          race(p, by, t, "writes", "reading");
      const bool keep = c.defined && c.owner == value.owner;
      allKept &= keep;
      allMatmul &= c.matmul;
      if (!maybe && !undo)
        return;
      if (undo) {                              // if the loop does not run, the accesses before it are the last ones
        if (c.written)
          keepLatest(c.olderWrites, c.write);
      } else {
        c.reads.clear();
        c.olderWrites.clear();
      }
      c.defined = defined && (keep || !maybe);
      c.matmul = matmul && (c.matmul || !maybe);
      c.content = value.content;
      c.owner = value.owner;
      c.written = true;
      c.write = value.write;
    });
    if (!maybe && !undo)
      map.assign(lo, hi, mask, value);
    if (undo)
      undo->writes.push_back({&map, lo, hi, mask, !allKept, !allMatmul});
  });
}

// ---- one instruction ----------------------------------------------------------------------------------------

// Indices of gathers and scatters: where they can point, whether they can coincide.
void Walk::checkIndexed(EngineWalk &e, const Decoded &d, std::vector<Place> &places, const Issuer &by, bool &undefined) {
  auto placeOf = [&](std::string_view slotName) -> Place * {
    const int s = d.def->slot(slotName);
    for (Place &p : places)
      if (p.slot == s)
        return &p;
    return nullptr;
  };
  for (Place &indexPlace : places) {
    const std::string_view indexName = d.def->slots[indexPlace.slot].name;
    if (!indexName.ends_with("_index"))
      continue;
    Place *index = &indexPlace, *data = placeOf(indexName.substr(0, indexName.size() - 6));
    if (!index || !data)
      continue;
    uint32_t content = 0;
    const bool unknown = !generic(e) && read(*index, by, &content);
    if (unknown)
      fail("UNDEFINED-ADDRESS", by.who, index->slot, format("undefined values of `%s` are used as indices", program.objectName(index->object).c_str()));
    undefined |= unknown;
    if (!generic(e))
      logAccess(e, *index, by, false);
    const Content *known = content ? &contents[content] : nullptr;
    const int strideSlot = d.def->slot("index_stride"), oobSlot = d.def->slot("oob");
    const int64_t size = sizeOf(data->pattern->dtype);
    const bool skip = oobSlot >= 0 && d.def->slots[oobSlot].names->names[d.values[oobSlot].integer] == "skip";
    const IndexedRows rows = indexedRows(*data->pattern, index->pattern->elements(), strideSlot >= 0 ? d.values[strideSlot].integer : 0);
    const int64_t stride = rows.stride * size;
    const ByteRun row{rows.low * size, rows.high * size};
    const int64_t bytes = program.tensors[data->object.index].bytes();
    int64_t lo = 0, hi = bytes;
    if (known && data->start.isConstant()) {
      lo = data->start.lo + std::min(known->lo * stride, known->hi * stride) + row.lo;
      hi = data->start.lo + std::max(known->lo * stride, known->hi * stride) + row.hi;
    }
    const bool inside = known && data->start.isConstant() && lo >= 0 && hi <= bytes;
    if (inside)
      verdict(d, data->slot, Proof::Proved, format("indices are in %lld to %lld", (long long)known->lo, (long long)known->hi));
    else if (skip)
      verdict(d, data->slot, Proof::Skips, "rows out of range are skipped");
    else
      verdict(d, data->slot, Proof::MayTrap, known ? format("indices are in %lld to %lld, outside the tensor", (long long)known->lo, (long long)known->hi)
                                                   : "nothing is known of the indices");
    if (!inside && !skip && options.requireProved)
      fail("DYNAMIC-UNPROVED", by.who, data->slot,
           format("the rows of `%s` that the indices of `%s` select are not proved to be inside it", program.objectName(data->object).c_str(),
                  program.objectName(index->object).c_str()));
    const bool apart = known && known->distinct && std::abs(stride) >= row.hi - row.lo;
    if (isWritten(d.def->slots[data->slot].kind) && !apart && !generic(e))
      fail("SCATTER-UNIQUE", by.who, index->slot, format("the indices of `%s` are not proved to be distinct, so rows of `%s` may be written twice in any order",
                                                         program.objectName(index->object).c_str(), program.objectName(data->object).c_str()));
    data->fixed = false;
    data->runs.assign(1, {std::max<int64_t>(lo, 0), std::min(hi, bytes)});
    if (data->runs[0].lo >= data->runs[0].hi)
      data->runs.clear();
  }
}

// Gathers inside a memory trap on an index outside the data: what is known of the indices decides the verdict.
void Walk::checkGather(const EngineWalk &e, const Decoded &d, const std::vector<Place> &places) {
  const int indexSlot = std::max(d.def->slot("index"), d.def->slot("indices"));
  if (indexSlot < 0)
    return;
  const int dataSlot = std::max(d.def->slot("src"), d.def->slot("data")), runSlot = d.def->slot("num_elem_per_idx");
  const int64_t run = runSlot >= 0 ? d.values[runSlot].integer : 1;
  for (const Place &p : places) {
    if (p.slot != indexSlot)
      continue;
    uint32_t content = 0;
    bool first = true;
    if (!generic(e))
      forEachRect(p, [&](ByteMap &map, int64_t lo, int64_t hi, uint32_t mask) {
        map.visit(lo, hi, mask, [&](Cell &c) {
          content = first || content == c.content ? c.content : 0;
          first = false;
        });
      });
    const int64_t elements = program.patterns[d.values[dataSlot].access.pattern].elementsPerPartition();
    const bool inside = content && contents[content].lo >= 0 && contents[content].hi + run <= elements;
    verdict(d, dataSlot, inside ? Proof::Proved : Proof::MayTrap,
            content ? format("indices are in %lld to %lld", (long long)contents[content].lo, (long long)contents[content].hi)
                    : "nothing is known of the indices");
    if (!inside && options.requireProved)
      fail("DYNAMIC-UNPROVED", who(d), dataSlot, format("the indices in `%s` are not proved to be below %lld", program.objectName(p.object).c_str(),
                                                        (long long)(elements - run + 1)));
  }
}

// Operands of one instruction whose addresses registers move against each other; the static rules see to the others.
void Walk::checkOverlap(const Decoded &d, const std::vector<Place> &places) {
  for (const Place &w : places) {
    if (!isWritten(d.def->slots[w.slot].kind))
      continue;
    for (const Place &o : places) {
      const bool otherWritten = isWritten(d.def->slots[o.slot].kind);
      const Pattern &x = *w.pattern, &y = *o.pattern;
      if (o.slot == w.slot || (otherWritten && o.slot < w.slot) || w.space != o.space || (w.space == Space::Hbm && w.object != o.object) ||
          (x.numDynamic == y.numDynamic && std::equal(x.dynamic.begin(), x.dynamic.begin() + x.numDynamic, y.dynamic.begin())))
        continue;
      if (w.space != Space::Hbm && (w.lastPartition <= o.firstPartition || o.lastPartition <= w.firstPartition))
        continue;
      const bool same = w.fixed && o.fixed && w.start.lo == o.start.lo && w.partition.lo == o.partition.lo && x.dtype == y.dtype &&
                        x.partitions == y.partitions && x.rank == y.rank && std::equal(x.dims.begin(), x.dims.begin() + x.rank, y.dims.begin());
      if (same && !otherWritten)
        continue;
      bool overlap = same;
      for (size_t i = 0, k = 0; i < w.runs.size() && k < o.runs.size() && !overlap; w.runs[i].hi < o.runs[k].hi ? ++i : ++k)
        overlap = w.runs[i].lo < o.runs[k].hi && o.runs[k].lo < w.runs[i].hi;
      if (overlap)
        fail("OPERAND-OVERLAP", who(d), w.slot, format("registers can move `%s` (%s) and `%s` (%s) onto each other without making them the same view",
                                                       program.objectName(w.object).c_str(), std::string(d.def->slots[w.slot].name).c_str(),
                                                       program.objectName(o.object).c_str(), std::string(d.def->slots[o.slot].name).c_str()));
    }
  }
}

void Walk::serialise(EngineWalk &e, const Decoded &d, bool sbuf, bool psum) {
  auto check = [&](Engine other, uint32_t EngineWalk::*last, uint32_t EngineWalk::*lastWho, const char *memory) {
    const EngineWalk &o = engines[e.core * kNumEngines + static_cast<int>(other)];
    if (o.*last && !e.knows.knows(o.comp, o.*last))
      fail("ENGINE-SERIAL", who(d), -1, format("it uses %s while an instruction of the %s engine may use it too; this target does not allow both at once", memory,
                                               std::string(name(other)).c_str()),
           {}, {}, {"the other: " + reporter.describe(ref(o.*lastWho))});
  };
  if (sbuf && serialSbuf) {
    if (e.engine == Engine::Vector)
      check(Engine::GpSimd, &EngineWalk::lastSbuf, &EngineWalk::lastSbufWho, "SBUF");
    if (e.engine == Engine::GpSimd)
      check(Engine::Vector, &EngineWalk::lastSbuf, &EngineWalk::lastSbufWho, "SBUF");
  }
  if (psum && serialPsum) {
    if (e.engine == Engine::Vector)
      check(Engine::Scalar, &EngineWalk::lastPsum, &EngineWalk::lastPsumWho, "PSUM");
    if (e.engine == Engine::Scalar)
      check(Engine::Vector, &EngineWalk::lastPsum, &EngineWalk::lastPsumWho, "PSUM");
  }
  if (sbuf)
    e.lastSbuf = e.seq, e.lastSbufWho = who(d);
  if (psum)
    e.lastPsum = e.seq, e.lastPsumWho = who(d);
}

void Walk::logAccess(EngineWalk &e, const Place &p, const Issuer &by, bool write) {
  for (LoopFrame &f : e.loops) {
    if (!f.run->summarised || (f.iteration != 1 && f.iteration != f.run->walked - 1))
      continue;
    LoopAccess &a = f.run->accesses[{by.who, p.slot, by.comp}];
    a.map = mapOf(p, 0);
    a.object = p.object;
    a.comp = by.comp;
    a.who = by.who;
    a.slot = p.slot;
    a.write |= write;
    const Motion bytes = p.start.motion[f.run->depth], partitions = p.partition.motion[f.run->depth];
    const bool fresh = !a.earlySeq && !a.lateKnowledge.base;
    if (!fresh && (bytes != a.byteMotion || partitions != a.partitionMotion))
      a.byteMotion.kind = a.partitionMotion.kind = Motion::Unknown;
    else
      a.byteMotion = bytes, a.partitionMotion = partitions;
    if (f.iteration == 1)
      a.earlySeq = by.seq;
    if (f.iteration == f.run->walked - 1 && !p.runs.empty()) {
      a.lo = a.lateKnowledge.base ? std::min(a.lo, p.runs.front().lo) : p.runs.front().lo;
      a.hi = a.lateKnowledge.base ? std::max(a.hi, p.runs.back().hi) : p.runs.back().hi;
      if (!a.lateKnowledge.base)
        a.lateKnowledge = snapshot(e);
    }
  }
}

// Accumulators of an engine carry what went into them. Returns whether the lanes of this instruction are defined afterwards.
static bool accumulateLanes(EngineWalk &e, const Decoded &d, const std::vector<Place> &places, bool defined) {
  const int data = d.def->slot("data");
  const auto cmd = static_cast<ReduceCmd>(d.values[d.def->slot("reduce_cmd")].integer);
  bool all = true;
  for (const Place &p : places)
    if (p.slot == data)
      for (int lane = std::max(p.firstPartition, 0); lane < std::min(p.lastPartition, kLanes); ++lane) {
        const bool before = e.accumulator[lane], after = accumulatorDefined(cmd, e.engine, before, defined, defined);
        const bool unsure = e.maybeUntil || !p.fixed;        // this lane may also be left as it was
        e.accumulator[lane] = unsure ? before && after : after;
        all &= e.accumulator[lane];
      }
  return all;
}

// A shuffle whose mask keeps no partition replaces all of its destination and needs nothing of it.
static bool replacesAll(const Decoded &d) {
  if (d.def->flow != Flow::Shuffle)
    return false;
  const std::span<const uint32_t> mask = d.values[d.def->slot("mask")].list;
  return std::find(mask.begin(), mask.end(), 255u) == mask.end();
}

void Walk::touchAll(EngineWalk &e, const Decoded &d, std::vector<Place> &places, const Issuer &by) {
  bool undefined = false, sbuf = false, psum = false;
  const bool dma = d.def->unit == Unit::Dma;
  checkOverlap(d, places);
  if (dma)
    checkIndexed(e, d, places, by, undefined);
  else
    checkGather(e, d, places);
  if (generic(e))
    return;                                     // addresses are checked; the bytes were, in the walked iterations

  const bool accumulates = !d.def->accumulateFlag.empty() && d.values[d.def->slot(d.def->accumulateFlag)].integer;
  std::optional<Content> source;
  bool firstSource = true;
  for (const Place &p : places) {
    const SlotKind kind = d.def->slots[p.slot].kind;
    sbuf |= p.space == Space::Sbuf;
    psum |= p.space == Space::Psum;
    const bool reads = !isWritten(kind) || (kind == SlotKind::InOut && !replacesAll(d));
    if (!reads || d.def->slots[p.slot].name.ends_with("_index"))
      continue;
    uint32_t content = 0;
    undefined |= read(p, by, &content);
    logAccess(e, p, by, false);
    if (firstSource && kind == SlotKind::In) {
      source = p.space == Space::Hbm ? inputContent(p) : content ? std::optional(contents[content]) : std::nullopt;
      firstSource = false;
    }
  }
  if (!dma)
    serialise(e, d, sbuf, psum);

  const bool resultUndefined = d.def->accumulator ? !accumulateLanes(e, d, places, !undefined) : undefined;

  uint32_t content = 0;
  for (const Place &p : places) {
    const Slot &slot = d.def->slots[p.slot];
    if (!isWritten(slot.kind))
      continue;
    bool bad = slot.name == "reduce_res" ? resultUndefined : undefined;
    if (accumulates && p.slot == 0) {
      bool notMatmul = false;
      const bool any = anyWriter;
      forEachRect(p, [&](ByteMap &map, int64_t lo, int64_t hi, uint32_t mask) {
        map.visit(lo, hi, mask, [&](Cell &c) { notMatmul |= any ? !c.defined : !(c.written && c.matmul && c.owner == static_cast<int32_t>(p.object.index)); });
      });
      if (notMatmul && d.def->flow == Flow::Matmul)       // a computing transfer adds to anything that is defined
        fail("PSUM-ACCUMULATE", by.who, p.slot, format("it accumulates onto bytes of `%s` that %s", program.objectName(p.object).c_str(),
                                                       any ? "were never written" : "no matmul of this allocation wrote last"));
      bad |= read(p, by, nullptr);
    }
    if (!content && slot.name == "dst" && !bad) {
      const std::optional<Content> c = contentOf(program, d, source);
      content = keepContent(c);
    }
    const bool maybe = e.maybeUntil || !p.fixed;
    write(e, p, by, !bad, maybe, e.engine == Engine::Tensor && d.def->unit == Unit::Compute, slot.name == "dst" ? content : 0);
    logAccess(e, p, by, true);
  }
}

} // namespace glia::flow
