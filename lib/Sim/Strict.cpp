#include "Strict.h"
#include "Rules.h"
#include "glia/ISA/Collective.h"

namespace glia::sim {

namespace {

// "core0.vector#12"
std::optional<InstrId> parseHold(const Program &p, const std::string &text) {
  if (text.empty())
    return {};
  for (uint32_t c = 0; c < p.cores; ++c)
    for (int e = 0; e < kNumEngines; ++e) {
      const std::string prefix = "core" + std::to_string(c) + "." + std::string(name(static_cast<Engine>(e))) + "#";
      if (!text.starts_with(prefix))
        continue;
      uint64_t index = 0;
      const std::string digits = text.substr(prefix.size());
      if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos)
        break;
      index = std::stoull(digits);
      if (index < p.stream(static_cast<int>(c), static_cast<Engine>(e)).instrs.size())
        return InstrId{static_cast<uint8_t>(c), static_cast<Engine>(e), static_cast<uint32_t>(index)};
    }
  throw Error("RUN-OPTION", "there is no instruction `" + text + "` to hold back", "Name it like core0.vector#12.");
}

} // namespace

Strict::Strict(const Program &p, const TensorViews &inputs, const RunOptions &options)
    : Machine(p, inputs, options), random(options.seed), held(parseHold(p, options.hold)), definedness(memory) {
  const std::vector<int> pipes = pipesOf();
  const size_t engineCount = streams.size(), components = engineCount + p.queues.size() + pipes.size();
  clocks.assign(engineCount, Clock(components));
  queues.resize(p.queues.size() + pipes.size());
  for (size_t i = 0; i < queues.size(); ++i) {
    queues[i].component = static_cast<uint16_t>(engineCount + i);
    queues[i].next.resize(parts);
  }
  for (size_t i = 0; i < pipes.size(); ++i)
    pipeQueue[pipes[i]] = static_cast<int>(p.queues.size() + i);
  std::vector<std::vector<uint16_t>> waiters(p.semaphores.size());
  for (const StreamState &s : streams)
    for (const SyncOp &op : p.stream(s.core, s.engine).syncs)
      if (op.kind <= SyncKind::WaitGeConsume &&
          (waiters[op.semaphore].empty() || waiters[op.semaphore].back() != streamIndex(s)))
        waiters[op.semaphore].push_back(streamIndex(s));
  for (size_t i = 0; i < p.semaphores.size(); ++i)
    semaphores.emplace_back(p.semaphores[i].initial, components, std::move(waiters[i]));
  for (const MemoryInfo &m : memory.memories)
    shadows.emplace_back(m.rows);
  readOnlyUsed.resize(memory.memories.size());
  engines.resize(engineCount);
  loadedSets.resize(p.cores);
  lastTouch.resize(p.cores);
  concurrent = {p.target->has("vector_gpsimd_concurrent"), p.target->has("vector_scalar_psum_concurrent")};
  exec.recorder = this;
  if (options.steered)
    steer();
}

RunResult Strict::run() {
  return finish([this] {
    try {
      loop();
      checkOutputs();
    } catch (...) {
      account();
      throw;
    }
    account();
  });
}

void Strict::loop() {
  while (pickAny()) {
  }
  requireEnded();
}

void Strict::requireEnded() {
  for (const StreamState &s : streams)
    if (!s.ended())
      throw stuck();
  for (const auto &[pipe, sides] : waitingSides)
    if (!sides[0].empty() || !sides[1].empty())
      throw stuck();
}

Fault Strict::stuck() {
  std::vector<std::string> open;
  for (const auto &[pipe, sides] : waitingSides)
    for (const auto &side : sides)
      for (const auto &[x, clock] : side)
        open.push_back(describe(program, x.id) + " never meets its partner on the other core");
  return deadlock([&](int i) { return semaphores[i].value; }, std::move(open));
}

// ---- choosing --------------------------------------------------------------------------------------------------------------

