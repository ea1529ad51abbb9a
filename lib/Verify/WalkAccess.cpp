// Races, definedness, ownership: what the walk does with the bytes that one instruction touches.
#include "Walk.h"
#include "glia/ISA/Collective.h"
#include "glia/ISA/Accumulator.h"

#include <algorithm>

namespace glia::flow {

const Cow<ByteMap> &Walk::mapAt(const Place &p, int quadrant) const {
  if (p.space == Space::Hbm) {
    const auto &maps = state.hbm[p.object.index];
    return maps[maps.size() == 1 ? 0 : p.core];
  }
  return state.chip[p.core][p.space == Space::Psum][quadrant];
}

Cow<ByteMap> &Walk::mapAt(const Place &p, int quadrant) {
  return const_cast<Cow<ByteMap> &>(static_cast<const Walk *>(this)->mapAt(p, quadrant));
}

// Different numbers: no byte in common.
uint32_t Walk::memoryOf(const Place &p) const {
  if (p.space != Space::Hbm)
    return static_cast<uint32_t>(p.core * 2 + (p.space == Space::Psum));
  const bool shared = state.hbm[p.object.index].size() == 1;
  return 8 + p.object.index * 2 + static_cast<uint32_t>(shared ? 0 : p.core);
}

// ---- reads and writes ---------------------------------------------------------------------------------------

bool Walk::ordered(const Touch &t, const Issuer &by) const {
  return (by.self != UINT32_MAX && ownerOf[t.comp] == by.self) || (t.comp == by.comp && t.seq == by.seq) ||
         by.knows->knows(t.comp, t.seq);
}

// The access and an earlier one, one of which writes: ordered, or apart, or an error.
void Walk::meets(const Place &p, const Issuer &by, const Touch &other, const char *mine, const char *theirs) {
  bool otherRound = false;
  if (ordered(other, by) || apart(p, other, by, otherRound))
    return;
  const InstrRef o = ref(other.who);
  fail(otherRound ? "LOOP-ORDER" : "RACE", by.who, p.slot,
       format("it %s `%s` while another instruction may still be %s it", mine, program.objectName(p.object).c_str(), theirs),
       {}, {},
       {"the other: " + reporter.describe(o) + (otherRound ? ", in an earlier iteration" : ""),
        "nothing orders the two: they can happen in either order", "to see the other order: " + commandToHold(o)});
}

// The command that runs the program with an instruction held back.
std::string Walk::commandToHold(const InstrRef &i) const {
  const std::string &file = program.strings[program.origins[program.stream(i.core, i.engine).instrs[i.index].origin].file];
  std::string out = "glia run " + (file.ends_with(".gasm") ? file : std::string("PROGRAM"));
  for (const Tensor &t : program.tensors)
    if (t.kind == TensorKind::Input)
      out += " --input " + t.name + "=" + t.name + ".npy";
  return out + format(" --strict --hold core%d.%s#%u", i.core, std::string(name(i.engine)).c_str(), i.index);
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

// What both say. Two tensors that hold distinct values each need not do so together.
uint32_t Walk::joinContents(uint32_t x, uint32_t y) {
  if (x == y)
    return x;
  Content both = contents[x];
  if (!y || both.lo != contents[y].lo || both.hi != contents[y].hi || both.type != contents[y].type)
    return 0;
  if (!both.distinct)
    return x;
  both.distinct = false;
  return keepContent(both);
}

uint32_t Walk::keepContent(const std::optional<Content> &c) {
  if (!c)
    return 0;
  contents.push_back(*c);
  return static_cast<uint32_t>(contents.size() - 1);
}

// A read of many runs, taken as a read of everything between the first and the last byte: false, and nothing done, if not all of that
// is defined and ordered, or if that is more work than the runs are. It asks more of later writes than the runs would, never less.
bool Walk::readHull(const Place &p, const Issuer &by, int32_t owner, uint32_t *content) {
  const Touch me{by.comp, by.seq, by.who, 0};
  const int64_t lo = p.runs.front().lo, hi = p.runs.back().hi;
  bool good = true, first = true, mixed = false;
  uint32_t common = 0;
  size_t left = kHullPerRun * p.runs.size() + kHull;
  forEachMap(p, [&](ByteMap &map, uint32_t mask) {
    good = good && map.all(lo, hi, mask, [&](const Cell &c) {
      const bool fits =
          left-- > 0 && c.defined && c.owner == owner && (!c.written || ordered(c.write, by)) &&
          std::all_of(c.otherWrites.begin(), c.otherWrites.end(), [&](const Touch &t) { return ordered(t, by); });
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

// Long rows of a tensor in HBM are written as they are read, others between them meanwhile: that is no read of what lies between, and cuts
// nothing into small pieces.
static bool isLongRows(const Place &p) {
  constexpr int64_t kLongRow = 256; // bytes
  return p.space == Space::Hbm && p.runs.front().hi - p.runs.front().lo >= kLongRow;
}

static bool neverWritten(const Program &p, const Place &place) {
  return place.space == Space::Hbm && (p.tensors[place.object.index].kind == TensorKind::Input ||
                                       p.tensors[place.object.index].kind == TensorKind::Constant);
}

// Returns whether undefined bytes are read.
bool Walk::read(const Place &p, const Issuer &by, uint32_t *content) {
  if (neverWritten(program, p))
    return false;
  const int32_t owner = p.space == Space::Hbm ? -1 : static_cast<int32_t>(p.object.index);
  state.lastEvent[by.comp] = std::max(state.lastEvent[by.comp], by.seq);
  if (coarse && p.fixed && p.runs.size() >= kManyRuns && !isLongRows(p) && readHull(p, by, owner, content))
    return false;
  const Touch me{by.comp, by.seq, by.who, spotOf(p)};
  bool undefined = false, first = true;
  uint32_t common = 0;
  forEachRect(p, [&](ByteMap &map, int64_t lo, int64_t hi, uint32_t mask) {
    map.visit(lo, hi, mask, [&](Cell &c) {
      if (c.written)
        meets(p, by, c.write, "reads", "writing");
      for (const Touch &t : c.otherWrites)
        meets(p, by, t, "reads", "writing");
      undefined |= !c.defined || c.owner != owner;
      common = first || common == c.content ? c.content : 0;
      first = false;
      keepLatest(c.reads, me);
    });
  });
  if (const Filled *f = undefined ? filledBy(p) : nullptr) {
    undefined = false;
    common = f->content;
  } else if (undefined && !p.fixed && definedTogether(p, owner)) {
    undefined = false;
    common = 0;
  }
  if (content)
    *content = contents[common].type == p.pattern->dtype ? common : 0;
  return undefined;
}

// Asked before the instruction's own reads are on record, which could stand for earlier ones of its queue.
void Walk::checkWrite(const Place &p, const Issuer &by) {
  const auto write = [&](const Touch &t) {
    if (!ordered(t, by) && storesTheSame(p, by, t))
      keepLatest(storing, t);
    else
      meets(p, by, t, "writes", "writing");
  };
  forEachRect(p, [&](ByteMap &map, int64_t lo, int64_t hi, uint32_t mask) {
    map.visit(lo, hi, mask, [&](Cell &c) {
      if (c.written)
        write(c.write);
      for (const Touch &t : c.otherWrites)
        write(t);
      for (const Touch &t : c.reads)
        meets(p, by, t, "writes", "reading");
    });
  });
}

// What checkWrite has looked at.
void Walk::write(const Place &p, const Issuer &by, bool defined, bool maybe, bool matmul, uint32_t content) {
  const bool output = p.space == Space::Hbm && program.tensors[p.object.index].kind == TensorKind::Output;
  if (output && !defined)
    fail("UNDEFINED-OUTPUT", by.who, p.slot,
         format("undefined bytes reach output `%s`", program.objectName(p.object).c_str()));
  state.lastEvent[by.comp] = std::max(state.lastEvent[by.comp], by.seq);
  for (Activation &a : active)
    a.noteWrite(by.who, p.slot, memoryOf(p), p.object, p.runs, defined, matmul || anyWriter);
  Cell value;
  value.owner = p.space == Space::Hbm ? -1 : static_cast<int32_t>(p.object.index);
  value.written = true;
  value.defined = defined;
  matmul |= anyWriter;
  value.matmul = matmul;
  value.content = content;
  value.write = {by.comp, by.seq, by.who, 0};
  const Touch me{by.comp, by.seq, by.who, spotOf(p)};
  const bool certain = p.fixed && !p.partly && !p.chosen && !maybe;
  disturb(p, defined, matmul);
  forEachRect(p, [&](ByteMap &map, int64_t lo, int64_t hi, uint32_t mask) {
    if (certain) {
      map.assign(lo, hi, mask, value); // checkWrite has cut the cells
      for (const Touch &t : storing)
        map.visit(lo, hi, mask, [&t](Cell &c) { keepLatest(c.otherWrites, t); });
      return;
    }
    map.visit(lo, hi, mask, [&](Cell &c) {
      const bool keep = c.defined && c.owner == value.owner;
      c.defined = defined && keep;
      c.matmul = matmul && c.matmul && c.owner == value.owner;
      c.content = 0;
      c.owner = value.owner;
      if (!me.place && p.fixed &&
          !p.partly) { // all of the cell, if at all: who is ordered after this is ordered after what was before
        c.reads.clear();
        c.otherWrites.clear();
        c.written = true;
        c.write = me;
      } else {
        keepLatest(c.otherWrites, me);
      }
    });
  });
  if (!certain && !p.fixed && !p.partly && !p.chosen && !maybe)
    fill(p, defined, matmul, content);
}

// ---- one instruction ----------------------------------------------------------------------------------------

void Walk::serialise(EngineWalk &e, const Decoded &d, bool sbuf, bool psum) {
  auto check = [&](Engine other, std::vector<Touch> EngineWalk::*last, const char *memory) {
    for (const Touch &t : state.engines[e.core * kNumEngines + static_cast<int>(other)].*last)
      if (!e.knows.knows(t.comp, t.seq))
        fail("ENGINE-SERIAL", who(d), -1,
             format(
                 "it uses %s while an instruction of the %s engine may use it too; this target does not allow both at once",
                 memory, std::string(name(other)).c_str()),
             {}, {}, {"the other: " + reporter.describe(ref(t.who))});
  };
  if (sbuf && serialSbuf) {
    if (e.engine == Engine::Vector)
      check(Engine::GpSimd, &EngineWalk::lastSbuf, "SBUF");
    if (e.engine == Engine::GpSimd)
      check(Engine::Vector, &EngineWalk::lastSbuf, "SBUF");
  }
  if (psum && serialPsum) {
    if (e.engine == Engine::Vector)
      check(Engine::Scalar, &EngineWalk::lastPsum, "PSUM");
    if (e.engine == Engine::Scalar)
      check(Engine::Vector, &EngineWalk::lastPsum, "PSUM");
  }
  const Touch me{e.stream, state.numbers[e.stream], who(d), 0};
  if (sbuf)
    keepLatest(e.lastSbuf, me);
  if (psum)
    keepLatest(e.lastPsum, me);
}

// The element and its version: loads with the same source give the same value. Every write of the bytes is ordered with every read of
// them, or it is a race; so the last writes that the walk has seen are those that the load sees. 0: not known.
uint64_t Walk::sourceOf(const EngineWalk &e, const Place &p) {
  const bool constant = neverWritten(program, p);
  if (!p.start.form || !p.partition.isConstant() || (!constant && !p.fixed))
    return 0;
  const bool hbm = p.space == Space::Hbm;
  const bool common = hbm && (constant || program.tensors[p.object.index].shared);
  std::vector<int64_t> key = {Loaded,
                              static_cast<int64_t>(p.space),
                              hbm ? static_cast<int64_t>(p.object.index) : -1,
                              common ? 0 : e.core,
                              static_cast<int64_t>(p.pattern->dtype),
                              hbm ? 0 : p.partition.lo,
                              p.start.form->constant};
  for (const Form::Term &t : p.start.form->terms)
    key.insert(key.end(), {t.symbol, t.factor});
  bool now = ofRound(*p.start.form); // it means something in this iteration only
  auto version = [&](const Touch &t) {
    key.insert(key.end(), {t.comp, t.seq, t.place});
    now |= !active.empty() && t.seq > active[0].begun[t.comp];
  };
  if (!constant)
    forEachRect(p, [&](ByteMap &map, int64_t lo, int64_t hi, uint32_t mask) {
      map.visit(lo, hi, mask, [&](Cell &c) {
        key.push_back(c.written);
        if (c.written)
          version(c.write);
        for (const Touch &t : c.otherWrites)
          version(t);
      });
    });
  if (now)
    key.insert(key.end(), {-1, active.back().iteration});
  return intern(std::move(key));
}

bool Walk::ofRound(const Form &f) { return !f.terms.empty() && f.terms.front().symbol < kFirstValue; }

uint64_t Walk::intern(std::vector<int64_t> key) {
  const auto [it, fresh] = sources.try_emplace(std::move(key), lastSource + 1);
  lastSource += fresh;
  return it->second;
}

// The source of a value, also of one that a form says. 0: not known.
uint64_t Walk::identity(const RegisterValue &v) {
  if (v.source)
    return v.source;
  if (!v.form || v.undefined)
    return 0;
  std::vector<int64_t> key = {Formed, v.form->constant};
  for (const Form::Term &t : v.form->terms)
    key.insert(key.end(), {t.symbol, t.factor});
  if (ofRound(*v.form))
    key.insert(key.end(), {-1, active.back().iteration});
  return intern(std::move(key));
}

// A value without a form becomes a symbol of its own.
RegisterValue Walk::named(RegisterValue v) {
  if (v.form || v.undefined)
    return v;
  uint32_t fresh = kFirstValue + static_cast<uint32_t>(valueRanges.size());
  const uint32_t symbol = v.source ? valueOf.try_emplace(v.source, fresh).first->second : fresh;
  if (symbol == fresh) {
    valueRanges.push_back({v.lo, v.hi});
    valueSources.push_back(v.source);
  }
  Interval &range = valueRanges[symbol - kFirstValue];
  range = {std::min(range.lo, v.lo), std::max(range.hi, v.hi)};
  v.form = symbolForm(symbol);
  return v;
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
  beginWrite(e.maybeUntil ? 0 : valueMade(d, places));
  checkOverlap(d, places);
  if (dma)
    checkIndexed(d, places, by, undefined);
  else
    checkGather(d, places);
  for (const Place &p : places)
    if (isWritten(d.def->slots[p.slot].kind)) {
      checkBank(d, p);
      checkWrite(p, by);
    }

  const bool accumulates = !d.def->accumulateFlag.empty() && d.values[d.def->slot(d.def->accumulateFlag)].integer;
  std::vector<std::optional<Content>> sourceContents;
  for (const Place &p : places) {
    const SlotKind kind = d.def->slots[p.slot].kind;
    sbuf |= p.space == Space::Sbuf;
    psum |= p.space == Space::Psum;
    const bool reads = !isWritten(kind) || (kind == SlotKind::InOut && !replacesAll(d));
    if (!reads || d.def->slots[p.slot].name.ends_with("_index"))
      continue;
    uint32_t content = 0;
    undefined |= read(p, by, &content);
    if (kind == SlotKind::In)
      sourceContents.push_back(p.space == Space::Hbm ? inputContent(p)
                               : content             ? std::optional(contents[content])
                                                     : std::nullopt);
  }
  if (!dma)
    serialise(e, d, sbuf, psum);
  else if (undefined && isCollective(*d.def)) {
    fail("UNDEFINED-SENT", by.who, d.def->slot("src"), "it gives bytes to other ranks that are not certainly defined");
    undefined = false; // said
  }

  const bool resultUndefined = d.def->accumulator ? !accumulateLanes(e, d, places, !undefined) : undefined;

  uint32_t content = 0;
  for (const Place &p : places) {
    const Slot &slot = d.def->slots[p.slot];
    if (!isWritten(slot.kind))
      continue;
    bool bad = slot.name == "reduce_res" ? resultUndefined : undefined;
    if (accumulates && p.slot == 0) {
      if (d.def->flow == Flow::Matmul && !addsToMatmul(p)) // a computing transfer adds to anything that is defined
        fail("PSUM-ACCUMULATE", by.who, p.slot,
             format("it accumulates onto bytes of `%s` that %s", program.objectName(p.object).c_str(),
                    anyWriter ? "were never written" : "no matmul of this allocation wrote last"));
      bad |= read(p, by, nullptr);
    }
    if (!content && slot.name == "dst" && !bad)
      content = keepContent(contentOf(program, d, sourceContents));
    write(p, by, !bad, e.maybeUntil != 0, e.engine == Engine::Tensor && d.def->unit == Unit::Compute,
          slot.name == "dst" ? content : 0);
    if (p.slot == 0)
      keepValue(writing, p, by);
  }
}

// Whether every byte was certainly written by what a matmul may add to.
bool Walk::addsToMatmul(const Place &p) {
  bool good = true;
  forEachRect(p, [&](ByteMap &map, int64_t lo, int64_t hi, uint32_t mask) {
    map.visit(lo, hi, mask, [&](Cell &c) { good &= c.matmul && c.owner == static_cast<int32_t>(p.object.index); });
  });
  const Filled *f = good ? nullptr : filledBy(p);
  return good || (f && f->matmul);
}

} // namespace glia::flow
