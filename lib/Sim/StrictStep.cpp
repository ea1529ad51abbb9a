// Strict mode step by step: for debuggers, and for orders that are given.
#include "Strict.h"

namespace glia::sim {

bool Strict::advance() {
  bool more = false;
  const bool well = guarded([&] {
    more = pickAny();
    if (!more) {
      requireEnded();
      checkOutputs();
    }
  });
  if (well && !more)
    result.outputs = memory.outputs();
  return well && more;
}

bool Strict::advanceTo(const Pause &p) {
  bool moved = false;
  pause = &p;
  const bool well = guarded([&] { moved = pick(false); });
  pause = nullptr;
  return well && moved;
}

// The next step of the schedule; false: it is at its end.
bool Strict::pickGiven() {
  if (given == options.schedule->size())
    return false;
  const ScheduleStep &s = (*options.schedule)[given++];
  if (s.part < 0 && s.who < streams.size() && canStep(streams[s.who])) {
    step(streams[s.who]);
    return true;
  }
  if (s.part >= 0 && s.part < parts)
    for (size_t at = 0; at < active.size(); ++at)
      if (const uint32_t id = s.who * static_cast<uint32_t>(parts) + static_cast<uint32_t>(s.part); active[at] == id) {
        if (s.ahead == 0)
          stepPart(at);
        else if (!moveAhead(id, s.ahead))
          break;
        return true;
      }
  throw Error("DEBUG-SCHEDULE", format("step %zu of the schedule cannot be taken", given),
              "The inputs may be others than when it was written.");
}

bool Strict::moveAhead(uint32_t queueAndPart, int ahead) {
  const int part = static_cast<int>(queueAndPart % static_cast<uint32_t>(parts));
  TransferQueue &q = queues[queueAndPart / static_cast<uint32_t>(parts)];
  const uint64_t front = q.next[static_cast<size_t>(part)] - q.popped;
  for (uint64_t k = front + 1; k < q.inFlight.size(); ++k) {
    Transfer &t = q.inFlight[k];
    if (t.moved >> part & 1 || (ahead && k != front + static_cast<uint64_t>(ahead)))
      continue;
    t.moved |= uint64_t{1} << part;
    lastTaken = {
        Taken::Part, {queueAndPart / static_cast<uint32_t>(parts), part, static_cast<int>(k - front)}, t.sides.front().id};
    for (Prepared &x : t.sides)
      if (!x.skip)
        executeRecorded({&x, q.component, t.number, &t.clock, true, &t, part}, x.operands, part, parts);
    return true;
  }
  return false;
}

std::string Strict::standing(int stream) const {
  const StreamState &s = streams[stream];
  if (s.barrier)
    return "stands in its barrier, which the other core has not reached";
  const SyncOp &w = waitsOf(s)[static_cast<size_t>(s.waited)];
  return format("waits for `%s` >= %d, which is %d", program.semaphores[w.semaphore].name.c_str(), w.value,
                semaphores[w.semaphore].value);
}

std::vector<Strict::Flight> Strict::flights() const {
  std::vector<Flight> out;
  for (size_t q = 0; q < queues.size(); ++q) {
    std::string name;
    if (q < program.queues.size())
      name = format("core %d queue %s", program.queues[q].core, program.queues[q].name.c_str());
    for (const auto &[pipe, queue] : pipeQueue)
      if (static_cast<size_t>(queue) == q)
        name = format("pipe %d", pipe);
    int before = 0;
    for (const Transfer &t : queues[q].inFlight) {
      Flight f{name, {}, t.left, before++, {}};
      for (const Prepared &x : t.sides) {
        f.issuers.push_back(x.id);
        for (size_t i = 0; i < x.operands.size(); ++i)
          if (isWritten(x.d.def->slots[i].kind) && x.d.values[i].kind == Value::Tensor)
            f.writes.emplace_back(memory.place(x.d.values[i].access.object, x.d.core).memory, x.operands[i].region);
      }
      out.push_back(std::move(f));
    }
  }
  return out;
}

bool Strict::isDefined(int memoryIndex, int row, int64_t lo, int64_t bytes) const {
  std::vector<uint8_t> undefined;
  definedness.elements(memoryIndex, row, lo, bytes, static_cast<int>(bytes), undefined);
  return !undefined[0];
}

} // namespace glia::sim