bool Strict::canStep(StreamState &s) {
  if (s.ended())
    return false;
  if (s.barrier) {
    const int peer = peerOf(s.core);
    return peer >= 0 && arrivals[barrierName(s.scratch)][peer] >= s.barrier;
  }
  const auto waits = waitsOf(s);
  return s.waited >= static_cast<int>(waits.size()) || semaphores[waits[s.waited].semaphore].value >= waits[s.waited].value;
}

bool Strict::isHeld(const StreamState &s) const {
  if (pause && clocks[streamIndex(s)][streamIndex(s)] >= pause->instructions[streamIndex(s)])
    return true;
  if (!held || s.ended() || !(s.id() == *held))
    return false;
  // A transfer is held back where it works, not where it is issued.
  const Unit unit = program.opcodes[program.stream(s.core, s.engine).instrs[s.pc].opcode]->unit;
  return unit != Unit::Dma && unit != Unit::Exchange;
}

bool Strict::isHeldPart(uint32_t a) const {
  const TransferQueue &q = queues[a / parts];
  if (pause && a / parts < pause->transfers.size() && q.next[a % parts] >= pause->transfers[a / parts])
    return true;
  if (!held)
    return false;
  const Transfer &t = q.inFlight[q.next[a % parts] - q.popped];
  return std::any_of(t.sides.begin(), t.sides.end(), [&](const Prepared &x) { return x.id == *held; });
}

// Takes one step if there is one. Unless it is steered: seed 0 goes round, any other seed draws among everything that can move.
bool Strict::pick(bool withHeld) {
  if (options.steered)
    return pickSteered(withHeld);
  if (options.seed == 0) {
    for (size_t tried = 0; tried <= streams.size(); ++tried) {
      turn = (turn + 1) % (streams.size() + 1);
      if (turn < streams.size()) {
        StreamState &s = streams[turn];
        if (canStep(s) && (withHeld || !isHeld(s))) {
          step(s);
          return true;
        }
        continue;
      }
      for (size_t k = 0; k < active.size(); ++k) {
        const size_t at = (partTurn + k) % active.size();
        if (withHeld || !isHeldPart(active[at])) {
          partTurn = at + 1;
          stepPart(at);
          return true;
        }
        if (options.passRaces && moveAhead(active[at], 0))
          return true;
      }
    }
    return false;
  }
  ready.clear();
  for (size_t i = 0; i < streams.size(); ++i)
    if (canStep(streams[i]) && (withHeld || !isHeld(streams[i])))
      ready.push_back(static_cast<uint32_t>(i));
  const size_t movable = ready.size();
  if (!held && !pause) {
    if (movable + active.size() == 0)
      return false;
    const size_t k = random.below(movable + active.size());
    k < movable ? step(streams[ready[k]]) : stepPart(k - movable);
    return true;
  }
  for (size_t i = 0; i < active.size(); ++i)
    if (withHeld || !isHeldPart(active[i]))
      ready.push_back(static_cast<uint32_t>(i));
  if (ready.empty())
    return false;
  const size_t k = random.below(ready.size());
  k < movable ? step(streams[ready[k]]) : stepPart(ready[k]);
  return true;
}

// ---- steps -----------------------------------------------------------------------------------------------------------------

void Strict::step(StreamState &s) {
  lastTaken = {Taken::Wait, {streamIndex(s)}, s.id()};
  if (s.barrier)
    return barrierDone(s);
  const auto waits = waitsOf(s);
  if (s.waited < static_cast<int>(waits.size())) {
    const SyncOp &w = waits[s.waited++];
    semaphores[w.semaphore].wait(w.value, w.kind == SyncKind::WaitGeConsume, streamIndex(s), clocks[streamIndex(s)]);
    if (s.waited < static_cast<int>(waits.size()))
      return; // each wait is a step of its own (O4)
  }
  instruction(s);
}

