#include "OrderMachine.h"
#include "Rules.h"
#include "glia/ISA/Control.h"

namespace glia::sim {

OrderMachine::OrderMachine(const Program &p, const TensorViews &inputs, const RunOptions &options)
    : Machine(p, inputs, options), windows(p, memory), definedness(memory) {
  const size_t objects = std::max(p.allocations.size(), p.tensors.size());
  if (objects > kMostOwners)
    throw Error("RUN-ORDERS",
                format("the program has %zu objects, and all its orders are followed for up to %u", objects, kMostOwners),
                "Use strict mode (--strict) with several seeds.");
  int next = static_cast<int>(p.queues.size());
  for (int pipe : pipesOf())
    pipes[pipe] = next++;
  Decoded d;
  for (const StreamState &s : streams) {
    std::vector<uint32_t> &first = firstReachable.emplace_back(s.size);
    std::vector<std::string_view> &names = barrierNames.emplace_back(s.size);
    for (uint32_t i = 0; i < s.size; ++i)
      first[i] = i;
    for (uint32_t i = 0; i < s.size; ++i) {
      decode(p, s.core, s.engine, i, d);
      if (beginsLoop(*d.def)) {
        const int32_t end = d.values[d.def->slot("end")].integer;
        for (uint32_t j = i; j < s.size && static_cast<int64_t>(j) <= end; ++j)
          first[j] = std::min(first[j], i);
      }
      const int name = d.def->unit == Unit::Barrier ? d.def->slot("name") : -1;
      if (name >= 0 && d.values[name].kind == Value::Text)
        names[i] = p.strings[d.values[name].integer];
    }
  }
}

OrderState OrderMachine::begin() {
  OrderState s;
  windows.copyOut(s.bytes);
  s.tags.resize(windows.size());
  for (const Windows::Window &w : windows.all())
    if (memory.memories[w.memory].begun)
      for (int64_t k = 0; k < w.hi - w.lo; ++k)
        s.tags[w.start + k].defined = 1;
  s.streams.resize(streams.size());
  for (const Semaphore &sem : program.semaphores)
    s.semaphores.push_back(sem.initial);
  s.queues.resize(program.queues.size() + pipes.size());
  return s;
}

std::span<const SyncOp> OrderMachine::waits(const OrderState &s, int i) const {
  const Stream &stream = program.stream(streams[i].core, streams[i].engine);
  const Instr &in = stream.instrs[s.streams[i].pc];
  return {stream.syncs.data() + in.sync, in.numWaits};
}

void OrderMachine::enabled(const OrderState &s, std::vector<OrderStep> &out) const {
  out.clear();
  for (size_t i = 0; i < streams.size(); ++i) {
    const OrderStream &o = s.streams[i];
    if (o.pc >= streams[i].size)
      continue;
    OrderStep step;
    step.stream = static_cast<uint16_t>(i);
    step.id = {static_cast<uint8_t>(streams[i].core), streams[i].engine, o.pc};
    if (o.barrier) {
      const auto arrived = s.arrivals.find({barrierNames[i][o.pc], peerOf(streams[i].core)});
      if (arrived == s.arrivals.end() || arrived->second < o.barrier)
        continue;
      step.kind = OrderStep::Leave;
    } else if (const auto w = waits(s, static_cast<int>(i)); o.waited < static_cast<int>(w.size())) {
      if (s.semaphores[w[o.waited].semaphore] < w[o.waited].value)
        continue;
      step.kind = OrderStep::Wait;
      step.part = static_cast<uint8_t>(o.waited);
    }
    out.push_back(step);
  }
  for (size_t q = 0; q < s.queues.size(); ++q)
    for (int part = 0; part < kOrderParts; ++part) {
      bool first = true; // of those whose part is not complete
      for (size_t k = 0; k < s.queues[q].inFlight.size(); ++k) {
        const OrderTransfer &t = s.queues[q].inFlight[k];
        const OrderTransfer::Part &p = t.parts[part];
        if (p.complete)
          continue;
        OrderStep step;
        step.part = static_cast<uint8_t>(part);
        step.queue = static_cast<uint16_t>(q);
        step.transfer = static_cast<uint32_t>(k);
        bool written = true;
        for (size_t side = 0; side < t.sides.size(); ++side) {
          step.side = static_cast<uint8_t>(side);
          step.id = t.sides[side]->id;
          written &= p.phase[side] == OrderTransfer::Written;
          if (p.phase[side] == OrderTransfer::Written)
            continue;
          step.kind = p.phase[side] == OrderTransfer::Issued ? OrderStep::Read : OrderStep::Write;
          out.push_back(step);
        }
        if (written && first) { // D3
          step.side = 0;
          step.id = t.sides[0]->id;
          step.kind = OrderStep::Complete;
          out.push_back(step);
        }
        first = false;
      }
    }
}

std::string OrderMachine::text(const OrderStep &step) const {
  std::string who = describe(program, step.id);
  switch (step.kind) {
  case OrderStep::Wait: {
    const Stream &stream = program.stream(step.id.core, step.id.engine);
    const SyncOp &w = stream.syncs[stream.instrs[step.id.index].sync + step.part];
    return who + format(" passes `%s` >= %d", program.semaphores[w.semaphore].name.c_str(), w.value);
  }
  case OrderStep::Do: return who;
  case OrderStep::Leave: return who + " goes on";
  case OrderStep::Read: return who + format(", part %d reads", step.part);
  case OrderStep::Write: return who + format(", part %d writes", step.part);
  case OrderStep::Complete: return who + format(", part %d completes", step.part);
  }
  return who;
}

// ---- steps -----------------------------------------------------------------------------------------------------------------

OrderState OrderMachine::take(const OrderState &from, const OrderStep &step) {
  now = from;
  current = step.id;
  OrderTransfer *t = nullptr;
  switch (step.kind) {
  case OrderStep::Wait: {
    OrderStream &s = now.streams[step.stream];
    const SyncOp &w = waits(now, step.stream)[s.waited++];
    if (w.kind == SyncKind::WaitGeConsume)
      now.semaphores[w.semaphore] -= w.value;
    break;
  }
  case OrderStep::Do:
  case OrderStep::Leave: instruction(step.stream, step.kind == OrderStep::Leave); break;
  case OrderStep::Read:
  case OrderStep::Write:
  case OrderStep::Complete:
    t = &now.queues[step.queue].inFlight[step.transfer];
    if (step.kind == OrderStep::Read)
      readPart(*t, step.part, step.side);
    else if (step.kind == OrderStep::Write)
      writePart(*t, step.part, step.side);
    else
      completePart(now.queues[step.queue], *t, step.part);
    break;
  }
  return std::move(now);
}

void OrderMachine::beforeRegisters(const StreamState &s, const Prepared &x) {
  requireRegisters(program, s, x, now.streams[s.core * kNumEngines + static_cast<int>(s.engine)].defined);
}

void OrderMachine::resume(int i) {
  const OrderStream &o = now.streams[i];
  StreamState &s = streams[i];
  s.pc = o.pc;
  s.waited = o.waited;
  s.barrier = o.barrier;
  s.state = o.state;
  s.loops = o.loops;
}

void OrderMachine::instruction(int i, bool leave) {
  resume(i);
  StreamState &s = streams[i];
  Prepared &x = fetch(s, s.scratch);
  switch (x.d.def->unit) {
  case Unit::Compute:
  case Unit::Register:
    compute(i, x);
    fire(x);
    ++s.pc;
    break;
  case Unit::Control:
    control(s, x);
    fire(x);
    break;
  case Unit::Dma:
    checkTransferUpdates(x);
    issue(x);
    ++s.pc;
    break;
  case Unit::Exchange:
    checkTransferUpdates(x);
    issueExchange(x);
    ++s.pc;
    break;
  case Unit::Barrier:
    if (leave) {
      fire(x);
      ++s.pc;
      s.barrier = 0;
    } else {
      s.barrier = ++now.arrivals[{barrierNames[i][s.pc], s.core}];
    }
    break;
  }
  OrderStream &o = now.streams[i];
  o.pc = s.pc;
  o.waited = s.barrier ? s.waited : 0;
  o.barrier = s.barrier;
  o.state = s.state;
  o.loops = s.loops;
}

void OrderMachine::fire(const Prepared &x) {
  for (const SyncOp &op : x.d.updates) {
    int32_t &value = now.semaphores[op.semaphore];
    value = semaphoreValue(x.id, op.semaphore,
                           op.kind == SyncKind::Add   ? int64_t{value} + op.value
                           : op.kind == SyncKind::Sub ? int64_t{value} - op.value
                                                      : op.value);
  }
}

// ---- memory ----------------------------------------------------------------------------------------------------------------

// Puts the state's bytes into the simulated memory.
void OrderMachine::load() {
  windows.copyIn(now.bytes);
  const bool all = bits.empty(); // what `definedness` holds is not known
  bits.resize(now.tags.size());
  for (const Windows::Window &w : windows.all())
    for (int r = 0; r < w.rows; ++r) {
      const size_t start = w.start + r * (w.hi - w.lo);
      for (int64_t k = 0; k < w.hi - w.lo; ++k) {
        const uint8_t undefined = !now.tags[start + k].defined;
        if (all || bits[start + k] != undefined)
          definedness.store(w.memory, w.firstRow + r, w.lo + k, 1, &undefined, 1);
        bits[start + k] = undefined;
      }
    }
}

template <class F> void OrderMachine::forEachByte(const Region &r, int core, F &&f) const {
  const int m = memory.place(r.object, core).memory;
  const ByteSet set = byteSet(r);
  for (int p = r.firstPartition; p < r.firstPartition + r.partitions; ++p)
    forEachRun(set, [&](int64_t lo, int64_t hi) {
      const int64_t at = windows.at(m, p, lo);
      for (int64_t k = 0; at >= 0 && k < hi - lo; ++k)
        f(at + k, m, p, lo + k);
      return true;
    });
}

void OrderMachine::compute(int i, Prepared &x) {
  load();
  requireTable(program, streams[i], x);
  requireApart(program, memory, x);
  const std::vector<Slot> &slots = x.d.def->slots;
  std::vector<std::vector<ByteRect>> foreign(slots.size());
  for (size_t k = 0; k < slots.size(); ++k) {
    const int slot = static_cast<int>(k);
    if (!isRead(x, slot))
      continue;
    const Region &r = x.operands[k].region;
    const bool base = byTensorEngine(x) && isWritten(slots[k].kind);
    const bool anyWriter = program.target->has("psum_accumulate_any_writer");
    forEachByte(r, x.d.core, [&](int64_t at, int, int row, int64_t byte) {
      const ByteTag t = now.tags[at];
      if (isForeign(t, r))
        foreign[k].push_back({row / 32, 1u << row % 32, byte, byte + 1});
      if (base && (t.owner != r.object.index + 1 || !(t.matmul || anyWriter)))
        faultAt(program, x.id, "PSUM-ACCUMULATE",
                format("byte %lld on partition %d of `%s` is accumulated onto and was %s", (long long)byte, row,
                       program.objectName(r.object).c_str(), anyWriter ? "never written" : "not last written by a matmul"));
    });
  }
  bits.swap(stale); // until this instruction is done
  bits.clear();
  definedness.apply(x, x.operands, foreign, now.streams[i].defined);
  execute(x, x.operands, 0, 1);
  windows.copyOut(now.bytes);
  bits.swap(stale);
  std::vector<uint8_t> undefined;
  for (size_t k = 0; k < slots.size(); ++k) {
    if (!isWritten(slots[k].kind) || x.d.values[k].kind != Value::Tensor)
      continue;
    const Region &r = x.operands[k].region;
    forEachByte(r, x.d.core, [&](int64_t at, int m, int row, int64_t byte) {
      undefined.clear();
      definedness.elements(m, row, byte, 1, 1, undefined);
      bits[at] = undefined[0];
      now.tags[at].defined = !undefined[0];
      now.tags[at].matmul = byTensorEngine(x);
      now.tags[at].owner = static_cast<uint16_t>(r.object.index + 1);
    });
  }
}

// ---- the end ---------------------------------------------------------------------------------------------------------------

TensorData OrderMachine::end(const OrderState &s) {
  now = s;
  bool open = false;
  for (size_t i = 0; i < streams.size(); ++i) {
    resume(static_cast<int>(i));
    open |= !streams[i].ended();
  }
  std::vector<std::string> alone;
  for (const OrderQueue &q : now.queues)
    for (const auto &waiting : q.waiting)
      for (const auto &x : waiting)
        alone.push_back(describe(program, x->id) + " never meets its partner on the other core");
  if (open || !alone.empty())
    throw deadlock([&](int semaphore) { return now.semaphores[semaphore]; }, std::move(alone));
  for (uint32_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor &t = program.tensors[i];
    if (t.kind != TensorKind::Output || t.bytes() == 0)
      continue;
    const int64_t start = windows.at(memory.place({ObjectKind::Tensor, i}, 0).memory, 0, 0);
    for (int64_t k = 0; k < t.bytes(); ++k)
      if (!now.tags[start + k].defined)
        undefinedOutput(program, t, k / sizeOf(t.dtype), now.tags[start + k].owner != 0, nullptr);
  }
  windows.copyIn(now.bytes);
  return memory.outputs();
}

} // namespace glia::sim
