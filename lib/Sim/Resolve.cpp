#include "Resolve.h"

#include <algorithm>

namespace glia::sim {

using Wide = __int128;

Resolver::Resolver(const Program &p, const Memory &m) : program(p), memory(m) {
  shapes.reserve(p.patterns.size());
  for (const Pattern &x : p.patterns)
    shapes.push_back(regionShape(x));
}

void Resolver::checkTarget(const Prepared &x) const {
  const InstrDef &def = *x.d.def;
  const Target &t = *program.target;
  std::string_view missing = !def.feature.empty() && !t.has(def.feature) ? def.feature : std::string_view();
  for (const EngineNeed &need : def.engineNeeds)
    if (need.engine == x.d.engine && !t.has(need.feature))
      missing = need.feature;
  if (!missing.empty())
    faultAt(program, x.id, "TARGET-FEATURE", "target `" + t.name + "` has no `" + std::string(missing) + "`");
  if (!def.runsOn(x.d.engine))
    faultAt(program, x.id, "ENGINE",
            "`" + std::string(def.name) + "` does not run on the " + std::string(name(x.d.engine)) + " engine");
}

// A DMA's tensor `name` is indexed if its slot `name_index` is given.
static void findIndex(Prepared &x) {
  x.indexed = x.index = -1;
  const std::vector<Slot> &slots = x.d.def->slots;
  if (x.d.def->unit != Unit::Dma)
    return;
  for (size_t i = 0; i < slots.size(); ++i)
    if (slots[i].name.ends_with("_index") && isTensorSlot(slots[i].kind) && x.d.values[i].kind == Value::Tensor) {
      x.index = static_cast<int>(i);
      x.indexed = x.d.def->slot(slots[i].name.substr(0, slots[i].name.size() - 6));
    }
}

void Resolver::prepare(int core, Engine e, uint32_t index, Prepared &x) const {
  decode(program, core, e, index, x.d);
  x.id = {static_cast<uint8_t>(core), e, index};
  x.queue = -1;
  x.skip = false;
  x.dynamic.clear();
  checkTarget(x);
  const std::vector<Slot> &slots = x.d.def->slots;
  x.operands.resize(slots.size());
  findIndex(x);
  for (size_t i = 0; i < slots.size(); ++i) {
    const Value &v = x.d.values[i];
    Exec::Operand &o = x.operands[i];
    o.present = v.kind != Value::Absent;
    o.immediate = v.kind == Value::Float;
    switch (v.kind) {
    case Value::Absent: break;
    case Value::Float: o.number = v.number; break;
    case Value::Int:
      o.integer = v.integer;
      if (slots[i].kind == SlotKind::Queue)
        x.queue = v.integer;
      break;
    case Value::Register:
      o.integer = v.integer;
      if (slots[i].kind == SlotKind::RegOrInt)
        x.dynamic.push_back(static_cast<uint8_t>(i));
      break;
    case Value::Ints: o.list = v.list; break;
    case Value::Text: o.text = program.strings[v.integer]; break;
    case Value::Tensor:
      if (isWritten(slots[i].kind) && memory.place(v.access.object, core).readOnly)
        faultAt(program, x.id, "READ-ONLY",
                "`" + program.objectName(v.access.object) + "` (" + std::string(slots[i].name) +
                    ") is an input or a constant and is written");
      if (program.patterns[v.access.pattern].numDynamic)
        x.dynamic.push_back(static_cast<uint8_t>(i));
      else
        resolve(x, static_cast<int>(i), nullptr);
      break;
    }
  }
  guardRules(program, x);
}

void Resolver::resolve(Prepared &x, int slot, const EngineState *state) const {
  const Access &a = x.d.values[slot].access;
  const Place &place = memory.place(a.object, x.d.core);
  const RegionShape &shape = shapes[a.pattern];
  Wide offset = a.byteOffset, partition = a.partition;
  if (state) {
    const Pattern &pattern = program.patterns[a.pattern];
    for (int i = 0; i < pattern.numDynamic; ++i) {
      const DynamicTerm &term = pattern.dynamic[i];
      (term.partition ? partition : offset) += Wide{state->regs[term.reg]} * term.scale;
    }
  }
  Region &r = x.operands[slot].region;
  r = shape.region;
  const int64_t at = saturate(offset), lane = saturate(partition);
  const bool chip = place.space != Space::Hbm;
  const bool guarded = slot == x.indexed && at >= 0 && at <= place.bytes;
  if ((!guarded && (at + shape.lo < 0 || at + shape.hi > place.bytes)) ||
      (chip && (lane < 0 || lane + r.partitions > place.partitions))) {
    const std::string what = format(
        "`%s` (%s) reaches from byte %lld to %lld%s, and the object has %lld bytes%s", program.objectName(a.object).c_str(),
        std::string(x.d.def->slots[slot].name).c_str(), (long long)(at + shape.lo), (long long)(at + shape.hi),
        chip ? format(" on partitions %lld to %lld", (long long)lane, (long long)(lane + r.partitions - 1)).c_str() : "",
        (long long)place.bytes, chip ? format(" on %d partitions", place.partitions).c_str() : "");
    if (!state || x.d.def->unit != Unit::Dma)
      faultAt(program, x.id, "OPERAND-BOUNDS", what);
    const int oob = x.d.def->slot("oob");
    if (oob >= 0 && x.d.def->slots[oob].names && x.d.def->slots[oob].names->names[x.operands[oob].integer] == "skip") {
      x.skip = true;
      return;
    }
    throw Trap{"DGE-OOB", what};
  }
  r.space = place.space;
  r.pitch = place.pitch;
  r.object = a.object;
  r.objectBytes = place.bytes;
  r.start = chip ? place.start + at : at;
  r.firstPartition = chip ? place.firstPartition + static_cast<int32_t>(lane) : 0;
  r.base = place.base + r.firstPartition * place.pitch + r.start;
  // Semantics may look at adjacent elements in place only where the host can: misaligned ones go through a copy.
  if (r.contiguous && reinterpret_cast<uintptr_t>(r.base) % static_cast<uintptr_t>(sizeOf(r.dtype)))
    r.contiguous = false;
}

void Resolver::bind(Prepared &x, const EngineState &state) const {
  x.skip = false;
  for (int slot : x.dynamic) {
    if (x.d.values[slot].kind == Value::Register)
      x.operands[slot].integer = state.regs[x.d.values[slot].integer];
    else
      resolve(x, slot, &state);
  }
}

} // namespace glia::sim
