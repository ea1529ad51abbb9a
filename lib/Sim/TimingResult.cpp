// What a timing run reports: use of lanes, longest stalls with their causes, shares by origin; and why it could not go on.
#include "TimingMachine.h"

#include "glia/Support/Diagnostic.h"

#include <algorithm>

namespace glia::timing {

static double ns(Ps t) { return static_cast<double>(t) / 1000; }

std::string Machine::laneName(uint32_t lane) const {
  if (lane < engines.size())
    return format("core %u %s", lane / kNumEngines, std::string(name(static_cast<Engine>(lane % kNumEngines))).c_str());
  const Queue &q = p.queues[lane - engines.size()];
  return format("core %d queue %s", q.core, q.name.c_str());
}

std::string Machine::reason(const StallSum &x) const {
  switch (x.cause) {
  case Wait::Semaphore: return "semaphore " + p.semaphores[x.what].name + ", last added to by " + laneName(x.by);
  case Wait::Queue: return "queue " + p.queues[x.what].name + " full";
  case Wait::Port:
    return (x.what == 0   ? std::string("port: SBUF")
            : x.what == 1 ? std::string("port: PSUM")
                          : format("port: PSUM bank %d", x.what - 2)) +
           " shared with " + laneName(x.by);
  case Wait::Barrier: return "barrier, last to arrive: " + laneName(x.by);
  case Wait::Result: return "result of the instruction before it";
  case Wait::Fetch: return "instruction fetch";
  case Wait::None: break;
  }
  return "";
}

void Machine::deadlock() const {
  std::vector<std::string> notes;
  bool anySemaphore = false, anyBarrier = false;
  Ps last = now; // what was announced or looked at ahead of its time has happened too
  for (const SemaphoreRun &sem : semaphores) {
    last = std::max(last, sem.changed);
    for (size_t i = 0; i < sem.coming.size(); ++i)
      last = std::max(last, EventQueue::timeOf(sem.coming[i].time));
  }
  for (const EngineRun &e : engines) {
    if (e.pc >= e.size)
      continue;
    last = std::max(last, e.clock);
    const Op &op = e.code[e.pc];
    std::string line = format("core %d %s instruction %u", e.core, std::string(name(e.engine)).c_str(), e.pc);
    if (e.blocked == Wait::Semaphore) {
      const SyncOp &w = e.syncs[op.sync + e.waitAt];
      const SemaphoreRun &sem = semaphores[w.semaphore];
      int64_t value = sem.value;
      for (size_t i = 0; i < sem.coming.size(); ++i)
        value += sem.coming[i].value;
      anySemaphore = true;
      line +=
          format(" waits for %s >= %d, which is %lld", p.semaphores[w.semaphore].name.c_str(), w.value, (long long)value);
    } else if (e.blocked == Wait::Barrier) {
      anyBarrier = true;
      line += " waits at a barrier for the other core";
    } else if (e.blocked == Wait::Queue) {
      line += format(" waits for room in queue %s", p.queues[op.extra].name.c_str());
    }
    notes.push_back(line);
  }
  if (notes.empty())
    notes.push_back("a sendrecv has no partner on the other core");
  Diagnostic d;
  d.code = anySemaphore ? "SYNC-DEADLOCK" : anyBarrier ? "BARRIER-PAIR" : "SENDRECV-PAIR"; // as in the other simulators
  d.message = format("the program stops after %.3f us: nothing that is waited for can still happen", ns(last) / 1000);
  d.advice = "`glia verify` shows why.";
  d.notes = std::move(notes);
  throw Error(std::move(d));
}

TimingResult Machine::result() const {
  TimingResult r;
  r.total = ns(end);
  r.launch = t.number("launch.start") + t.number("launch.stop");
  r.instructions = options.maxSteps - stepsLeft;
  for (uint32_t s = 0; s < engines.size(); ++s)
    r.lanes.push_back({laneName(s), ns(engines[s].busy), engines[s].executed, 0});
  for (uint32_t q = 0; q < queues.size(); ++q)
    r.lanes.push_back({laneName(static_cast<uint32_t>(engines.size()) + q), ns(queues[q].busy), queues[q].finished,
                       static_cast<uint64_t>(queues[q].bytes)});
  r.hbmBytesRead = static_cast<uint64_t>(hbmRead);
  r.hbmBytesWritten = static_cast<uint64_t>(hbmWritten);

  if (end > 0) {
    r.documented = std::clamp(endPath.parts[0] / static_cast<double>(end), 0.0, 1.0);
    r.derived = std::clamp(endPath.parts[1] / static_cast<double>(end), 0.0, 1.0 - r.documented);
    r.assumed = 1 - r.documented - r.derived;
    if (r.assumed < 1e-9) // rounding of the sums
      r.assumed = 0;
  }
  for (size_t i = 0; i < low.assumedNames.size(); ++i)
    if (endPath.assumed >> std::min<size_t>(i, 63) & 1)
      r.assumedParameters.push_back(low.assumedNames[i]);

  struct Ranked {
    Ps total;
    uint32_t engine, index;
  };
  std::vector<Ranked> top;
  constexpr size_t kKeep = 20;
  auto longer = [](const Ranked &a, const Ranked &b) {
    return a.total != b.total ? a.total > b.total : a.engine != b.engine ? a.engine < b.engine : a.index < b.index;
  };
  for (uint32_t s = 0; s < engines.size(); ++s)
    for (uint32_t i = 0; engines[s].stalls && i < engines[s].size; ++i)
      if (const Ps total = engines[s].stalls[i].total; total && (top.size() < kKeep || total > top.front().total)) {
        if (top.size() == kKeep) {
          std::pop_heap(top.begin(), top.end(), longer);
          top.pop_back();
        }
        top.push_back({total, s, i});
        std::push_heap(top.begin(), top.end(), longer);
      }
  std::sort(top.begin(), top.end(), longer);
  for (const Ranked &x : top) {
    const StallSum &sum = engines[x.engine].stalls[x.index];
    r.longestStalls.push_back(
        {engines[x.engine].core, engines[x.engine].engine, x.index, ns(sum.first), ns(sum.total), sum.count, reason(sum)});
  }
  r.timeline = timeline;
  r.last = endPath.event;
  return r;
}

} // namespace glia::timing
