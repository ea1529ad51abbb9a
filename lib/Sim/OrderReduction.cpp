#include "OrderReduction.h"

namespace glia::sim {

namespace {

template <class T> void append(std::vector<T> &to, const std::vector<T> &from) {
  to.insert(to.end(), from.begin(), from.end());
}

bool share(const std::vector<int> &a, const std::vector<int> &b) {
  return std::any_of(a.begin(), a.end(), [&](int s) { return std::find(b.begin(), b.end(), s) != b.end(); });
}

} // namespace

// ---- what instructions use -------------------------------------------------------------------------------------------------

OrderReduction::OrderReduction(const OrderMachine &m) : machine(m) {
  const Program &p = m.prog();
  std::vector<int64_t> most(p.semaphores.size());
  for (size_t i = 0; i < most.size(); ++i)
    most[i] = p.semaphores[i].initial;
  for (uint32_t c = 0; c < p.cores; ++c)
    for (int e = 0; e < kNumEngines; ++e) {
      const Stream &stream = p.streams[c][e];
      const int index = static_cast<int>(instructions.size());
      std::vector<Instruction> &list = instructions.emplace_back();
      for (uint32_t i = 0; i < stream.instrs.size(); ++i) {
        list.push_back(instructionAt(index, i));
        const Instr &in = stream.instrs[i];
        const bool repeats = m.reachable(index, i) != i;
        for (uint32_t k = in.sync + in.numWaits; k < in.sync + in.numWaits + in.numUpdates; ++k)
          if (stream.syncs[k].kind == SyncKind::Add)
            most[stream.syncs[k].semaphore] += repeats ? INT32_MAX : stream.syncs[k].value;
      }
    }
  for (int64_t v : most)
    mayOverflow.push_back(v > p.target->semaphoreMax);
}

OrderReduction::Area OrderReduction::areaOf(const Region &r, int core) const {
  const ByteSet s = byteSet(r);
  return {machine.mem().place(r.object, core).memory, r.firstPartition, r.firstPartition + r.partitions, s.start, s.last};
}

OrderReduction::Instruction OrderReduction::instructionAt(int stream, uint32_t index) const {
  const Program &p = machine.prog();
  const int core = stream / kNumEngines;
  Prepared x;
  bool resolved = true;
  try {
    machine.res().prepare(core, static_cast<Engine>(stream % kNumEngines), index, x);
  } catch (const Fault &) {
    resolved = false; // and so it will end the run
  }
  Instruction out;
  Use memory, updates;
  for (const SyncOp &w : x.d.waits) {
    Use &u = out.waits.emplace_back();
    (w.kind == SyncKind::WaitGeConsume ? u.consumes : u.waits).push_back(w.semaphore);
  }
  for (const SyncOp &op : x.d.updates)
    (op.kind == SyncKind::Add ? updates.adds : updates.sets).push_back(op.semaphore);
  for (size_t i = 0; resolved && i < x.d.values.size(); ++i) {
    if (x.d.values[i].kind != Value::Tensor)
      continue;
    const int slot = static_cast<int>(i);
    const Place &place = machine.mem().place(x.d.values[i].access.object, core);
    const bool moves = p.patterns[x.d.values[i].access.pattern].numDynamic || slot == x.indexed;
    const bool chip = place.space != Space::Hbm;
    const Area area =
        moves ? Area{place.memory, chip ? place.firstPartition : 0, chip ? place.firstPartition + place.partitions : 1,
                     chip ? place.start : 0, (chip ? place.start : 0) + place.bytes}
              : areaOf(x.operands[i].region, core);
    if (place.readOnly)
      continue;
    if (isRead(x, slot))
      memory.reads.push_back(area);
    if (isWritten(x.d.def->slots[i].kind))
      memory.writes.push_back(area);
  }
  switch (x.d.def->unit) {
  case Unit::Compute:
  case Unit::Register:
  case Unit::Control:
    out.act = memory;
    out.act.adds = updates.adds;
    out.act.sets = updates.sets;
    break;
  case Unit::Barrier:
    out.act.barrier = resolved ? machine.barrier(x) : std::string_view();
    out.act.barrierCore = core;
    out.leave = updates;
    break;
  case Unit::Dma:
  case Unit::Exchange:
    if (resolved)
      out.act.queue = x.d.def->unit == Unit::Dma ? x.queue : machine.pipeQueue(x);
    out.read.reads = memory.reads;
    out.write.writes = memory.writes;
    out.complete = updates;
    break;
  }
  out.all = out.act;
  for (const Use *u : {&out.leave, &out.read, &out.write, &out.complete}) {
    append(out.all.reads, u->reads);
    append(out.all.writes, u->writes);
    append(out.all.adds, u->adds);
    append(out.all.sets, u->sets);
  }
  for (const Use &u : out.waits) {
    append(out.all.waits, u.waits);
    append(out.all.consumes, u.consumes);
  }
  return out;
}

bool OrderReduction::dependent(const Use &a, const Use &b) const {
  auto meet = [](const std::vector<Area> &x, const std::vector<Area> &y) {
    return std::any_of(x.begin(), x.end(), [&](const Area &i) {
      return std::any_of(y.begin(), y.end(), [&](const Area &j) { return i.meets(j); });
    });
  };
  if (meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes))
    return true;
  if (share(a.consumes, b.consumes) || share(a.consumes, b.waits) || share(a.waits, b.consumes))
    return true;
  for (const auto &[x, y] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (share(x->sets, y->sets) || share(x->sets, y->adds) || share(x->sets, y->waits) || share(x->sets, y->consumes))
      return true;
    // Adding and consuming change places, unless the semaphore can leave its range.
    for (int s : x->adds)
      if (mayOverflow[s] && std::find(y->consumes.begin(), y->consumes.end(), s) != y->consumes.end())
        return true;
  }
  return (a.queue >= 0 && a.queue == b.queue) ||
         (a.barrierCore >= 0 && a.barrierCore == b.barrierCore && a.barrier == b.barrier);
}

