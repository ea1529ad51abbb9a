#include "ProgramEdit.h"
#include "glia/ISA/Control.h"

#include <algorithm>

namespace glia::reduce {

namespace {

bool sameStream(const InstrParts &a, const InstrParts &b) { return a.core == b.core && a.engine == b.engine; }

// The instruction behind or before it in its stream; null if there is none.
InstrParts *beside(ProgramParts &p, size_t at, int step) {
  const size_t other = at + static_cast<size_t>(step); // wraps: then it is no index
  return other < p.items.size() && sameStream(p.items[at], p.items[other]) ? &p.items[other] : nullptr;
}

bool isNop(const InstrParts &i) { return i.def->name == "nop"; }

size_t startOf(const ProgramParts &p, size_t at) { // of its stream
  while (at > 0 && sameStream(p.items[at - 1], p.items[at]))
    --at;
  return at;
}

// Labels are numbers of instructions in their stream.
void erase(ProgramParts &p, size_t at) {
  const size_t start = startOf(p, at);
  for (InstrParts &i : p.items)
    if (sameStream(i, p.items[at]))
      for (size_t k = 0; k < i.values.size(); ++k)
        if (i.def->slots[k].kind == SlotKind::Label && i.values[k].integer > static_cast<int32_t>(at - start))
          --i.values[k].integer;
  p.items.erase(p.items.begin() + static_cast<long>(at));
}

void addWait(InstrParts &to, const SyncOp &wait) {
  for (SyncOp &w : to.waits)
    if (w.semaphore == wait.semaphore && w.kind == wait.kind && w.kind == SyncKind::WaitGe) {
      w.value = std::max(w.value, wait.value);
      return;
    }
  to.waits.push_back(wait);
}

void addUpdate(InstrParts &to, const SyncOp &update) {
  for (SyncOp &u : to.updates)
    if (u.semaphore == update.semaphore && u.kind == update.kind && u.kind != SyncKind::Write) {
      u.value += update.value;
      return;
    }
  to.updates.push_back(update);
}

size_t endOf(const ProgramParts &p, size_t at) { // of the loop that begins here
  const InstrParts &begin = p.items[at];
  return startOf(p, at) + static_cast<size_t>(begin.values[static_cast<size_t>(begin.def->slot("end"))].integer);
}

std::string groupOf(const ProgramParts &p, const InstrParts &loop) {
  const int slot = loop.def->slot("group");
  return slot < 0 ? "" : p.shell.strings[static_cast<size_t>(loop.values[static_cast<size_t>(slot)].integer)];
}

// The loop, and those of other engines that run in step with it.
std::vector<size_t> inStep(const ProgramParts &p, size_t at) {
  const std::string group = groupOf(p, p.items[at]);
  std::vector<size_t> out;
  for (size_t i = 0; i < p.items.size(); ++i)
    if (i == at || (!group.empty() && beginsLoop(*p.items[i].def) && groupOf(p, p.items[i]) == group))
      out.push_back(i);
  return out;
}

// Whether every wait for the semaphore comes to an end without one of the instructions that add to it. What others add behind a wait for
// it does not count, and of loops nothing is known.
bool isEnough(const ProgramParts &p, size_t without, uint16_t semaphore) {
  int64_t sum = p.shell.semaphores[semaphore].initial, most = 0;
  bool waited = false;
  for (size_t i = 0; i < p.items.size(); ++i) {
    const InstrParts &item = p.items[i];
    waited &= i > 0 && sameStream(p.items[i - 1], item);
    if (item.def->unit == Unit::Control)
      return false;
    for (const SyncOp &w : item.waits)
      if (w.semaphore == semaphore) {
        waited = true;
        most = std::max<int64_t>(most, w.value);
        if (w.kind != SyncKind::WaitGe)
          return false;
      }
    for (const SyncOp &u : item.updates)
      if (u.semaphore == semaphore) {
        if (u.kind != SyncKind::Add)
          return false;
        sum += waited || i == without ? 0 : u.value;
      }
  }
  return sum >= most;
}

} // namespace

bool silence(ProgramParts &p, size_t from, size_t to) {
  bool any = false;
  for (size_t i = std::min(to, p.items.size()); i-- > from;) {
    InstrParts &item = p.items[i];
    if (item.def->unit == Unit::Control || isNop(item))
      continue;
    any = true;
    if (item.waits.empty() && item.updates.empty())
      erase(p, i);
    else
      becomeNop(item);
  }
  return any;
}

bool dropNop(ProgramParts &p, size_t at) {
  const InstrParts &nop = p.items[at];
  if (!isNop(nop) || (!nop.waits.empty() && !nop.updates.empty()))
    return false;
  InstrParts *next = beside(p, at, 1), *before = beside(p, at, -1);
  if (!nop.waits.empty() && next) {
    if (next->def->unit == Unit::Control)
      return false;
    for (const SyncOp &w : nop.waits)
      addWait(*next, w);
  }
  if (!nop.updates.empty() && before) {
    if (before->def->unit == Unit::Control || before->def->unit == Unit::Dma) // repeats, or signals in parts
      return false;
    for (const SyncOp &u : nop.updates)
      addUpdate(*before, u);
  }
  for (const SyncOp &u : nop.updates)
    if (!before && u.kind == SyncKind::Add) // it comes first, and nothing holds it up
      p.shell.semaphores[u.semaphore].initial += u.value;
    else if (!before)
      return false;
  erase(p, at);
  return true;
}

bool dropUpdates(ProgramParts &p, size_t at) {
  if (!isNop(p.items[at]) || p.items[at].updates.empty())
    return false;
  for (const SyncOp &u : p.items[at].updates)
    if (!isEnough(p, at, u.semaphore))
      return false;
  p.items[at].updates.clear();
  return true;
}

bool dropLoop(ProgramParts &p, size_t at) {
  if (!beginsLoop(*p.items[at].def))
    return false;
  std::vector<size_t> ends;
  for (const size_t loop : inStep(p, at)) {
    const size_t end = endOf(p, loop);
    if (end <= loop || end >= p.items.size() || !sameStream(p.items[loop], p.items[end]) || !endsLoop(*p.items[end].def))
      return false; // it has none, which may be what is wrong with it
    ends.push_back(loop);
    ends.push_back(end);
  }
  std::sort(ends.begin(), ends.end());
  for (size_t i = ends.size(); i-- > 0;)
    if (p.items[ends[i]].waits.empty() && p.items[ends[i]].updates.empty())
      erase(p, ends[i]);
    else
      becomeNop(p.items[ends[i]]);
  return true;
}

bool repeatOnce(ProgramParts &p, size_t at) {
  bool any = false;
  if (p.items[at].def->name == "loop")
    for (const size_t loop : inStep(p, at)) {
      Value &count = p.items[loop].values[static_cast<size_t>(p.items[loop].def->slot("count"))];
      any |= count.kind != Value::Int || count.integer > 1;
      count.kind = Value::Int;
      count.integer = 1;
    }
  return any;
}

bool dropIdleSemaphores(ProgramParts &p) {
  struct Uses {
    int32_t most = 0; // that something waits for
    bool waits = false, consumes = false, updates = false;
  };
  std::vector<Uses> uses(p.shell.semaphores.size());
  for (const InstrParts &i : p.items) {
    for (const SyncOp &w : i.waits) {
      uses[w.semaphore].waits = true;
      uses[w.semaphore].consumes |= w.kind == SyncKind::WaitGeConsume;
      uses[w.semaphore].most = std::max(uses[w.semaphore].most, w.value);
    }
    for (const SyncOp &u : i.updates)
      uses[u.semaphore].updates = true;
  }
  const auto idle = [&](const SyncOp &op) {
    const Uses &u = uses[op.semaphore];
    return !u.waits || (!u.updates && !u.consumes && p.shell.semaphores[op.semaphore].initial >= u.most);
  };
  size_t gone = 0;
  for (InstrParts &i : p.items)
    gone += std::erase_if(i.waits, idle) + std::erase_if(i.updates, idle);
  return gone > 0;
}

bool dropSemaphores(ProgramParts &p, size_t from, size_t to) {
  const auto gone = [&](const SyncOp &op) { return op.semaphore >= from && op.semaphore < to; };
  size_t n = 0;
  for (InstrParts &i : p.items)
    n += std::erase_if(i.waits, gone) + std::erase_if(i.updates, gone);
  return n > 0;
}

} // namespace glia::reduce
