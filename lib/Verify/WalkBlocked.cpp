// Engines that wait for ever: who waits for whom, and the cause that all of it comes from.
#include "Walk.h"

#include <algorithm>
#include <functional>

namespace glia::flow {

namespace {

// Somebody who cannot go on: an engine at an instruction, or an exchange that is under way.
struct Waiter {
  std::string_view rule;
  uint32_t at = 0;
  std::string what;       // the sentence of its error
  std::string note;       // the same in a list
  std::vector<size_t> on; // who could end the wait; none: nobody
};

bool adds(const Decoded &d, uint32_t semaphore) {
  return std::any_of(d.updates.begin(), d.updates.end(), [&](const SyncOp &u) { return u.semaphore == semaphore; });
}

// A cycle of waits, from where it is first met.
std::vector<size_t> cycleOf(const std::vector<Waiter> &all) {
  std::vector<size_t> way;
  for (size_t at = 0;; at = all[at].on.front()) {
    const auto seen = std::find(way.begin(), way.end(), at);
    if (seen != way.end())
      return {seen, way.end()};
    way.push_back(at);
  }
}

} // namespace

// Instructions that a waiting engine has still to come to, the one it stands at included.
template <class F> bool Walk::anyLater(const EngineWalk &e, F &&f) const {
  const size_t n = program.stream(e.core, e.engine).instrs.size();
  Decoded d;
  for (size_t i = e.loops.empty() ? e.pc : e.loops.front().begin; i < n; ++i) { // in a loop it comes back
    decode(program, e.core, e.engine, static_cast<uint32_t>(i), d);
    if (f(d))
      return true;
  }
  return false;
}

void Walk::reportBlocked(const std::vector<uint32_t> &which) {
  std::vector<Waiter> all;
  std::vector<std::function<bool(const Decoded &)>> ends; // whether an instruction would end the wait
  std::vector<std::pair<size_t, uint32_t>> engines;       // waiter, engine
  auto add = [&](Waiter w, std::function<bool(const Decoded &)> end) {
    all.push_back(std::move(w));
    ends.push_back(std::move(end));
  };
  for (uint32_t number : which) {
    const EngineWalk &e = state.engines[number];
    if (e.ended || e.pc >= program.stream(e.core, e.engine).instrs.size())
      continue; // at the end of its iteration, or of the program
    Decoded d;
    decode(program, e.core, e.engine, e.pc, d);
    const std::string at = reporter.describe(ref(who(d)));
    engines.push_back({all.size(), number});
    if (e.arrived && d.def->unit == Unit::Barrier) {
      const std::string barrier = program.strings[d.values[d.def->slot("name")].integer];
      add({"BARRIER-PAIR",
           who(d),
           "barrier `" + barrier + "` is never met by the other core",
           at + " waits at barrier `" + barrier + "`",
           {}},
          [this, barrier, core = e.core](const Decoded &x) {
            return x.core != core && x.def->unit == Unit::Barrier &&
                   program.strings[x.values[x.def->slot("name")].integer] == barrier;
          });
    } else if (e.arrived) {
      const std::string group = program.strings[d.values[d.def->slot("group")].integer];
      add({"LOOP-GROUP",
           who(d),
           "not every engine of group `" + group + "` comes to this loop as often as this one",
           at + " waits for the other engines of group `" + group + "`",
           {}},
          [this, group, number](const Decoded &x) {
            const int slot = x.def->unit == Unit::Control ? x.def->slot("group") : -1;
            return slot >= 0 && program.strings[x.values[slot].integer] == group &&
                   number != static_cast<uint32_t>(x.core * kNumEngines + static_cast<int>(x.engine));
          });
    } else if (e.nextWait < d.waits.size()) {
      const SyncOp &op = d.waits[e.nextWait];
      const std::string line =
          format("waits for `%s` >= %d, which stays at %lld", program.semaphores[op.semaphore].name.c_str(), op.value,
                 (long long)state.semaphores[op.semaphore].value());
      const char *why = uses[op.semaphore].producerEngines ? "; whatever adds to it has done so" : "; nothing adds to it";
      add({"SYNC-DEADLOCK", who(d), "it " + line + why, at + " " + line, {}},
          [semaphore = op.semaphore](const Decoded &x) { return adds(x, semaphore); });
    } else {
      add({"SYNC-DEADLOCK", who(d), "it cannot go on", at + " cannot go on", {}}, [](const Decoded &) { return false; });
    }
  }
  const size_t standing = all.size();
  std::vector<const Decoded *> exchanges; // of the waiters from `standing`
  for (const auto &[pipe, sides] : state.exchanges)
    for (const auto &side : sides)
      for (const PendingExchange &x : side) {
        exchanges.push_back(&x.d);
        add({"SENDRECV-PAIR",
             who(x.d),
             format("the other core has no matching sendrecv on pipe %d", pipe),
             reporter.describe(ref(who(x.d))) + format(" waits for its partner on pipe %d", pipe),
             {}},
            [pipe = pipe, core = x.d.core](const Decoded &other) {
              return other.core != core && other.def->unit == Unit::Exchange &&
                     other.values[other.def->slot("pipe")].integer == pipe;
            });
      }
  if (all.empty())
    return;
  for (size_t w = 0; w < all.size(); ++w) {
    for (size_t x = 0; x < exchanges.size(); ++x)
      if (w < standing && ends[w](*exchanges[x]))
        all[w].on.push_back(standing + x);
    for (const auto &[other, number] : engines)
      if (anyLater(state.engines[number], ends[w]))
        all[w].on.push_back(other);
  }
  bool rooted = false;
  for (const Waiter &w : all)
    if (w.on.empty()) { // nobody can end it: the others wait for this
      rooted = true;
      std::vector<std::string> others;
      for (const Waiter &x : all)
        if (&x != &w)
          others.push_back(x.note);
      fail(w.rule, w.at, -1, w.what, {}, {}, others);
    }
  if (rooted)
    return;
  const std::vector<size_t> cycle = cycleOf(all);
  std::vector<std::string> notes;
  for (size_t w : cycle)
    notes.push_back(all[w].note);
  fail("SYNC-DEADLOCK", all[cycle[0]].at, -1,
       cycle.size() == 1 ? std::string("it waits for what only it can do, later")
                         : format("%zu wait for each other, in a circle", cycle.size()),
       {}, {}, notes);
}

} // namespace glia::flow
