// Addresses of operands as far as they are known: bounds, starts, verdicts on dynamic accesses, indices, overlaps.
#include "Walk.h"
#include "glia/ISA/Transfer.h"

#include <algorithm>
#include <numeric>

namespace glia::flow {

namespace {

constexpr size_t kMostRuns = 4096; // of an operand in the map of bytes

} // namespace

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
  Wide lo = base, hi = base, farLo = base, farHi = base;
  p.partition = RegisterValue::constant(partition);
  for (int i = 0; i < p.pattern->numDynamic; ++i) {
    const DynamicTerm &t = p.pattern->dynamic[i];
    const RegisterValue &r = e.regs[t.reg];
    if (r.undefined)
      fail("UNDEFINED-ADDRESS", who(d), slot,
           format("the address of `%s` uses register r%d, which holds an undefined value",
                  program.objectName(a.object).c_str(), t.reg));
    RegisterValue &to = t.partition ? p.partition : p.start;
    to = add(to, scaled(r, t.scale));
    if (!t.partition) {
      const Wide x = Wide{r.lo} * t.scale, y = Wide{r.hi} * t.scale;
      farLo = std::min(farLo, lo += std::min(x, y));
      farHi = std::max(farHi, hi += std::max(x, y));
    }
  }
  if (farLo < -kFar || farHi > kFar) // sums that are cut off mean nothing
    p.start = RegisterValue::range(-kFar, kFar);

