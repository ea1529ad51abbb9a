// Races, definedness, ownership: what the walk does with the bytes that one instruction touches.
#include "Walk.h"
#include "glia/ISA/Accumulator.h"

#include <algorithm>

namespace glia::flow {

ByteMap *Walk::mapOf(const Place &p, int quadrant) {
  if (p.space == Space::Hbm) {
    auto &maps = hbm[p.object.index];
    return &maps[maps.size() == 1 ? 0 : p.core];
  }
  return &chip[p.core][p.space == Space::Psum][quadrant];
}

// ---- reads and writes ---------------------------------------------------------------------------------------

void Walk::race(const Place &p, const Issuer &by, const Touch &other, const char *mine, const char *theirs) {
  const InstrRef o = ref(other.who);
  fail("RACE", by.who, p.slot,
       format("it %s `%s` while another instruction may still be %s it", mine, program.objectName(p.object).c_str(), theirs),
       {}, {},
       {"the other: " + reporter.describe(o), "nothing orders the two: they can happen in either order",
        format("to see the other order: glia run --strict --hold core%d.%s#%u", o.core, std::string(name(o.engine)).c_str(),
               o.index)});
}

static bool ordered(const Touch &t, uint32_t comp, uint32_t seq, const EngineWalk *e, const Knowledge *k) {
  return t.comp == e->comp || (t.comp == comp && t.seq == seq) || k->knows(t.comp, t.seq);
}

std::optional<Content> Walk::inputContent(const Place &p) const {
  const Tensor &t = program.tensors[p.object.index];
  if (p.pattern->dtype != t.dtype)
    return std::nullopt;
  if (p.space == Space::Hbm && t.kind == TensorKind::Input && t.hasRange)
    return Content{t.rangeLo, t.rangeHi, t.uniqueRows};
  if (p.space == Space::Hbm && t.kind == TensorKind::Input && t.uniqueRows && isInteger(t.dtype) && sizeOf(t.dtype) <= 4)
    return Content{info(t.dtype).isSigned ? INT32_MIN : 0, info(t.dtype).isSigned ? INT32_MAX : int64_t{UINT32_MAX}, true};
  if (p.space == Space::Hbm && t.kind == TensorKind::Constant && isInteger(t.dtype) && sizeOf(t.dtype) <= 4) {
    Content c{INT64_MAX, INT64_MIN, false};
    std::set<int64_t> seen;
    const int size = std::max(sizeOf(t.dtype), 1);
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

// A read of many runs, taken as a read of everything between the first and the last byte: false, and nothing done, if not all of that
// is defined and ordered. It asks more of later writes than the runs would, never less.
bool Walk::readHull(const Place &p, const Issuer &by, int32_t owner, uint32_t *content) {
  const Touch me{by.comp, by.seq, by.who};
  const int64_t lo = p.runs.front().lo, hi = p.runs.back().hi;
  bool good = true, first = true, mixed = false;
  uint32_t common = 0;
  forEachMap(p, [&](ByteMap &map, uint32_t mask) {
    good = good && map.all(lo, hi, mask, [&](const Cell &c) {
      const bool fits = c.defined && c.owner == owner &&
                        (!c.written || ordered(c.write, by.comp, by.seq, by.engine, by.knows)) &&
                        std::all_of(c.olderWrites.begin(), c.olderWrites.end(),
                                    [&](const Touch &t) { return ordered(t, by.comp, by.seq, by.engine, by.knows); });
      mixed |= !first && common != c.content;
      common = c.content;
      first = false;
      return fits;
    });
  });
  if (!good)
    return false;
  forEachMap(p, [&](ByteMap &map, uint32_t mask) { map.visit(lo, hi, mask, [&](Cell &c) { keepLatest(c.reads, me); }); });
  lostContent |= mixed && content;
  if (content)
    *content = !mixed && contents[common].type == p.pattern->dtype ? common : 0;
  return true;
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
  if (coarse && p.fixed && p.runs.size() >= kManyRuns && readHull(p, by, owner, content))
    return false;
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
    *content = contents[common].type == p.pattern->dtype ? common : 0;
  return undefined;
}

void Walk::write(const std::vector<LoopFrame> &loops, const Place &p, const Issuer &by, bool defined, bool maybe,
                 bool matmul, uint32_t content) {
  const bool output = p.space == Space::Hbm && program.tensors[p.object.index].kind == TensorKind::Output;
  if (output && !defined)
    fail("UNDEFINED-OUTPUT", by.who, p.slot,
         format("undefined bytes reach output `%s`", program.objectName(p.object).c_str()));
  Cell value;
  value.owner = p.space == Space::Hbm ? -1 : static_cast<int32_t>(p.object.index);
  value.written = true;
  value.defined = defined;
  value.matmul = matmul;
  value.content = maybe ? 0 : content;
  value.write = {by.comp, by.seq, by.who};

  // A write in a loop that may run less often than it is walked is undone, as far as definedness goes, when it is left.
  LoopRun *undo = nullptr;
  for (const LoopFrame &f : loops)
    if (f.run->summarised && !undo && f.run->count.lo < f.run->walked &&
        f.iteration >= std::max<int64_t>(f.run->count.lo, 0))
      undo = f.run.get();

  forEachRect(p, [&](ByteMap &map, int64_t lo, int64_t hi, uint32_t mask) {
    std::vector<LoggedWrite> undone;
    map.visitPlaces(lo, hi, mask, [&](int64_t cellLo, int64_t cellHi, Cell &c) {
      if (c.written && !ordered(c.write, by.comp, by.seq, by.engine, by.knows))
        race(p, by, c.write, "writes", "writing");
      for (const Touch &t : c.olderWrites)
        if (!ordered(t, by.comp, by.seq, by.engine, by.knows))
          race(p, by, t, "writes", "writing");
      for (const Touch &t : c.reads)
        if (!ordered(t, by.comp, by.seq, by.engine, by.knows))
          race(p, by, t, "writes", "reading");
      const bool keep = c.defined && c.owner == value.owner;
      if (!maybe && !undo)
        return;
      if (undo) { // if the loop does not run, the accesses before it are the last ones
        undone.push_back({&map, cellLo, cellHi, c.mask, !keep, !c.matmul});
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
    if (!undo)
      return;
    const bool alike = std::all_of(undone.begin(), undone.end(), [&](const LoggedWrite &w) {
      return w.undefine == undone[0].undefine && w.notMatmul == undone[0].notMatmul;
    });
    if (alike && !undone.empty())
      undone = {{&map, lo, hi, mask, undone[0].undefine, undone[0].notMatmul}};
    undo->writes.insert(undo->writes.end(), undone.begin(), undone.end());
  });
}

// ---- one instruction ----------------------------------------------------------------------------------------

void Walk::serialise(EngineWalk &e, const Decoded &d, bool sbuf, bool psum) {
  auto check = [&](Engine other, uint32_t EngineWalk::*last, uint32_t EngineWalk::*lastWho, const char *memory) {
    const EngineWalk &o = engines[e.core * kNumEngines + static_cast<int>(other)];
    if (o.*last && !e.knows.knows(o.comp, o.*last))
      fail("ENGINE-SERIAL", who(d), -1,
           format("it uses %s while an instruction of the %s engine may use it too; this target does not allow both at once",
                  memory, std::string(name(other)).c_str()),
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
    if (!f.run->beyond || (f.iteration != 1 && f.iteration < f.run->walked - 2))
      continue;
    LoopAccess &a = f.run->accesses[{by.who, p.slot, by.comp}];
    a.map = mapOf(p, 0);
    a.object = p.object;
    a.comp = by.comp;
    a.who = by.who;
    a.slot = p.slot;
    a.write |= write;
    const Motion bytes = p.start.motion[f.run->depth], partitions = p.partition.motion[f.run->depth];
    a.still &= p.fixed && std::all_of(p.start.motion.begin(), p.start.motion.end(),
                                      [](const Motion &m) { return m.kind == Motion::Fixed; });
    const bool fresh = !a.earlySeq && !a.lateKnowledge.base;
    if (!fresh && (bytes != a.byteMotion || partitions != a.partitionMotion))
      a.byteMotion.kind = a.partitionMotion.kind = Motion::Unknown;
    else
      a.byteMotion = bytes, a.partitionMotion = partitions;
    if (f.iteration == 1)
      a.earlySeq = by.seq;
    if (f.iteration == f.run->walked - 2)
      a.previousSeq = by.seq;
    if (f.iteration == f.run->walked - 1 && !p.runs.empty()) {
      a.lateSeq = by.seq;
      ++a.lateTimes;
      a.lo = a.lateKnowledge.base ? std::min(a.lo, p.runs.front().lo) : p.runs.front().lo;
      a.hi = a.lateKnowledge.base ? std::max(a.hi, p.runs.back().hi) : p.runs.back().hi;
      if (!a.lateKnowledge.base)
        a.lateKnowledge = snapshot(e);
    }
  }
}

static bool neverWritten(const Program &p, const Place &place) {
  return place.space == Space::Hbm && (p.tensors[place.object.index].kind == TensorKind::Input ||
                                       p.tensors[place.object.index].kind == TensorKind::Constant);
}

// What reg_load and reg_store touch counts in loops as what other instructions touch.
void Walk::touchFromRegister(EngineWalk &e, const Place &p, const Issuer &by, bool write) {
  if (generic(e) || neverWritten(program, p))
    return;
  lastAccess[by.comp] = by.seq;
  logAccess(e, p, by, write);
}

// The element and its version: loads with the same source give the same value. Every write of the bytes is ordered with every read of
// them, or it is a race; so the last write that the walk has seen is the one that the load sees. Not known in a generic iteration,
// nor where the address moves in a way that neither the walked iterations nor the registers in it tell (0).
uint64_t Walk::sourceOf(const EngineWalk &e, const Place &p) {
  if (!p.fixed || generic(e))
    return 0;
  const bool hbm = p.space == Space::Hbm, constant = neverWritten(program, p);
  const bool common = hbm && (constant || program.tensors[p.object.index].shared);
  std::vector<int64_t> key = {Loaded,
                              static_cast<int64_t>(p.space),
                              hbm ? static_cast<int64_t>(p.object.index) : -1,
                              common ? 0 : p.core,
                              static_cast<int64_t>(p.pattern->dtype),
                              p.start.lo,
                              hbm ? 0 : p.partition.lo};
  bool unknown = false;
  for (const RegisterValue *v : {&p.start, &p.partition})
    for (const Motion &m : v->motion) {
      unknown |= m.kind == Motion::Unknown;
      key.insert(key.end(), {m.kind, m.step, m.period});
    }
  for (int i = 0; unknown && i < p.pattern->numDynamic; ++i) {
    const DynamicTerm &t = p.pattern->dynamic[i];
    const uint64_t from = identity(e.regs[t.reg]);
    if (!from)
      return 0;
    key.insert(key.end(), {static_cast<int64_t>(from), t.scale, t.partition});
  }
  if (!constant)
    forEachRect(p, [&](ByteMap &map, int64_t lo, int64_t hi, uint32_t mask) {
      map.visit(lo, hi, mask, [&](Cell &c) {
        key.insert(key.end(), {c.written, c.written ? c.write.comp : 0, c.written ? c.write.seq : 0});
      });
    });
  return intern(std::move(key));
}

uint64_t Walk::intern(std::vector<int64_t> key) {
  const auto [it, fresh] = sources.try_emplace(std::move(key), lastSource + 1);
  lastSource += fresh;
  return it->second;
}

// The same for all engines that come to this iteration of a loop.
uint64_t Walk::sourceIn(std::vector<uint64_t> &byIteration, int64_t iteration) {
  while (byIteration.size() <= static_cast<size_t>(iteration))
    byIteration.push_back(++lastSource);
  return byIteration[static_cast<size_t>(iteration)];
}

// The source of a value, also of one that is the same number in every iteration. 0: not known.
uint64_t Walk::identity(const RegisterValue &v) {
  if (v.source)
    return v.source;
  const bool fixed = std::all_of(v.motion.begin(), v.motion.end(), [](const Motion &m) { return m.kind == Motion::Fixed; });
  return v.isConstant() && !v.undefined && fixed ? intern({Constant, v.lo}) : 0;
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
        const bool unsure = e.maybeUntil || !p.fixed; // this lane may also be left as it was
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
    return; // addresses are checked; the bytes were, in the walked iterations
  if (!places.empty())
    lastAccess[by.comp] = by.seq;

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
        map.visit(lo, hi, mask, [&](Cell &c) {
          notMatmul |= !(c.written && (any || c.matmul) && c.owner == static_cast<int32_t>(p.object.index));
        });
      });
      if (notMatmul && d.def->flow == Flow::Matmul) // a computing transfer adds to anything that is defined
        fail("PSUM-ACCUMULATE", by.who, p.slot,
             format("it accumulates onto bytes of `%s` that %s", program.objectName(p.object).c_str(),
                    any ? "were never written" : "no matmul of this allocation wrote last"));
      bad |= read(p, by, nullptr);
    }
    if (!content && slot.name == "dst" && !bad) {
      const std::optional<Content> c = contentOf(program, d, source);
      content = keepContent(c);
    }
    const bool maybe = e.maybeUntil || !p.fixed || p.partly;
    write(e.loops, p, by, !bad, maybe, e.engine == Engine::Tensor && d.def->unit == Unit::Compute,
          slot.name == "dst" ? content : 0);
    logAccess(e, p, by, true);
  }
}

} // namespace glia::flow
