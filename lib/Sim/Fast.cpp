// Fast mode: results only. Each stream runs until it waits; a DMA is done when it is issued. That is one of the orders the
// ordering model allows, so a program without faults gives the same bytes as in strict mode. Threads share the work without
// leaving that order: see InFlight.h.
#include "InFlight.h"
#include "Lifetimes.h"
#include "Machine.h"
#include "glia/ISA/Collective.h"
#include "glia/Sim/Ranks.h"

#include <deque>
#include <map>

namespace glia::sim {

namespace {

class Fast : public Machine {
public:
  Fast(const Program &p, const TensorViews &inputs, const RunOptions &options)
      : Machine(p, inputs, options), flight(threadsOf(options), options.threads == 0, *p.target, [this](Exec &on, Task &t) {
          executeOn(on, tasks[t.place], tasks[t.place].operands, 0, 1);
        }) {
    for (const Semaphore &s : p.semaphores)
      semaphores.push_back(s.initial);
  }

  RunResult run() {
    return finish([this] {
      try {
        runAll();
        flight.drain();
      } catch (...) {
        flight.drain();
        if (!flight.failure()) // which is earlier in the order than what was thrown here
          throw;
      }
      if (const InFlight::Failure *f = flight.failure()) {
        current = idOf(f->label);
        result.instructions = f->number;
        std::rethrow_exception(f->error);
      }
    });
  }

private:
  struct Stop {}; // thrown to end a run in which an instruction in flight has failed
  std::vector<int32_t> semaphores;
  std::map<std::string_view, std::map<int, uint64_t>> barriers; // name -> core -> arrivals
  std::map<std::pair<int, int>, std::deque<Prepared>> pipes;    // (core, pipe) -> issued and not yet met
  std::array<Prepared, InFlight::kPlaces> tasks;                // of what is in flight
  InFlight flight;                                              // last: its threads use what is above

  void runAll() {
    for (bool moved = true; moved;) {
      moved = false;
      for (StreamState &s : streams)
        moved |= runStream(s);
    }
    std::vector<std::string> open;
    for (const auto &[key, side] : pipes)
      for (const Prepared &x : side)
        open.push_back(describe(program, x.id) + " never meets its partner on the other core");
    for (const StreamState &s : streams)
      if (!s.ended() || !open.empty())
        throw deadlock([&](int i) { return semaphores[i]; }, std::move(open));
  }

  bool runStream(StreamState &s) {
    bool moved = false;
    while (!s.ended()) {
      if (s.barrier) {
        if (!metAt(s))
          return moved;
        leaveBarrier(s);
        moved = true;
        continue;
      }
      const auto waits = waitsOf(s);
      for (; s.waited < static_cast<int>(waits.size()); ++s.waited) {
        const SyncOp &w = waits[s.waited];
        if (semaphores[w.semaphore] < w.value)
          return moved;
        if (w.kind == SyncKind::WaitGeConsume)
          semaphores[w.semaphore] -= w.value;
      }
      step(s);
      moved = true;
    }
    return moved;
  }

  void step(StreamState &s) {
    if (flight.anyFailed())
      throw Stop{};
    Task &task = flight.claim();
    Prepared &x = fetch(s, tasks[task.place]);
    switch (x.d.def->unit) {
    case Unit::Compute:
    case Unit::Register: runInOrder(task, x); break;
    case Unit::Control:
      s.waited = 0;
      control(s, x);
      update(x);
      return;
    case Unit::Dma:
      checkTransferUpdates(x);
      if (isCollective(*x.d.def))
        runCollective(x);
      else if (!x.skip)
        runInOrder(task, x);
      break;
    case Unit::Exchange:
      checkTransferUpdates(x);
      flight.drain();
      pipes[{s.core, pipeOf(x)}].push_back(x);
      exchange(s.core, pipeOf(x));
      ++s.pc;
      s.waited = 0;
      return;
    case Unit::Barrier:
      s.barrier = ++barriers[barrierName(x)][s.core];
      s.scratch = x;
      return;
    }
    update(x);
    ++s.pc;
    s.waited = 0;
  }

  // As if everything before it had run and nothing behind it.
  void runInOrder(Task &task, Prepared &x) {
    if (flight.alone())
      return execute(x, x.operands, 0, 1);
    Prepared &own = tasks[task.place];
    if (&x != &own) // kept for the loop's next iteration
      own = x;
    task.number = result.instructions;
    task.label = labelOf(own.id);
    const bool writesTensor = findBoxes(task, own);
    if (x.d.def->unit == Unit::Register) {
      flight.await(task); // its register may decide what comes next
    } else if (writesTensor) {
      return flight.issue(task);
    } else { // what it does is seen from outside: nothing before it may fail
      flight.drain();
      if (flight.anyFailed())
        throw Stop{};
    }
    execute(own, own.operands, 0, 1);
  }

