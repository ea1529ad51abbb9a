// Rules on semaphore operations and queues that need no knowledge of the order of events.
#include "StaticParts.h"

namespace glia {

SyncRules::SyncRules(const Program &p, Reporter &r)
    : p(p), r(r), queueOwner(p.queues.size(), -1), pipeOwner(p.cores, std::vector<int8_t>(256, -1)) {}

static std::string nameOf(const Program &p, const SyncOp &op) { return "`" + p.semaphores[op.semaphore].name + "`"; }

void SyncRules::checkSyncs(const InstrDef &def, const InstrRef &at, std::span<const SyncOp> ops) {
  const Target &t = *p.target;
  const bool transfer = def.unit == Unit::Dma || def.unit == Unit::Exchange;
  for (const SyncOp &op : ops) {
    if (op.value > t.semaphoreMax)
      r.fail("SYNC-RANGE", at, -1,
             format("%d on %s, which holds at most %lld", op.value, nameOf(p, op).c_str(), (long long)t.semaphoreMax),
             std::to_string(op.value), std::to_string(t.semaphoreMax));
    const bool wait = op.kind == SyncKind::WaitGe || op.kind == SyncKind::WaitGeConsume;
    if (transfer && !wait && (op.kind != SyncKind::Add || op.value != t.dmaEngines))
      r.fail("DMA-UPDATE", at, -1,
             format("a transfer adds %d to %s, one for each part, and nothing else", t.dmaEngines, nameOf(p, op).c_str()),
             std::to_string(op.value), std::to_string(t.dmaEngines));
  }
}

void SyncRules::checkQueue(const Decoded &d) {
  if (d.def->unit != Unit::Dma && d.def->unit != Unit::Exchange)
    return;
  // Several engines on one queue would make the order of its transfers a matter of luck.
  int8_t *owner = nullptr;
  for (size_t i = 0; i < d.values.size(); ++i) {
    if (d.def->slots[i].kind == SlotKind::Queue)
      owner = &queueOwner[d.values[i].integer];
    else if (d.def->unit == Unit::Exchange && d.def->slots[i].name == "pipe")
      owner = &pipeOwner[d.core][d.values[i].integer & 255];
  }
  if (!owner || *owner == static_cast<int8_t>(d.engine))
    return;
  if (*owner < 0) {
    *owner = static_cast<int8_t>(d.engine);
    return;
  }
  r.fail("QUEUE-OWNER", d, -1,
         format("the %s engine issues to a %s that the %s engine issues to", std::string(name(d.engine)).c_str(),
                d.def->unit == Unit::Dma ? "queue" : "pipe", std::string(name(static_cast<Engine>(*owner))).c_str()),
         std::string(name(d.engine)), std::string(name(static_cast<Engine>(*owner))));
}

} // namespace glia