OrderReduction::Use OrderReduction::useOf(const OrderState &s, const OrderStep &step) const {
  if (step.kind == OrderStep::Wait || step.kind == OrderStep::Do || step.kind == OrderStep::Leave) {
    const Instruction &in = instructions[step.stream][s.streams[step.stream].pc];
    return step.kind == OrderStep::Wait ? in.waits[step.part] : step.kind == OrderStep::Do ? in.act : in.leave;
  }
  const OrderTransfer &t = s.queues[step.queue].inFlight[step.transfer];
  auto instruction = [&](size_t side) -> const Instruction & { return instructionOf(t.sides[side]->id); };
  if (step.kind == OrderStep::Read) // an exchange reads on the other core
    return instruction(t.sides.size() == 2 ? 1 - step.side : step.side).read;
  if (step.kind == OrderStep::Complete) {
    Use u = instruction(0).complete;
    if (t.sides.size() == 2) {
      append(u.adds, instruction(1).complete.adds);
      append(u.sets, instruction(1).complete.sets);
    }
    return u;
  }
  const std::vector<OrderPiece> &pieces = t.parts[step.part].pieces[step.side];
  if (t.parts[step.part].phase[step.side] != OrderTransfer::Read)
    return instruction(step.side).write;
  // What it writes is known.
  Use u;
  for (const OrderPiece &piece : pieces) {
    const Windows::Stretch s = machine.stretch(piece.at, static_cast<int64_t>(piece.bytes.size()));
    u.writes.push_back({s.memory, s.firstRow, s.endRow, s.lo, s.hi});
  }
  return u;
}

// ---- the set ---------------------------------------------------------------------------------------------------------------

void OrderReduction::reduce(const OrderState &s, std::vector<OrderStep> &steps) {
  if (steps.size() < 2)
    return;
  state = &s;
  candidates = &steps;
  std::vector<bool> best;
  size_t fewest = SIZE_MAX;
  for (size_t seed = 0; seed < steps.size() && fewest > 1; ++seed) {
    chosen.assign(steps.size(), false);
    enablingStream.assign(s.streams.size(), false);
    count = 0;
    choose(seed);
    while (!work.empty() && count < fewest) {
      const size_t k = work.back();
      work.pop_back();
      close(k);
    }
    work.clear();
    if (count < fewest) {
      fewest = count;
      best = chosen;
    }
  }
  std::vector<OrderStep> kept;
  for (size_t i = 0; i < steps.size(); ++i)
    if (best[i])
      kept.push_back(steps[i]);
  steps = std::move(kept);
}

size_t OrderReduction::find(const OrderStep &step) const {
  for (size_t i = 0; i < candidates->size(); ++i) {
    const OrderStep &c = (*candidates)[i];
    const bool engine = c.kind <= OrderStep::Leave;
    if (engine != (step.kind <= OrderStep::Leave))
      continue;
    if (engine ? c.stream == step.stream
               : c.kind == step.kind && c.queue == step.queue && c.transfer == step.transfer && c.part == step.part &&
                     (c.side == step.side || c.kind == OrderStep::Complete))
      return i;
  }
  return SIZE_MAX;
}

void OrderReduction::choose(size_t candidate) {
  if (chosen[candidate])
    return;
  chosen[candidate] = true;
  ++count;
  work.push_back(candidate);
}

// The stream's next step, or what can let it happen.
void OrderReduction::chooseStream(int stream) {
  const OrderStream &o = state->streams[stream];
  if (o.pc >= instructions[stream].size())
    return;
  OrderStep step;
  step.stream = static_cast<uint16_t>(stream);
  if (const size_t k = find(step); k != SIZE_MAX)
    return choose(k);
  if (enablingStream[stream])
    return;
  enablingStream[stream] = true;
  if (!o.barrier)
    return chooseAdders(machine.waits(*state, stream)[o.waited].semaphore);
  const std::string_view name = instructions[stream][o.pc].act.barrier;
  const int peer = machine.peer(stream / kNumEngines);
  for (size_t other = 0; other < instructions.size(); ++other)
    for (uint32_t i = first(other); i < instructions[other].size(); ++i)
      if (const Use &u = instructions[other][i].act; u.barrierCore >= 0 && u.barrierCore == peer && u.barrier == name) {
        chooseStream(static_cast<int>(other));
        break;
      }
}