  static uint64_t labelOf(InstrId id) {
    return uint64_t{id.core} << 40 | uint64_t{static_cast<uint8_t>(id.engine)} << 32 | id.index;
  }
  static InstrId idOf(uint64_t label) {
    return {static_cast<uint8_t>(label >> 40), static_cast<Engine>(label >> 32 & 0xFF), static_cast<uint32_t>(label)};
  }

  // What the instruction touches: tensors, and its engine's accumulator. Returns whether it writes a tensor.
  bool findBoxes(Task &t, const Prepared &x) {
    bool writesTensor = false;
    t.boxes.clear();
    if (x.d.def->accumulator)
      t.boxes.push_back(boxOf(stream(x.id).state));
    for (size_t i = 0; i < x.operands.size(); ++i) {
      const Value &v = x.d.values[i];
      if (v.kind != Value::Tensor || memory.place(v.access.object, x.d.core).readOnly)
        continue;
      const bool write = isWritten(x.d.def->slots[i].kind);
      writesTensor |= write;
      t.boxes.push_back(boxOf(x.operands[i].region, write, static_cast<int>(i) == x.indexed));
    }
    return writesTensor;
  }

  // Waits for the other ranks, with everything before it done. They wait for nothing that comes behind it here: each issues its collectives
  // in the same order (R2).
  void runCollective(const Prepared &x) {
    flight.drain();
    if (flight.anyFailed())
      throw Stop{};
    const bool crowded = options.link && options.link->waiting() > 0;
    if (crowded)
      letGo(options.link->lifetimes(program));
    Prepared mine = x;
    SharedBytes received;
    meetRanks(mine, received);
    const bool shares = crowded || (options.link && received->size() >= kWorthSharing);
    if (!shares || !adopted(mine, options.link->lifetimes(program), received))
      execute(mine, mine.operands, 0, 1);
  }

  // While this rank waits, others run: what it has done with does not take memory from them. On chip that is left alone where all of
  // it is not much: its pages would come back, one fault each.
  static constexpr int64_t kMostOnChip = int64_t{512} << 20; // bytes of all ranks that wait
  void letGo(const Lifetimes &lifetimes) {
    const auto at = [&](uint32_t stream) { return streams[stream].pc; };
    for (Memory::Inner &x : memory.inner)
      if (!x.isGone && lifetimes.isOver({ObjectKind::Tensor, x.tensor}, at))
        memory.letGo(x);
    if (memory.chipBytes() * options.link->waiting() <= kMostOnChip)
      return;
    std::vector<uint32_t> live;
    for (uint32_t i = 0; i < program.allocations.size(); ++i)
      if (const ObjectRef o{ObjectKind::Allocation, i}; lifetimes.hasBegun(o, at) && !lifetimes.isOver(o, at))
        live.push_back(i);
    memory.keepOnly(live);
  }

  // Ranks that get the same bytes share them, where each has a tensor for nothing else. Small ones are copied sooner than looked into.
  static constexpr size_t kWorthSharing = size_t{1} << 20;
  bool adopted(const Prepared &x, const Lifetimes &lifetimes, const SharedBytes &received) {
    const Region &dst = x.operands[x.d.def->slot("dst")].region;
    if (dst.object.kind != ObjectKind::Tensor || !dst.contiguous || dst.start != 0 ||
        dst.objectBytes != static_cast<int64_t>(received->size()) || !lifetimes.isWrittenOnce(dst.object.index))
      return false;
    for (Memory::Inner &inner : memory.inner)
      if (inner.tensor == dst.object.index) {
        memory.adopt(inner, received);
        return true;
      }
    return false;
  }

  void update(const Prepared &x) {
    for (const SyncOp &op : x.d.updates) {
      int32_t &v = semaphores[op.semaphore];
      v = semaphoreValue(x.id, op.semaphore,
                         op.kind == SyncKind::Write ? op.value
                         : op.kind == SyncKind::Sub ? int64_t{v} - op.value
                                                    : int64_t{v} + op.value);
    }
  }

  bool metAt(StreamState &s) {
    const int peer = peerOf(s.core);
    return peer >= 0 && barriers[barrierName(s.scratch)][peer] >= s.barrier;
  }

  void leaveBarrier(StreamState &s) {
    update(s.scratch);
    s.barrier = 0;
    s.waited = 0;
    ++s.pc;
  }

  void exchange(int core, int pipe) {
    const int peer = peerOf(core);
    if (peer < 0)
      return;
    auto &mine = pipes[{core, pipe}], &theirs = pipes[{peer, pipe}];
    if (mine.empty() || theirs.empty())
      return;
    Prepared &a = mine.front(), &b = theirs.front();
    std::swap(a.operands[sourceSlot(a)], b.operands[sourceSlot(b)]);
    for (Prepared *x : {&a, &b}) {
      execute(*x, x->operands, 0, 1);
      update(*x);
    }
    mine.pop_front();
    theirs.pop_front();
  }
};

} // namespace

RunResult runFast(const Program &p, const TensorViews &inputs, const RunOptions &options) {
  Fast machine(p, inputs, options);
  return machine.run();
}

} // namespace glia::sim
