// What the sequential executor leaves to several threads: instructions, tiles to be cleared, tensors to be copied. They are taken in the
// one order; those that touch different bytes run at the same time. The other threads do not touch the IR: its context is for one.
#include "ExecuteRun.h"

#include <bit>

namespace glia::execute {

static sim::Box boxOf(const Place &p, bool write) {
  const auto base = reinterpret_cast<uintptr_t>(p.base);
  if (p.space == Space::Hbm)
    return {0, static_cast<int64_t>(base), static_cast<int64_t>(base) + p.bytes, 0, 1, write};
  return {base - static_cast<uintptr_t>(p.firstPartition * p.pitch + p.start),
          p.start,
          p.start + p.bytes,
          p.firstPartition,
          p.firstPartition + p.partitions,
          write};
}

// Those that nothing else is ordered by must be done when they are taken: registers decide what comes next, a print is seen from outside.
static bool hasRegisters(const InstrDef &def) {
  return std::any_of(def.slots.begin(), def.slots.end(),
                     [](const Slot &s) { return s.kind == SlotKind::RegIn || s.kind == SlotKind::RegOut; });
}

void Run::work(Exec &on, Work &w) {
  if (w.x)
    execute(on, *w.core, *w.x, w.flag, w.value);
  else if (w.to)
    copyBytes(*w.place, w.to);
  else
    memory.clear(*w.place);
}

void Run::submit(CoreState &c, Bound &x, int flag, int32_t value) {
  if (!flight || flight->alone())
    return execute(exec, c, x, flag, value);
  const InstrDef &def = x.instr.def();
  sim::Task &task = flight->claim();
  task.boxes.clear();
  if (def.accumulator)
    task.boxes.push_back(sim::boxOf(c.engines[static_cast<int>(x.engine)]));
  bool writes = false;
  for (size_t k = 0; k < x.operands.size(); ++k) {
    const int slot = static_cast<int>(k);
    if (!x.instr.tensor(slot))
      continue;
    const bool write = isWritten(def.slots[k].kind);
    writes |= write;
    task.boxes.push_back(sim::boxOf(x.operands[k].region, write, slot == x.indexed));
  }
  if (hasRegisters(def)) {
    flight->await(task);
    return execute(exec, c, x, flag, value);
  }
  if (!writes) {
    settle();
    return execute(exec, c, x, flag, value);
  }
  task.number = issued++;
  task.label = std::bit_cast<uint64_t>(x.instr.operation());
  Work &w = works[static_cast<size_t>(task.place)];
  const bool comesOnce = all.keepsAll() && c.frames.size() == 1;
  if (!comesOnce)
    w.own = x;
  w.core = &c;
  w.x = comesOnce ? &x : &w.own;
  w.flag = flag;
  w.value = value;
  flight->issue(task);
}

void Run::clear(const Place &p) {
  if (!flight || flight->alone())
    return memory.clear(p);
  copy(p, nullptr);
}

void Run::copy(const Place &p, std::byte *to) {
  if (!flight || flight->alone())
    return copyBytes(p, to);
  sim::Task &task = flight->claim();
  task.boxes.assign(1, boxOf(p, !to));
  task.number = issued++;
  task.label = std::bit_cast<uint64_t>(current);
  Work &w = works[static_cast<size_t>(task.place)];
  w.x = nullptr;
  w.place = &p;
  w.to = to;
  flight->issue(task);
}

void Run::settle() {
  if (!flight)
    return;
  flight->drain();
  if (const sim::InFlight::Failure *f = flight->failure()) {
    current = std::bit_cast<mlir::Operation *>(f->label);
    std::rethrow_exception(f->error);
  }
}

} // namespace glia::execute
