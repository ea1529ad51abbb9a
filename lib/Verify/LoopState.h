// States at the beginning of a loop's rounds (docs/verifier.md, "Loops by an invariant").
//
// A loop that is not walked is proved by walking one round that stands for all. Before that round, the numbers of every component of
// the loop leave a gap in which its earlier rounds are imagined, each `length` numbers long: the round before at the end of the gap, the
// one before that in front of it, and so on. The first of them stands for all that are older still. So the clocks and touches of earlier
// rounds are ordinary numbers, and the code that walks straight lines walks the round.
#pragma once
#include "State.h"

#include <functional>
#include <set>

namespace glia::flow {

inline constexpr int kLongestPeriod = 32; // iterations of a round

struct Gap {           // of one component
  uint32_t base = 0;   // its number when the loop began
  uint32_t length = 0; // numbers per round; 0: not in the loop
  int64_t ages = 0;    // rounds in the gap
  uint32_t head() const { return base + static_cast<uint32_t>(ages) * length; }
  // How many rounds before this one a number above `base` lies.
  int64_t ageOf(uint32_t seq) const { return std::max<int64_t>(ages - (seq - base - 1) / length, 0); }
  // Of what is at this number and at its place in older rounds: the age of the oldest that is above `known`.
  int64_t oldestAfter(uint32_t seq, uint32_t known) const {
    const int64_t age = ageOf(seq);
    if (known <= base)
      return INT64_MAX;
    const int64_t more = seq > known ? (seq - known - 1) / length : 0;
    return age + more >= ages ? INT64_MAX : age + more;
  }
};

// A loop that is being proved.
struct Activation {
  std::vector<uint32_t> members; // engines
  std::vector<Gap> gaps;         // by component
  std::vector<uint32_t> begun;   // by component: its number when the loop began
  std::vector<int64_t> consumed; // by semaphore, per round
  int64_t period = 1;            // iterations per round
  int64_t lastRound = 0;         // their numbers are 0 to this
  uint32_t level = 0;            // its symbol
  int64_t iteration = 0;         // that is being walked: no two have the same number
  int64_t phase = 0;             // of that iteration: it is number period * round + phase, and less than the count
  MaybeForm count;               // of iterations, if a form says it

  struct Note { // what an instruction of the loop writes
    uint32_t memory = 0;
    ObjectRef object;
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    bool defined = true, matmul = true;
  };
  std::map<std::pair<uint32_t, int>, Note> writes;
  void noteWrite(uint32_t who, int slot, uint32_t memory, ObjectRef object, const std::vector<ByteRun> &runs, bool defined,
                 bool matmul) {
    Note &n = writes[{who, slot}];
    n.memory = memory;
    n.object = object;
    n.defined &= defined;
    n.matmul &= matmul;
    if (!runs.empty())
      n.lo = std::min(n.lo, runs.front().lo), n.hi = std::max(n.hi, runs.back().hi);
  }
};

using Takes =
    std::map<uint32_t, std::vector<std::pair<uint32_t, int64_t>>>; // semaphore: number in the round, consumed by then

struct LoopMemory { // of a loop that was met before: where to begin the search
  std::vector<uint32_t> lengths;
  Takes takes;
  std::map<uint32_t, uint32_t> consumerOf;
  std::map<uint32_t, int64_t> most;
  int64_t period = 0;
};

// A loop, the state before it, and what is said of the beginning of its rounds.
struct LoopProof {
  LoopRun &run;
  Activation a;
  std::vector<uint32_t> components; // that do something in the loop
  std::vector<uint32_t> streams;    // of the members, in the loop
  std::set<uint32_t> semaphores;    // that it uses
  std::set<int> pipes;
  State entry, head;
  std::vector<std::vector<int>> written;              // registers, by member
  std::vector<std::map<int, RegisterValue>> headRegs; // by member
  std::map<uint32_t, size_t> depthOf;                 // loops that a member is in
  std::vector<uint32_t> lengths;                      // numbers per round, by component
  Takes takes;
  std::map<uint32_t, uint32_t> consumerOf; // component, by semaphore
  std::map<uint32_t, int64_t> most;        // by semaphore: what a round may consume, with all iterations of its inner loops
  std::vector<State> exits;                // after each iteration of the round
  uint32_t firstValue = 0;                 // values from this one on are the loop's

  bool ofLoop(uint32_t symbol) const { return symbol == a.level || symbol >= firstValue; }
  bool ofLoop(const Form &f) const {
    return std::any_of(f.terms.begin(), f.terms.end(), [this](const Form::Term &t) { return ofLoop(t.symbol); });
  }
};

// What a register holds, without what only one round can say of it.
inline RegisterValue outside(RegisterValue v) {
  v.source = 0;
  if (!v.isConstant())
    v.form.reset();
  return v;
}

// Changes the numbers of some components in all of the state: `known` those that clocks say, `event` those of things that were done. What
// has no function stays as it is.
struct Renumber {
  const std::vector<uint32_t> &components;
  std::function<uint32_t(uint32_t comp, uint32_t seq)> known, event;
  std::function<uint32_t(const Touch &)> place; // of a touch, before its number changes
};
void renumber(State &s, const Renumber &r);

// What a clock of the state that says `known` of a component knows of it: one that knows all that others need to know of knows it up to its
// number `now`. To be asked before the state changes.
inline auto quietKnown(const State &s, const std::vector<uint32_t> &now) {
  return [&events = s.lastEvent, &now](uint32_t comp, uint32_t known) {
    return known >= events[comp] ? std::max(known, now[comp]) : known;
  };
}
// Makes clocks say that of components of a loop.
void raiseQuiet(State &s, const std::vector<uint32_t> &now, const std::vector<uint32_t> &components);

// The same is known of both, whatever their partitions are.
bool sameCell(const Cell &a, const Cell &b);

// The same bytes, whatever is known of them.
bool samePiece(const Filled &a, const Filled &b);

// Makes `into` say no more than both: returns whether it says less than before. `contents` makes one content of two.
using JoinContents = std::function<uint32_t(uint32_t, uint32_t)>;
bool join(State &into, const State &other, const JoinContents &contents);
// The same for its parts.
bool joinEngine(EngineWalk &a, const EngineWalk &b);
bool joinSemaphore(SemaphoreState &a, const SemaphoreState &b, size_t components);
bool joinCell(Cell &a, const Cell &b, const JoinContents &contents);

} // namespace glia::flow