  const ByteRun ext = extent(*p.pattern);
  auto inObject = [&](Wide v) { return static_cast<int64_t>(std::clamp<Wide>(v, objectLo, objectHi)); };
  auto leaves = [](const RegisterValue &v, const ByteRun &more, int64_t lo, int64_t hi) {
    return Wide{v.lo} + more.lo < lo || Wide{v.hi} + more.hi > hi;
  };
  for (RegisterValue *v : {&p.start, &p.partition})
    if (!v->isConstant())
      tighten(*v);
  const ByteRun hull{inObject(Wide{p.start.lo} + ext.lo), inObject(Wide{p.start.hi} + ext.hi)};
  p.fixed = p.start.isConstant() && p.partition.isConstant();
  if (p.pattern->numDynamic) {
    const bool bytesInside = !leaves(p.start, ext, objectLo, objectHi);
    const bool partitionsInside = !p.partitions || !leaves(p.partition, {0, p.partitions}, objectFirst, objectLast);
    const std::string range = bytesInside && partitionsInside
                                  ? std::string()
                                  : format("bytes %lld to %lld", (long long)clampFar(Wide{p.start.lo} + ext.lo),
                                           (long long)clampFar(Wide{p.start.hi} + ext.hi));
    if (bytesInside && partitionsInside) {
      verdict(d, slot, Proof::Proved, "inside the object for every value of the register");
    } else if (d.def->unit == Unit::Dma) {
      verdict(d, slot, Proof::MayTrap, range + " of an object of " + std::to_string(objectHi - objectLo));
      if (options.requireProved)
        fail("DYNAMIC-UNPROVED", who(d), slot,
             format("the register-addressed access to `%s` can cover %s of %lld and may trap",
                    program.objectName(a.object).c_str(), range.c_str(), (long long)(objectHi - objectLo)),
             range, format("0 to %lld", (long long)(objectHi - objectLo)));
    } else {
      fail("OPERAND-BOUNDS", who(d), slot,
           partitionsInside
               ? format("`%s` is addressed at %s, and the object holds %lld to %lld", program.objectName(a.object).c_str(),
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
             format("`%s` starts at a partition that a register gives (%lld to %lld, %lld modulo %lld), and an operand of "
                    "%d partitions starts at a multiple of %lld",
                    program.objectName(a.object).c_str(), (long long)p.partition.lo, (long long)p.partition.hi,
                    (long long)p.partition.residue, (long long)p.partition.modulus, p.partitions, (long long)step));
    }
  }
  if (a.object.kind == ObjectKind::Tensor && program.tensors[a.object.index].kind != TensorKind::Output &&
      program.tensors[a.object.index].kind != TensorKind::Scratch) {
    p.runs.assign(1, hull); // nobody writes it: the hull will do
  } else if (p.fixed) {
    p.fixed = footprint(*p.pattern, p.start.lo, p.runs, kMostRuns);
    p.firstPartition = static_cast<int>(p.partition.lo);
    p.lastPartition = p.firstPartition + p.partitions;
  } else {
    p.runs.assign(1, hull);
    p.firstPartition = static_cast<int>(std::max<int64_t>(objectFirst, p.partition.lo));
    p.lastPartition = static_cast<int>(std::min<int64_t>(objectLast, p.partition.hi + p.partitions));
  }
  // What lies outside traps or was reported; what is left is what can be touched.
  for (ByteRun &r : p.runs) {
    r.lo = std::max(r.lo, objectLo);
    r.hi = std::min(r.hi, objectHi);
  }
  std::erase_if(p.runs, [](const ByteRun &r) { return r.lo >= r.hi; });
  if (!certificate.layouts.empty())
    layOut(d, p);
  return p;
}

// What registers move stays in one bank of PSUM (rule PSUM-ONE-BANK; the static rules see to the rest).
void Walk::checkBank(const Decoded &d, const Place &p) {
  const int64_t bank = program.target->psumBankBytes;
  const auto &rules = d.def->rules;
  if (p.space != Space::Psum || !p.pattern->numDynamic || !isWritten(d.def->slots[p.slot].kind) ||
      std::find(rules.begin(), rules.end(), "PSUM-ONE-BANK") == rules.end() ||
      program.target->integer("limit.moving_free_fp32") * 4 > bank)
    return;
  const ByteRun ext = extent(*p.pattern);
  const int64_t lo = p.start.lo + ext.lo, hi = p.start.hi + ext.hi - 1;
  if (lo >= 0 && lo / bank == hi / bank)
    return;
  // Or: it moves by steps that keep it in its place of a piece of the bank.
  const int64_t step = std::gcd(p.start.modulus, bank), first = ((p.start.residue + ext.lo) % step + step) % step;
  if (!p.start.isConstant() && first + (ext.hi - ext.lo) <= step)
    return;
  fail("PSUM-ONE-BANK", who(d), p.slot,
       format("registers can move `%s` over the edge of a bank of %lld bytes", program.objectName(p.object).c_str(),
              (long long)bank));
}

void Walk::resolveAll(const EngineWalk &e, Visit &v) {
  if (v.resolved) {
    for (Place &p : v.places)
      if (p.pattern->numDynamic)
        p = resolve(e, v.d, p.slot);
    return;
  }
  v.places.clear();
  bool indexed = false; // what indices choose is found out later, and changes
  for (size_t i = 0; i < v.d.values.size(); ++i)
    if (v.d.values[i].kind == Value::Tensor) {
      v.places.push_back(resolve(e, v.d, static_cast<int>(i)));
      indexed |= v.d.def->slots[i].name.ends_with("_index");
    }
  v.resolved = !indexed;
}

void Walk::verdict(const Decoded &d, int slot, Proof proof, std::string_view why) {
  if (muted)
    return;
  const uint64_t key = uint64_t{who(d)} << 32 | static_cast<uint32_t>(slot);
  auto [it, fresh] = verdicts.emplace(key, result.dynamicAccesses.size());
  if (fresh)
    result.dynamicAccesses.push_back({d.core, d.engine, d.index, slot, proof, std::string(why)});
  else if (DynamicAccess &known = result.dynamicAccesses[it->second]; proof > known.proof)
    known.proof = proof, known.why = why;
}

// Indices of gathers and scatters: where they can point, whether they can coincide.
void Walk::checkIndexed(const Decoded &d, std::vector<Place> &places, const Issuer &by, bool &undefined) {
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
    const bool unknown = read(*index, by, &content);
    if (unknown)
      fail("UNDEFINED-ADDRESS", by.who, index->slot,
           format("undefined values of `%s` are used as indices", program.objectName(index->object).c_str()));
    undefined |= unknown;
    const Content *known = content ? &contents[content] : nullptr;
    const int strideSlot = d.def->slot("index_stride"), oobSlot = d.def->slot("oob");
    const int64_t size = sizeOf(data->pattern->dtype);
    const bool skip = oobSlot >= 0 && d.def->slots[oobSlot].names->names[d.values[oobSlot].integer] == "skip";
    const IndexedRows rows =
        indexedRows(*data->pattern, index->pattern->elements(), strideSlot >= 0 ? d.values[strideSlot].integer : 0);
    const Wide stride = Wide{rows.stride} * size;
    const Wide rowLo = Wide{rows.low} * size, rowHi = Wide{rows.high} * size;
    const int64_t bytes = program.tensors[data->object.index].bytes();
    Wide lo = 0, hi = bytes;
    if (known) {
      lo = data->start.lo + std::min(known->lo * stride, known->hi * stride) + rowLo;
      hi = data->start.hi + std::max(known->lo * stride, known->hi * stride) + rowHi;
    }
    const bool inside = known && lo >= 0 && hi <= bytes;
    if (inside)
      verdict(d, data->slot, Proof::Proved,
              format("indices are in %lld to %lld", (long long)known->lo, (long long)known->hi));
    else if (skip)
      verdict(d, data->slot, Proof::Skips, "rows out of range are skipped");
    else
      verdict(d, data->slot, Proof::MayTrap,
              known ? format("indices are in %lld to %lld, outside the tensor", (long long)known->lo, (long long)known->hi)
                    : std::string("nothing is known of the indices"));
    if (!inside && !skip && options.requireProved)
      fail("DYNAMIC-UNPROVED", by.who, data->slot,
           format("the rows of `%s` that the indices of `%s` select are not proved to be inside it",
                  program.objectName(data->object).c_str(), program.objectName(index->object).c_str()));
    const Wide width = rowHi - rowLo;
    const bool distinct = known && known->distinct && (stride >= width || -stride >= width);
    if (isWritten(d.def->slots[data->slot].kind) && !distinct)
      fail("SCATTER-UNIQUE", by.who, index->slot,
           format("the indices of `%s` are not proved to be distinct, so rows of `%s` may be written twice in any order",
                  program.objectName(index->object).c_str(), program.objectName(data->object).c_str()));
    if (!inside && skip)
      for (Place &p : places)
        p.partly = true;
    data->fixed = false;
    data->chosen = true;
    data->runs.assign(
        1, {static_cast<int64_t>(std::clamp<Wide>(lo, 0, bytes)), static_cast<int64_t>(std::clamp<Wide>(hi, 0, bytes))});
    if (data->runs[0].lo >= data->runs[0].hi)
      data->runs.clear();
    // Parts of one transfer read and write at any time: what the indices may choose keeps off its other operands.
    for (const Place &o : places) {
      const bool oneWritten = isWritten(d.def->slots[data->slot].kind) || isWritten(d.def->slots[o.slot].kind);
      if (o.slot != data->slot && oneWritten && o.space == Space::Hbm && o.object == data->object &&
          runsMeet(o.runs, data->runs))
        fail("OPERAND-OVERLAP", who(d), data->slot,
             format("the rows of `%s` that indices choose may be those of another operand of the transfer (%s)",
                    program.objectName(data->object).c_str(), std::string(d.def->slots[o.slot].name).c_str()));
    }
  }
}

