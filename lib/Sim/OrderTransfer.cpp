// Transfers in every-order mode: a part reads all it has to, later writes it, later completes.
#include "OrderMachine.h"
#include "Rules.h"

namespace glia::sim {

// A part stands for several of the sixteen. Where all waits on transfers ask for halves of them, halves show what can happen.
// Another wait can pass with any number complete: fifteen without the last one, or one alone.
std::vector<OrderMachine::Shares> OrderMachine::sharesToTry() const {
  const int half = parts / kOrderParts;
  std::vector<bool> byTransfer(program.semaphores.size()), byEngine(program.semaphores.size());
  bool other = false;
  for (const bool collect : {true, false})
    for (const StreamState &s : streams) {
      const Stream &stream = program.stream(s.core, s.engine);
      for (const Instr &in : stream.instrs) {
        const Unit unit = program.opcodes[in.opcode]->unit;
        for (uint32_t k = in.sync; k < in.sync + in.numWaits + in.numUpdates; ++k) {
          const SyncOp &op = stream.syncs[k];
          if (k >= in.sync + in.numWaits)
            (unit == Unit::Dma || unit == Unit::Exchange ? byTransfer : byEngine)[op.semaphore] = true;
          else if (!collect && byTransfer[op.semaphore])
            other |= byEngine[op.semaphore] || (op.value - program.semaphores[op.semaphore].initial) % half != 0;
        }
      }
    }
  if (!other)
    return {{half, parts - half}};
  return {{half, parts - half}, {1, parts - 1}, {parts - 1, 1}};
}

void OrderMachine::enqueue(OrderQueue &q, std::vector<std::shared_ptr<const Prepared>> sides) {
  OrderTransfer t;
  t.sides = std::move(sides);
  t.number = ++q.issued;
  for (size_t side = 0; side < t.sides.size(); ++side)
    if (t.sides[side]->skip)
      for (OrderTransfer::Part &p : t.parts)
        p.phase[side] = OrderTransfer::Written;
  q.inFlight.push_back(std::move(t));
}

void OrderMachine::issue(const Prepared &x) {
  if (x.queue < 0)
    faultAt(program, x.id, "SIM-INSTRUCTION", "`" + std::string(x.d.def->name) + "` has no queue");
  OrderQueue &q = now.queues[x.queue];
  takeQueue(q.owner, x, "queue `" + program.queues[x.queue].name + "`");
  if (!x.skip)
    requireApart(program, memory, x);
  enqueue(q, {std::make_shared<const Prepared>(x)});
}

void OrderMachine::issueExchange(const Prepared &x) {
  OrderQueue &q = now.queues[pipeQueue(x)];
  takeQueue(q.owner, x, format("pipe %d", pipeOf(x)));
  requireApartExchange(program, memory, x);
  q.waiting[x.d.core & 1].push_back(std::make_shared<const Prepared>(x));
  if (q.waiting[0].empty() || q.waiting[1].empty())
    return;
  auto a = std::make_shared<Prepared>(*q.waiting[0].front()), b = std::make_shared<Prepared>(*q.waiting[1].front());
  for (auto &waiting : q.waiting)
    waiting.pop_front();
  std::swap(a->operands[sourceSlot(*a)], b->operands[sourceSlot(*b)]);
  enqueue(q, {std::move(a), std::move(b)});
}

// ---- reading ---------------------------------------------------------------------------------------------------------------

void OrderMachine::readPart(OrderTransfer &t, int part, int side) {
  const Prepared &x = *t.sides[side];
  load();
  touching = {};
  touching.x = &x;
  touching.undefined.resize(x.operands.size());
  writer.assign(windows.size(), -1);
  std::vector<Exec::Operand> operands = x.operands;
  exec.recorder = this;
  struct Stop {
    Exec &exec;
    ~Stop() { exec.recorder = nullptr; }
  } stop{exec};
  execute(x, operands, part, kOrderParts);
  std::vector<std::byte> after;
  windows.copyOut(after);
  requireOrderless(after);
  const uint16_t owner = static_cast<uint16_t>(x.operands[x.d.def->slot("dst")].region.object.index + 1);
  std::vector<OrderPiece> &pieces = t.parts[part].pieces[side];
  for (size_t i = 0; i < touching.writes.size(); ++i) {
    const Touching::Run &w = touching.writes[i];
    if (pieces.empty() || pieces.back().at + static_cast<int64_t>(pieces.back().bytes.size()) != w.at)
      pieces.push_back({w.at, {}, {}});
    for (int64_t k = 0; k < w.bytes; ++k) {
      pieces.back().bytes.push_back(after[w.at + k]);
      ByteTag tag;
      tag.defined = !touching.writtenUndefined[i][k / w.size];
      tag.owner = owner;
      pieces.back().tags.push_back(tag);
    }
  }
  t.parts[part].phase[side] = OrderTransfer::Read;
}

void OrderMachine::touched(int slot, const Region &r, int partition, int64_t byteInRow, int64_t bytes, bool write) {
  const int row = r.firstPartition + partition;
  const int64_t lo = r.start + byteInRow;
  write ? touchedWrite(r, row, lo, bytes) : touchedRead(slot, r, row, lo, bytes);
}

// Reads of a stretch of elements come before the writes of the same elements (ISA/Transfer.h).
void OrderMachine::touchedRead(int slot, const Region &r, int row, int64_t lo, int64_t bytes) {
  const Prepared &x = *touching.x;
  const int size = sizeOf(r.dtype);
  const int64_t at = windows.at(memory.place(r.object, x.d.core).memory, row, lo);
  auto undefined = [&](int64_t k) { return at >= 0 && (!now.tags[at + k].defined || isForeign(now.tags[at + k], r)); };
  if (slot == x.index) {
    for (int64_t k = 0; k < bytes; ++k)
      if (undefined(k))
        faultAt(program, x.id, "UNDEFINED-ADDRESS",
                "undefined bytes of `" + program.objectName(r.object) + "` are used as indices");
    return;
  }
  if (touching.written) {
    touching.first += touching.written;
    touching.written = 0;
    for (auto &u : touching.undefined)
      u.clear();
  }
  std::vector<uint8_t> &flags = touching.undefined[slot];
  if (at >= 0)
    touching.reads.push_back({at, bytes, touching.first + static_cast<int64_t>(flags.size()), size});
  for (int64_t k = 0; k < bytes; k += size) {
    bool bad = false;
    for (int b = 0; b < size; ++b)
      bad |= undefined(k + b);
    flags.push_back(bad);
  }
}

void OrderMachine::touchedWrite(const Region &r, int row, int64_t lo, int64_t bytes) {
  const Prepared &x = *touching.x;
  const int size = sizeOf(r.dtype);
  const int m = memory.place(r.object, x.d.core).memory;
  const int64_t at = windows.at(m, row, lo), first = touching.first + touching.written;
  std::vector<uint8_t> undefined(bytes / size);
  for (const auto &flags : touching.undefined)
    for (size_t k = 0; k < undefined.size() && touching.written + k < flags.size(); ++k)
      undefined[k] |= flags[touching.written + k];
  const std::byte *before = r.base - r.start + lo + (row - r.firstPartition) * r.pitch;
  for (int64_t k = 0; k < bytes; ++k) {
    int64_t &by = writer[at + k];
    if (by >= 0)
      touching.twice.emplace_back(at + k, before[k]);
    by = first + k / size;
  }
  touching.writes.push_back({at, bytes, first, size});
  touching.writtenUndefined.push_back(std::move(undefined));
  touching.written += bytes / size;
}

// The elements of a part come in no particular order: one that reads or writes what another one changes is a race.
void OrderMachine::requireOrderless(const std::vector<std::byte> &after) const {
  const Prepared &x = *touching.x;
  for (const auto &[at, before] : touching.twice)
    if (after[at] != before)
      faultAt(program, x.id, x.indexed >= 0 ? "SCATTER-UNIQUE" : "RACE",
              "the transfer writes a byte twice with different values, and its parts come in any order");
  for (const Touching::Run &r : touching.reads)
    for (int64_t k = 0; k < r.bytes; ++k) {
      const int64_t by = writer[r.at + k];
      if (by >= 0 && by != r.element + k / r.size && after[r.at + k] != now.bytes[r.at + k])
        faultAt(program, x.id, "RACE",
                "the transfer reads a byte that another of its elements changes, and they come in any order");
    }
}

// ---- writing and completing ------------------------------------------------------------------------------------------------

void OrderMachine::writePart(OrderTransfer &t, int part, int side) {
  OrderTransfer::Part &p = t.parts[part];
  for (const OrderPiece &piece : p.pieces[side]) {
    std::copy(piece.bytes.begin(), piece.bytes.end(), now.bytes.begin() + piece.at);
    std::copy(piece.tags.begin(), piece.tags.end(), now.tags.begin() + piece.at);
  }
  p.pieces[side].clear();
  p.phase[side] = OrderTransfer::Written;
}

void OrderMachine::completePart(OrderQueue &q, OrderTransfer &t, int part) {
  t.parts[part].complete = true;
  for (const auto &x : t.sides)
    for (const SyncOp &op : x->d.updates) {
      int32_t &value = now.semaphores[op.semaphore];
      value = semaphoreValue(x->id, op.semaphore, int64_t{value} + shares[part]);
    }
  while (!q.inFlight.empty() && q.inFlight.front().complete())
    q.inFlight.pop_front();
}

} // namespace glia::sim