// Whatever may still add to the semaphore.
void OrderReduction::chooseAdders(int semaphore) {
  auto changes = [&](const Use &u) {
    return std::find(u.adds.begin(), u.adds.end(), semaphore) != u.adds.end() ||
           std::find(u.sets.begin(), u.sets.end(), semaphore) != u.sets.end();
  };
  for (size_t other = 0; other < instructions.size(); ++other)
    for (uint32_t i = first(other); i < instructions[other].size(); ++i)
      if (changes(instructions[other][i].all)) {
        chooseStream(static_cast<int>(other));
        break;
      }
  for (size_t q = 0; q < state->queues.size(); ++q) {
    const OrderQueue &queue = state->queues[q];
    for (size_t t = 0; t < queue.inFlight.size(); ++t)
      for (const auto &x : queue.inFlight[t].sides)
        if (changes(instructionOf(x->id).complete))
          for (int part = 0; part < kOrderParts; ++part)
            if (!queue.inFlight[t].parts[part].complete)
              choosePart(q, t, part, 0, OrderStep::Complete);
    for (int side = 0; side < 2; ++side)
      for (const auto &x : queue.waiting[side])
        if (changes(instructionOf(x->id).complete))
          choosePartner(q, side);
  }
}

// A side of an exchange waits: whoever may issue the other one.
void OrderReduction::choosePartner(size_t queue, int side) {
  for (size_t other = 0; other < instructions.size(); ++other)
    if ((static_cast<int>(other) / kNumEngines & 1) != side)
      for (uint32_t i = first(other); i < instructions[other].size(); ++i)
        if (instructions[other][i].act.queue == static_cast<int>(queue)) {
          chooseStream(static_cast<int>(other));
          break;
        }
}

// A step of a part, or the one that has to come before it.
void OrderReduction::choosePart(size_t queue, size_t transfer, int part, int side, OrderStep::Kind kind) {
  const OrderTransfer &t = state->queues[queue].inFlight[transfer];
  const OrderTransfer::Part &p = t.parts[part];
  if (kind == OrderStep::Complete) {
    for (size_t s = 0; s < t.sides.size(); ++s)
      if (p.phase[s] != OrderTransfer::Written)
        return choosePart(queue, transfer, part, static_cast<int>(s), OrderStep::Write);
    for (size_t before = 0; before < transfer; ++before)
      if (!state->queues[queue].inFlight[before].parts[part].complete)
        return choosePart(queue, before, part, 0, OrderStep::Complete);
  } else if (kind == OrderStep::Write && p.phase[side] == OrderTransfer::Issued) {
    kind = OrderStep::Read;
  }
  OrderStep step;
  step.kind = kind;
  step.queue = static_cast<uint16_t>(queue);
  step.transfer = static_cast<uint32_t>(transfer);
  step.part = static_cast<uint8_t>(part);
  step.side = static_cast<uint8_t>(side);
  if (const size_t k = find(step); k != SIZE_MAX)
    choose(k);
}

bool OrderReduction::future(int stream, const Use &u) const {
  for (uint32_t i = first(stream); i < instructions[stream].size(); ++i)
    if (dependent(u, instructions[stream][i].all))
      return true;
  return false;
}

// Adds whatever depends on the chosen step.
void OrderReduction::close(size_t candidate) {
  const OrderStep &step = (*candidates)[candidate];
  const bool engine = step.kind <= OrderStep::Leave;
  const Use use = useOf(*state, step);
  for (size_t other = 0; other < instructions.size(); ++other)
    if (!(engine && step.stream == other) && future(static_cast<int>(other), use))
      chooseStream(static_cast<int>(other));
  for (size_t q = 0; q < state->queues.size(); ++q) {
    for (int side = 0; side < 2; ++side)
      for (const auto &x : state->queues[q].waiting[side])
        if (dependent(use, instructionOf(x->id).all))
          choosePartner(q, side);
    for (size_t t = 0; t < state->queues[q].inFlight.size(); ++t) {
      const OrderTransfer &x = state->queues[q].inFlight[t];
      for (int part = 0; part < kOrderParts; ++part) {
        const OrderTransfer::Part &p = x.parts[part];
        OrderStep d;
        d.queue = static_cast<uint16_t>(q);
        d.transfer = static_cast<uint32_t>(t);
        d.part = static_cast<uint8_t>(part);
        auto consider = [&](OrderStep::Kind kind, size_t side) {
          d.kind = kind;
          d.side = static_cast<uint8_t>(side);
          if (dependent(use, useOf(*state, d)))
            choosePart(q, t, part, static_cast<int>(side), kind);
        };
        for (size_t side = 0; side < x.sides.size(); ++side) {
          if (p.phase[side] == OrderTransfer::Issued)
            consider(OrderStep::Read, side);
          if (p.phase[side] != OrderTransfer::Written)
            consider(OrderStep::Write, side);
        }
        if (!p.complete)
          consider(OrderStep::Complete, 0);
      }
    }
  }
}

} // namespace glia::sim
