// After the walk: who is still waiting, and what was not written.
#include "Walk.h"

#include <algorithm>

namespace glia::flow {

void Walk::reportBlocked(const std::vector<uint32_t> &which) {
  std::vector<std::string> notes;
  uint32_t first = UINT32_MAX;
  std::string_view rule;
  std::string what;
  auto found = [&](std::string_view r, uint32_t at, std::string sentence) {
    auto rank = [](std::string_view x) {
      return x == "BARRIER-PAIR" ? 3 : x == "SYNC-DEADLOCK" ? 2 : x == "LOOP-GROUP" ? 1 : 0;
    };
    if (rank(r) > rank(rule)) // names the cause better than who waits for it
      first = at, rule = r, what = std::move(sentence);
  };
  for (uint32_t number : which) {
    const EngineWalk &e = state.engines[number];
    if (e.pc >= program.stream(e.core, e.engine).instrs.size())
      continue;
    Decoded d;
    decode(program, e.core, e.engine, e.pc, d);
    const std::string at = reporter.describe(ref(who(d)));
    if (e.ended)
      continue; // at the end of its iteration
    if (e.arrived && d.def->unit == Unit::Barrier) {
      const std::string &barrier = program.strings[d.values[d.def->slot("name")].integer];
      notes.push_back(at + " waits at barrier `" + barrier + "`");
      found("BARRIER-PAIR", who(d), "barrier `" + barrier + "` is never met by the other core");
    } else if (e.arrived) {
      const std::string &group = program.strings[d.values[d.def->slot("group")].integer];
      notes.push_back(at + " waits for the other engines of group `" + group + "`");
      found("LOOP-GROUP", who(d), "not every engine of group `" + group + "` comes to this loop as often as this one");
    } else if (e.nextWait < d.waits.size()) {
      const SyncOp &op = d.waits[e.nextWait];
      const std::string line =
          format("waits for `%s` >= %d, which stays at %lld", program.semaphores[op.semaphore].name.c_str(), op.value,
                 (long long)state.semaphores[op.semaphore].value());
      notes.push_back(format("%s %s", at.c_str(), line.c_str()));
      found("SYNC-DEADLOCK", who(d), "it " + line + (uses[op.semaphore].producerEngines ? "" : "; nothing adds to it"));
    } else {
      found("SYNC-DEADLOCK", who(d), "it cannot go on");
    }
  }
  if (first != UINT32_MAX)
    fail(rule, first, -1, what, {}, {}, notes);
}

void Walk::checkOutputs() {
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor &tensor = program.tensors[t];
    if (tensor.kind != TensorKind::Output)
      continue;
    int64_t good = 0, firstBad = -1;
    int64_t at = 0;
    state.hbm[t][0]->forEach([&](int64_t lo, int64_t hi, const Cell &c) {
      if (lo > at && firstBad < 0)
        firstBad = at;
      at = std::max(at, hi);
      if (c.defined)
        good += hi - lo;
      else if (firstBad < 0)
        firstBad = lo;
    });
    if (good == tensor.bytes())
      continue;
    if (firstBad < 0)
      firstBad = at;
    reporter.failProgram("OUTPUT-UNWRITTEN",
                         format("%lld of the %lld bytes of output `%s` are not certain to be written with defined values, "
                                "the first at byte %lld",
                                (long long)(tensor.bytes() - good), (long long)tensor.bytes(), tensor.name.c_str(),
                                (long long)firstBad),
                         std::to_string(good), std::to_string(tensor.bytes()));
  }
}

} // namespace glia::flow