// Gathers inside a memory trap on an index outside the data: what is known of the indices decides the verdict.
void Walk::checkGather(const Decoded &d, const std::vector<Place> &places) {
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
    forEachRect(p, [&](ByteMap &map, int64_t lo, int64_t hi, uint32_t mask) {
      map.visit(lo, hi, mask, [&](Cell &c) {
        content = first || content == c.content ? c.content : 0;
        first = false;
      });
    });
    if (contents[content].type != p.pattern->dtype)
      content = 0;
    const int64_t elements = program.patterns[d.values[dataSlot].access.pattern].elementsPerPartition();
    const bool inside = content && contents[content].lo >= 0 && contents[content].hi + run <= elements;
    verdict(d, dataSlot, inside ? Proof::Proved : Proof::MayTrap,
            content ? format("indices are in %lld to %lld", (long long)contents[content].lo, (long long)contents[content].hi)
                    : std::string("nothing is known of the indices"));
    if (!inside && options.requireProved)
      fail("DYNAMIC-UNPROVED", who(d), dataSlot,
           format("the indices in `%s` are not proved to be below %lld", program.objectName(p.object).c_str(),
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
      if (o.slot == w.slot || (otherWritten && o.slot < w.slot) || w.space != o.space ||
          (w.space == Space::Hbm && w.object != o.object) ||
          (x.numDynamic == y.numDynamic &&
           std::equal(x.dynamic.begin(), x.dynamic.begin() + x.numDynamic, y.dynamic.begin())))
        continue;
      if (w.space != Space::Hbm && (w.lastPartition <= o.firstPartition || o.lastPartition <= w.firstPartition))
        continue;
      const bool same = w.fixed && o.fixed && w.start.lo == o.start.lo && w.partition.lo == o.partition.lo &&
                        x.dtype == y.dtype && x.partitions == y.partitions && x.rank == y.rank &&
                        std::equal(x.dims.begin(), x.dims.begin() + x.rank, y.dims.begin());
      if (same && !otherWritten)
        continue;
      if (runsMeet(w.runs, o.runs))
        fail("OPERAND-OVERLAP", who(d), w.slot,
             format("registers can move `%s` (%s) and `%s` (%s) onto each other without making them the same view",
                    program.objectName(w.object).c_str(), std::string(d.def->slots[w.slot].name).c_str(),
                    program.objectName(o.object).c_str(), std::string(d.def->slots[o.slot].name).c_str()));
    }
  }
}

} // namespace glia::flow