void Strict::instruction(StreamState &s) {
  lastTaken.kind = Taken::Instruction;
  Prepared &x = fetch(s, s.scratch);
  Clock &clock = clocks[streamIndex(s)];
  const uint32_t time = ++clock[streamIndex(s)];
  if (time == UINT32_MAX)
    faultAt(program, x.id, "SIM-STEPS", "strict mode follows at most 4294967294 instructions of one engine");
  const Event e{&x, streamIndex(s), time, &clock, false};
  switch (x.d.def->unit) {
  case Unit::Compute:
  case Unit::Register:
    requireTable(program, s, x);
    checkSerial(s, x);
    access(e, x.operands);
    checkRange(x);
    definedness.apply(x, x.operands, foreign, engines[streamIndex(s)]);
    executeRecorded(e, x.operands, 0, 1);
    countTables(s, x);
    break;
  case Unit::Control:
    s.waited = 0;
    control(s, x);
    fire(x, clock);
    return;
  case Unit::Dma:
    checkTransferUpdates(x);
    issue(s, x);
    ++s.pc;
    s.waited = 0;
    return;
  case Unit::Exchange:
    checkTransferUpdates(x);
    issueExchange(s, x);
    ++s.pc;
    s.waited = 0;
    return;
  case Unit::Barrier:
    lastTaken.kind = Taken::Wait;
    s.barrier = ++arrivals[barrierName(x)][s.core];
    s.scratch = x;
    return;
  }
  fire(x, clock);
  ++s.pc;
  s.waited = 0;
}

void Strict::fire(const Prepared &x, const Clock &clock) {
  for (const SyncOp &op : x.d.updates) {
    SemaphoreClock &s = semaphores[op.semaphore];
    if (op.kind == SyncKind::Add) {
      semaphoreValue(x.id, op.semaphore, int64_t{s.value} + op.value);
      s.add(op.value, &clock);
    } else {
      s.set(semaphoreValue(x.id, op.semaphore, op.kind == SyncKind::Write ? op.value : int64_t{s.value} - op.value), clock);
    }
  }
}

// The first of the two to leave takes what the other knew; both have arrived, so neither clock has moved since (C1).
void Strict::barrierDone(StreamState &s) {
  lastTaken.kind = Taken::Instruction;
  const std::string_view name = barrierName(s.scratch);
  for (StreamState &o : streams)
    if (o.core == peerOf(s.core) && o.barrier == s.barrier && !o.ended() && barrierName(o.scratch) == name) {
      join(clocks[streamIndex(s)], clocks[streamIndex(o)]);
      clocks[streamIndex(o)] = clocks[streamIndex(s)];
      for (StreamState *both : {&s, &o}) {
        both->barrier = 0;
        both->waited = 0;
        fire(both->scratch, clocks[streamIndex(*both)]);
        ++both->pc;
      }
      return;
    }
  faultAt(program, s.id(), "BARRIER-PAIR", "the barrier's partner is gone");
}

// ---- transfers -------------------------------------------------------------------------------------------------------------

void Strict::enqueue(TransferQueue &q, Transfer t) {
  const uint32_t index = static_cast<uint32_t>(&q - queues.data());
  t.left = parts;
  q.inFlight.push_back(std::move(t));
  for (int e = 0; e < parts; ++e)
    if (q.next[e] == q.issued)
      active.push_back(index * parts + e);
  ++q.issued;
}

void Strict::issue(StreamState &s, const Prepared &x) {
  if (x.queue < 0)
    faultAt(program, x.id, "SIM-INSTRUCTION", "`" + std::string(x.d.def->name) + "` has no queue");
  TransferQueue &q = queues[x.queue];
  takeQueue(q.owner, x, "queue `" + program.queues[x.queue].name + "`");
  Transfer t;
  t.sides.push_back(x);
  t.clock = clocks[streamIndex(s)];
  t.number = static_cast<uint32_t>(q.issued + 1);
  // Whether it races and what it makes defined does not depend on when its parts run: whatever could change that would race
  // with it. Only rows that indices pick are looked at part by part.
  if (!x.skip) {
    const Event e{&x, q.component, t.number, &t.clock, true};
    access(e, x.operands);
    if (x.indexed < 0)
      definedness.apply(x, x.operands, foreign, engines[streamIndex(s)]);
    else if (!definedness.defined(x.operands[x.index].region, x.d.core, foreign[x.index]))
      faultAt(program, x.id, "UNDEFINED-ADDRESS",
              "undefined bytes of `" + program.objectName(x.operands[x.index].region.object) + "` are used as indices");
  }
  if (x.indexed >= 0 && sharesMemory(x))
    t.own.emplace(1);
  if (isCollective(*x.d.def)) {
    const int src = sourceSlot(x);
    if (!definedness.defined(x.operands[src].region, x.d.core, foreign[src]))
      faultAt(program, x.id, "UNDEFINED-SENT",
              "undefined bytes of `" + program.objectName(x.operands[src].region.object) + "` go to other ranks");
    meetRanks(t.sides.front(), t.received);
  }
  enqueue(q, std::move(t));
}

