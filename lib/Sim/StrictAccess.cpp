// What instructions touch in strict mode: races, ownership, overlap of operands, and that the semantics stay in their operands.
#include "Rules.h"
#include "Strict.h"
#include "glia/ISA/Collective.h"

namespace glia::sim {

Touch Strict::touchOf(const Region &r) const {
  Touch t;
  t.component = event.component;
  t.time = event.time;
  t.owner = r.object.index;
  t.by = event.x->id;
  t.matmul = byTensorEngine(*event.x);
  return t;
}

std::string Strict::objectBytes(const Region &r, const ByteRect &w) const {
  if (r.space == Space::Hbm)
    return format("bytes %lld to %lld of `%s`", (long long)w.lo, (long long)w.hi, program.objectName(r.object).c_str());
  const Place &place = memory.place(r.object, event.x->d.core);
  const int first = w.quad * 32 + std::countr_zero(w.mask) - place.firstPartition;
  const int last = w.quad * 32 + 31 - std::countl_zero(w.mask) - place.firstPartition;
  return format("bytes %lld to %lld on partitions %d to %d of `%s`", (long long)(w.lo - place.start),
                (long long)(w.hi - place.start), first, last, program.objectName(r.object).c_str());
}

void Strict::race(const Conflict &c, int slot, const Region &r, bool write) {
  const Prepared &x = *event.x;
  const std::string where = objectBytes(r, c.where);
  const std::string slotName(x.d.def->slots[slot].name);
  if (c.other.sameEvent(touchOf(r)))
    faultAt(program, x.id, x.indexed >= 0 ? "SCATTER-UNIQUE" : "RACE",
            "the transfer writes " + where + " twice, and its parts come in any order", {}, slotName);
  const std::string other = describe(program, c.other.by);
  std::string alias;
  if (r.space != Space::Hbm && c.other.owner != r.object.index)
    alias = " (as `" + program.allocations[c.other.owner].name + "`)";
  const auto fault = [&] {
    faultAt(program, x.id, "RACE",
            std::string(write ? "the write to " : "the read of ") + where + " (" + slotName + ") is not ordered after the " +
                (c.other.write ? "write" : "read") + alias + " by " + other,
            {"the other access: " + other,
             format("hold it back with --hold core%d.%s#%u to see the other order", c.other.by.core,
                    std::string(name(c.other.by.engine)).c_str(), c.other.by.index)});
  };
  if (!options.passRaces)
    fault();
  if (!result.race)
    try {
      fault();
    } catch (Fault &f) {
      result.race = std::move(f.diagnostic);
    }
}

// Two transfers of different cores that store equal bytes in a shared tensor (docs/ordering.md, C4). What they store is known now:
// sources of transfers do not change before these are complete.
bool Strict::storesTheSame(const Conflict &c, int slot) {
  const Prepared &mine = *event.x;
  if (!event.transfer || mine.d.def->unit != Unit::Dma || isCollective(*mine.d.def) || mine.indexed >= 0 ||
      c.other.by.core == mine.id.core)
    return false;
  const Region r = mine.operands[slot].region;
  std::byte *bytes = memory.place(r.object, mine.d.core).base;
  if (r.space != Space::Hbm)
    return false;
  const int64_t lo = c.where.lo, hi = c.where.hi;
  const std::vector<std::byte> before(bytes + byteSet(r).start, bytes + byteSet(r).last);
  const Event now = event;
  const auto stored = [&](const Prepared &x, int64_t number, const Clock &clock) {
    std::vector<Exec::Operand> operands = x.operands;
    for (int part = 0; part < parts; ++part)
      executeRecorded({&x, now.component, static_cast<uint32_t>(number), &clock, true}, operands, part, parts);
    std::vector<std::byte> out(bytes + lo, bytes + hi);
    std::copy(before.begin(), before.end(), bytes + byteSet(r).start);
    return out;
  };
  std::vector<std::byte> theirs(bytes + lo, bytes + hi);
  for (const TransferQueue &q : queues)
    if (q.component == c.other.component)
      for (const Transfer &t : q.inFlight)
        if (t.number == c.other.time)
          theirs = stored(t.sides[0], t.number, t.clock);
  const std::vector<std::byte> ours = stored(mine, now.time, *now.clock);
  event = now;
  return ours == theirs;
}

void Strict::accessRegion(int slot, const Region &r, bool write) {
  const int m = memory.place(r.object, event.x->d.core).memory;
  if (memory.memories[m].readOnly) {
    readOnlyUsed[m] = true; // nobody writes it
    return;
  }
  const Touch t = touchOf(r);
  const ByteSet set = byteSet(r);
  if (write && event.transfer && set.repeats)
    faultAt(program, event.x->id, "RACE",
            "the destination `" + program.objectName(r.object) +
                "` names bytes twice, and the parts of a transfer come in any order");
  Findings findings;
  findings.wantBase = !write && byTensorEngine(*event.x) && isWritten(event.x->d.def->slots[slot].kind);
  findings.anyWriter = findings.wantBase && program.target->has("psum_accumulate_any_writer");
  Conflict conflict;
  forEachQuad(r.firstPartition, r.partitions, [&](int quad, uint32_t mask) {
    forEachRun(set, [&](int64_t lo, int64_t hi) {
      const ByteRect where{quad, mask, lo, hi};
      const auto touch = [&](const Clock &knows) {
        return write ? shadows[m].write(where, t, knows, event.transfer, conflict,
                                        [&](const Conflict &c) { return storesTheSame(c, slot); })
                     : shadows[m].read(where, t, knows, findings, conflict);
      };
      if (!touch(*event.clock)) {
        race(conflict, slot, r, write);
        touch(Clock(event.clock->size(), UINT32_MAX)); // as if it were ordered
      }
      return true;
    });
  });
  if (!findings.noBase.empty())
    faultAt(program, event.x->id, "PSUM-ACCUMULATE",
            objectBytes(r, findings.noBase.front()) + " are accumulated onto and were " +
                (findings.anyWriter ? "never written" : "not last written by a matmul"));
  if (!write)
    foreign[slot] = std::move(findings.foreign);
}

void Strict::access(const Event &e, const std::vector<Exec::Operand> &operands) {
  event = e;
  const Prepared &x = *e.x;
  const std::vector<Slot> &slots = x.d.def->slots;
  if (foreign.size() < slots.size())
    foreign.resize(slots.size());
  for (auto &f : foreign)
    f.clear();
  // Rows that indices pick are known when they are touched; the other side may be skipped, so it is looked at then, too.
  auto later = [&](int slot) { return x.indexed >= 0 && slot != x.index; };
  if (x.d.def->unit != Unit::Exchange)
    requireApart(program, memory, x);
  for (int i = 0; i < static_cast<int>(slots.size()); ++i)
    if (isRead(x, i) && !later(i))
      accessRegion(i, operands[i].region, false);
  for (int i = 0; i < static_cast<int>(slots.size()); ++i)
    if (isWritten(slots[i].kind) && x.d.values[i].kind == Value::Tensor && !later(i))
      accessRegion(i, operands[i].region, true);
}

// ---- what the semantics really touch --------------------------------------------------------------------------------------

void Strict::executeRecorded(const Event &e, std::vector<Exec::Operand> &operands, int part, int ofParts) {
  event = e;
  extents.assign(operands.size(), {1, 0});
  touchedElements.resize(std::max(touchedElements.size(), operands.size()));
  for (auto &t : touchedElements)
    t.clear();
  touchedWritten = 0;
  touchedBefore = 0;
  execute(*e.x, operands, part, ofParts);
}

void Strict::touched(int slot, const Region &r, int partition, int64_t byteInRow, int64_t bytes, bool write) {
  const Prepared &x = *event.x;
  const int row = r.firstPartition + partition;
  const int64_t lo = r.start + byteInRow;
  if (options.onTouch)
    options.onTouch(x.d, slot, row, lo, bytes, write);
  if (write && !isWritten(x.d.def->slots[slot].kind))
    faultAt(program, x.id, "SIM-FOOTPRINT",
            "the semantics write operand `" + std::string(x.d.def->slots[slot].name) + "`, which is a source");
  if (x.indexed >= 0 && slot != x.index)
    return touchedIndexed(slot, r, row, lo, bytes, write);
  Extent &extent = extents[slot];
  if (extent.lo > extent.hi) {
    const ByteSet s = byteSet(r);
    extent = {s.start, s.last};
  }
  if (partition < 0 || partition >= r.partitions || lo < extent.lo || lo + bytes > extent.hi)
    faultAt(program, x.id, "SIM-FOOTPRINT",
            format("the semantics touch byte %lld of partition %d, outside operand `%s`", (long long)lo, row,
                   std::string(x.d.def->slots[slot].name).c_str()));
}

// Elements of one transfer come in no particular order: what one of them writes, no other may read. An element may read what
// it writes itself.
void Strict::touchedTwice(int slot, const Region &r, int64_t lo, int64_t bytes, int64_t element, bool write) {
  const Prepared &x = *event.x;
  if (!event.under->own ||
      memory.place(r.object, x.d.core).memory != memory.place(x.d.values[x.indexed].access.object, x.d.core).memory)
    return;
  auto &stretches = event.under->stretches;
  Touch t = touchOf(r);
  t.component = static_cast<uint16_t>(event.part);
  t.time = stretches.emplace(lo - element * sizeOf(r.dtype), static_cast<uint32_t>(stretches.size() + 1)).first->second;
  const Clock nothing(parts);
  const ByteRect where{0, 1, lo, lo + bytes};
  Findings findings;
  Conflict conflict;
  if (!(write ? event.under->own->write(where, t, nothing, false, conflict)
              : event.under->own->read(where, t, nothing, findings, conflict)))
    faultAt(program, x.id, "RACE",
            "the transfer reads " + objectBytes(r, conflict.where) +
                " for one row and writes them for another, and its parts come in any order",
            {}, std::string(x.d.def->slots[slot].name));
}

// Reads of a stretch of elements come before the write of the same elements (ISA/Transfer.h).
void Strict::touchedIndexed(int slot, const Region &r, int row, int64_t lo, int64_t bytes, bool write) {
  const int m = memory.place(r.object, event.x->d.core).memory, size = sizeOf(r.dtype);
  const ByteRect where{row / 32, 1u << row % 32, lo, lo + bytes};
  Findings findings;
  Conflict conflict;
  if (memory.memories[m].readOnly)
    readOnlyUsed[m] = true;
  else if (!(write ? shadows[m].write(where, touchOf(r), *event.clock, true, conflict)
                   : shadows[m].read(where, touchOf(r), *event.clock, findings, conflict)))
    race(conflict, slot, r, write);
  if (!write) {
    if (touchedWritten) {
      for (auto &t : touchedElements)
        t.clear();
      touchedBefore += static_cast<int64_t>(touchedWritten);
      touchedWritten = 0;
    }
    std::vector<uint8_t> &flags = touchedElements[slot];
    const size_t first = flags.size();
    touchedTwice(slot, r, lo, bytes, touchedBefore + static_cast<int64_t>(first), false);
    definedness.elements(m, row, lo, bytes, size, flags);
    for (const ByteRect &f : findings.foreign)
      for (size_t k = first; k < flags.size(); ++k) {
        const int64_t at = lo + static_cast<int64_t>(k - first) * size;
        flags[k] |= at < f.hi && f.lo < at + size;
      }
    return;
  }
  touchedTwice(slot, r, lo, bytes, touchedBefore + static_cast<int64_t>(touchedWritten), true);
  const size_t count = bytes / size;
  std::vector<uint8_t> undefined(count);
  for (const auto &flags : touchedElements)
    for (size_t k = 0; k < count && touchedWritten + k < flags.size(); ++k)
      undefined[k] |= flags[touchedWritten + k];
  touchedWritten += count;
  definedness.store(m, row, lo, size, undefined.data(), static_cast<int64_t>(count));
}

} // namespace glia::sim