// An indexed transfer whose rows may be on both of its sides.
bool Strict::sharesMemory(const Prepared &x) const {
  const int m = memory.place(x.d.values[x.indexed].access.object, x.d.core).memory;
  for (size_t i = 0; i < x.d.values.size(); ++i)
    if (static_cast<int>(i) != x.indexed && x.d.values[i].kind == Value::Tensor &&
        memory.place(x.d.values[i].access.object, x.d.core).memory == m)
      return true;
  return false;
}

void Strict::issueExchange(StreamState &s, const Prepared &x) {
  const int pipe = pipeOf(x), side = s.core & 1;
  TransferQueue &q = queues[pipeQueue.at(pipe)];
  takeQueue(q.owner, x, format("pipe %d", pipe));
  auto &sides = waitingSides[pipe];
  sides[side].emplace_back(x, clocks[streamIndex(s)]);
  if (sides[0].empty() || sides[1].empty())
    return;
  Transfer t;
  t.clock = sides[0].front().second;
  join(t.clock, sides[1].front().second);
  t.number = static_cast<uint32_t>(q.issued + 1);
  std::vector<std::vector<ByteRect>> unowned; // by side: bytes of its source that belong to another allocation
  for (auto &waiting : sides) {
    const Prepared &mine = waiting.front().first;
    const int src = sourceSlot(mine);
    requireApartExchange(program, memory, mine);
    t.sides.push_back(mine);
    access({&t.sides.back(), q.component, t.number, &t.clock, true}, mine.operands);
    unowned.push_back(foreign[src]);
    waiting.pop_front();
  }
  Prepared &a = t.sides[0], &b = t.sides[1];
  std::swap(a.operands[sourceSlot(a)], b.operands[sourceSlot(b)]);
  definedness.exchange(a, sourceSlot(a), b.d.core, unowned[1]);
  definedness.exchange(b, sourceSlot(b), a.d.core, unowned[0]);
  enqueue(q, std::move(t));
}

void Strict::stepPart(size_t at) {
  const uint32_t id = active[at];
  const int part = static_cast<int>(id % parts);
  TransferQueue &q = queues[id / parts];
  Transfer &t = q.inFlight[q.next[part] - q.popped];
  --t.left;
  lastTaken = {Taken::Part, {id / parts, part}, t.sides.front().id, t.left == 0};
  for (Prepared &x : t.sides) {
    if (!x.skip && !(t.moved >> part & 1))
      executeRecorded({&x, q.component, t.number, &t.clock, true, &t, part}, x.operands, part, parts);
    // Only the last part proves anything: that the transfer, and all before it in the queue, is complete (D3).
    Clock done;
    if (t.left == 0) {
      done = t.clock;
      done[q.component] = std::max(done[q.component], t.number);
    }
    for (const SyncOp &op : x.d.updates) {
      semaphoreValue(x.id, op.semaphore, int64_t{semaphores[op.semaphore].value} + 1);
      semaphores[op.semaphore].add(1, t.left ? nullptr : &done);
    }
  }
  if (++q.next[part] == q.issued) {
    active[at] = active.back();
    active.pop_back();
  }
  while (!q.inFlight.empty() && q.inFlight.front().left == 0) {
    q.inFlight.pop_front();
    ++q.popped;
  }
}

RunResult runStrict(const Program &p, const TensorViews &inputs, const RunOptions &options) {
  Strict machine(p, inputs, options);
  return machine.run();
}

} // namespace glia::sim
