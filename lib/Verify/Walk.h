// The walk: one abstract execution of the whole program. Engines step until they block; waits are passed by what their
// semaphores prove; every access is checked against what is known of the bytes. By S6 (docs/ordering.md) one order that
// completes stands for all of them. docs/verifier.md says what is claimed, and why it holds.
#pragma once
#include "Contents.h"
#include "HintBytes.h"
#include "Layout.h"
#include "LoopState.h"
#include "State.h"
#include "glia/Verify/Reporter.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace glia::flow {

struct Visit { // an instruction, and its operands
  Decoded d;
  std::vector<Place> places;
  bool resolved = false; // `places` are those of `d`; only what registers move has to be found again
};

struct Hints { // of a certificate: written by a walk that searches, read by one that does not
  HintWriter *out = nullptr;
  HintReader *in = nullptr;
  Layouts layouts;
};

class Walk {
public:
  // Coarse: reads of many runs count as reads of all that lies between; what passes is proved, what does not may still be right.
  // WaysApart: what follows a loop that is proved by an invariant is walked once for each way in which the loop can end, and what a branch
  // may skip is walked by itself.
  enum class Mode : uint8_t { Exact, Coarse, WaysApart };
  Walk(const Program &p, const VerifyOptions &o, Reporter &r, VerifyResult &result, Mode mode, Hints certificate = {});
  void run();
  // Whether ways were taken together that can be walked apart.
  bool joinedWays() const { return joined; }
  // Whether what was found about registers and indices may be less than can be found.
  bool lessThanExact() const { return lostContent && !result.dynamicAccesses.empty(); }

private:
  const Program &program;
  const VerifyOptions &options;
  Reporter &reporter;
  VerifyResult &result;
  const bool serialSbuf, serialPsum, anyWriter; // M1, M2, and who may write what a matmul adds to
  const bool coarse, waysApart;
  const Hints certificate;
  bool joined = false;      // see joinedWays
  bool lostContent = false; // a coarse read may have seen less of the values than an exact one
  static constexpr size_t kManyRuns = 4, kHull = 16384,
                          kHullPerRun = 24; // cells of a hull: reading runs cuts cells up, for all that come
  State state;
  std::vector<SemaphoreUse> uses;
  std::map<int, uint32_t> pipeComp;
  std::vector<uint32_t> ownerOf;            // by component: the engine whose instructions it holds; UINT32_MAX: none
  std::map<uint32_t, uint32_t> loopStreams; // by the instruction that begins a loop: its engine's component there
  std::vector<std::map<uint32_t, uint32_t>> queueStreams; // by queue: its components, by that of its engine
  size_t components = 0;
  std::vector<Content> contents{Content{}}; // index 0: nothing known
  std::vector<Spot> spots{Spot{}};          // index 0: all of a cell
  std::map<std::tuple<std::vector<int64_t>, const Pattern *>, uint32_t> spotNumbers;
  std::vector<Interval> valueRanges;              // of symbols that are values, from kFirstValue on
  std::vector<uint64_t> valueSources;             // of the same
  std::unordered_map<uint64_t, uint32_t> valueOf; // their symbols, by source
  struct Group {
    uint32_t number = 0;
    int members = 0;
  };
  std::unordered_map<std::string, Group> groups;
  std::unordered_map<std::string, uint32_t> barrierNumbers;
  int64_t largestWalkedCount = 0;
  uint64_t steps = 0;
  bool stopped = false;                          // at a limit, which was reported
  std::vector<Activation> active;                // loops that are being proved, outermost first
  std::map<uint32_t, LoopMemory> memories;       // by the instruction that begins the loop
  std::set<uint32_t> loopsWalked, loopsProved;   // by the instruction that begins them
  int muted = 0;                                 // a search: nothing is reported
  std::unordered_map<uint64_t, size_t> verdicts; // who and slot -> index in result.dynamicAccesses
  std::set<std::tuple<std::string, uint32_t, int>> reported;
  struct KeyHash {
    size_t operator()(const std::vector<int64_t> &key) const {
      uint64_t hash = key.size();
      for (int64_t x : key)
        hash = (hash ^ static_cast<uint64_t>(x)) * 0x9E3779B97F4A7C15u, hash ^= hash >> 32;
      return hash;
    }
  };
  std::unordered_map<std::vector<int64_t>, uint64_t, KeyHash> sources; // where values of registers come from
  uint64_t lastSource = 0;                                             // they are numbered from 1
  int64_t iterations = 0;                                              // of loops that are being proved, walked so far
  struct WriteValue {                                                  // what a write wrote, and where
    uint64_t value = 0;
    int64_t start = 0;
    int firstPartition = 0;
    const Pattern *pattern = nullptr;
  };
  bool numbersValues = false;                                                 // see WalkValues.cpp
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, WriteValue> writeValues; // by component, number, instruction
  struct Way { // to the end of the program, still to be walked
    State state;
    decltype(writeValues) values;
  };
  std::vector<Way> ways;
  static constexpr size_t kMostWays = 64;
  uint64_t writing = 0;                      // the value that the instruction at hand writes
  std::vector<Touch> storing;                // others that store the same bytes as it
  int exploring = 0;                         // one of several ways of a branch
  std::vector<std::array<Visit, 32>> recent; // by engine, in a loop: instructions by the last bits of their numbers
  Visit single;                              // the instruction at hand, outside of loops
  Decoded scratch;

  // Walk.cpp, WalkPlan.cpp, WalkEnd.cpp
  void scan();
  void chooseWalkedLoops();
  void numberComponents();
  uint32_t queueStream(int queue, uint32_t stream) const;
  void walkToTheEnd(const std::vector<uint32_t> &everyone);
  bool step(EngineWalk &e);
  bool stepAll(const std::vector<uint32_t> &which);
  bool passWaits(EngineWalk &e, const Decoded &d);
  void fireUpdates(const Decoded &d, const Snapshot &s);
  void stepCompute(EngineWalk &e, Visit &v);
  void stepRegister(EngineWalk &e, Visit &visit);
  void stepDma(EngineWalk &e, Visit &v);
  void stepExchange(EngineWalk &e, Visit &v);
  bool stepBarrier(EngineWalk &e, const Decoded &d);
  bool stepControl(EngineWalk &e, const Decoded &d);
  void meetExchanges(int pipe);
  void checkTables(EngineWalk &e, const Decoded &d);
  void reportBlocked(const std::vector<uint32_t> &which);
  template <class F> bool anyLater(const EngineWalk &e, F &&f) const;
  std::string commandToHold(const InstrRef &i) const;
  void checkOutputs();
  Snapshot snapshot(const EngineWalk &e) const;
  static uint32_t who(const Decoded &d) { return whoIs(d.core, d.engine, d.index); }
  static uint32_t whoIs(int core, Engine e, uint32_t index) {
    return static_cast<uint32_t>(core) << 31 | static_cast<uint32_t>(e) << 28 | index;
  }
  InstrRef ref(uint32_t who) const {
    return {static_cast<int>(who >> 31), static_cast<Engine>(who >> 28 & 7), who & 0xFFFFFFFu};
  }
  void fail(std::string_view rule, uint32_t who, int slot, std::string what, std::string value = {}, std::string limit = {},
            std::vector<std::string> notes = {});

  // WalkAddress.cpp and WalkAccess.cpp
  struct Issuer { // who makes an access, as the map of bytes records it
    uint32_t comp, seq, who;
    uint32_t self; // the engine whose earlier instructions are complete; UINT32_MAX: only what `knows` says
    const Knowledge *knows;
  };
  Issuer issuer(const EngineWalk &e, const Decoded &d) const;
  Place resolve(const EngineWalk &e, const Decoded &d, int slot);
  void layOut(const Decoded &d, Place &p);
  void checkIndexed(const Decoded &d, std::vector<Place> &places, const Issuer &who, bool &undefined);
  void touchAll(EngineWalk &e, const Decoded &d, std::vector<Place> &places, const Issuer &who);
  bool read(const Place &p, const Issuer &who, uint32_t *content);
  void checkWrite(const Place &p, const Issuer &who);
  void write(const Place &p, const Issuer &who, bool defined, bool maybe, bool matmul, uint32_t content);
  void checkGather(const Decoded &d, const std::vector<Place> &places);
  void checkBank(const Decoded &d, const Place &p);
  void checkOverlap(const Decoded &d, const std::vector<Place> &places);
  void serialise(EngineWalk &e, const Decoded &d, bool sbuf, bool psum);
  void resolveAll(const EngineWalk &e, Visit &v);
  bool ordered(const Touch &t, const Issuer &by) const;
  void meets(const Place &p, const Issuer &by, const Touch &other, const char *mine, const char *theirs);
  void verdict(const Decoded &d, int slot, Proof proof, std::string_view why);
  const Cow<ByteMap> &mapAt(const Place &p, int quadrant) const;
  Cow<ByteMap> &mapAt(const Place &p, int quadrant);
  uint32_t memoryOf(const Place &p) const;
  template <class F> void forEachMap(const Place &p, F &&f);
  template <class F> void forEachRect(const Place &p, F &&f);
  bool readHull(const Place &p, const Issuer &who, int32_t owner, uint32_t *content);
  bool addsToMatmul(const Place &p);
  std::optional<Content> inputContent(const Place &p) const;
  uint32_t joinContents(uint32_t x, uint32_t y);
  uint32_t keepContent(const std::optional<Content> &c);
  uint64_t sourceOf(const EngineWalk &e, const Place &p);
  enum SourceKind : int64_t { Loaded, Constant, Computed, Formed, ValueRead, ValueMade };
  uint64_t intern(std::vector<int64_t> key);
  static bool ofRound(const Form &f);
  uint64_t identity(const RegisterValue &v);
  RegisterValue named(RegisterValue v);

  // WalkValues.cpp: who stores the same bytes
  bool coresShareWrites() const;
  const WriteValue *writtenValue(const Touch &t) const;
  uint64_t valueRead(const Place &p);
  uint64_t valueMade(const Decoded &d, const std::vector<Place> &places);
  void beginWrite(uint64_t value) {
    writing = value;
    storing.clear();
  }
  void keepValue(uint64_t value, const Place &p, const Issuer &by);
  bool storesTheSame(const Place &p, const Issuer &by, const Touch &other) const;

  // Apart.cpp: touches that are not ordered and share no byte
  uint32_t spotOf(const Place &p);
  uint32_t internSpot(const Spot &s);
  Interval rangeOf(uint32_t symbol) const;
  void reach(const Form::Term &t, Wide &lo, Wide &hi) const;
  Wide mostOf(const MaybeForm &f) const;
  void tighten(RegisterValue &v) const;
  bool apart(const Place &p, const Touch &t, const Issuer &by, bool &otherRound) const;
  bool apartAt(const Place &p, const Spot &s, size_t level, Interval ages) const;
  bool apartBy(const Place &p, const Spot &s, size_t level, Interval ages) const;

  // Fill.cpp: what was certainly written where the map of bytes cannot say it
  void fill(const Place &p, bool defined, bool matmul, uint32_t content);
  void disturb(const Place &p, bool defined, bool matmul);
  const Filled *filledBy(const Place &p) const;
  void settleIfKnown(const Filled &f); // if it is one place, and of not too many runs
  void settleOutputs();
  bool definedTogether(const Place &p, int32_t owner);
  void keepFilled(Filled f);
  void settle(const Filled &f);

  // WalkLoops.cpp
  bool enterLoop(EngineWalk &e, const Decoded &d);
  bool endLoop(EngineWalk &e);
  void startIteration(EngineWalk &e, LoopFrame &f);
  void leaveLoop(EngineWalk &e);
  void changeStream(EngineWalk &e, uint32_t stream);
  void branch(EngineWalk &e, const Decoded &d);
  void endMaybe(EngineWalk &e);
  void nextNumber(EngineWalk &e, const Decoded &d);
  bool waysSignalAlike(int core, Engine engine, uint32_t index, uint32_t meet);
  struct WaysMeet {           // the ways that lead from a branch
    uint32_t at = UINT32_MAX; // the first instruction that all come to; UINT32_MAX: something before it may not be skipped
    int branches = 1;         // how many there are
    int computations = 0;     // in what one branch skips
    bool signals = false;     // whether something before it adds to a semaphore
    uint32_t forbidden = 0;   // what may not be skipped
  };
  WaysMeet whereWaysMeet(int core, Engine engine, uint32_t index, uint32_t target, uint32_t atMost);
  std::vector<int> registersWritten(int core, Engine e, uint32_t begin, uint32_t end) const;
  bool bodySynchronises(int core, Engine e, uint32_t begin, uint32_t end) const;

  // LoopHead.cpp, LoopProof.cpp, LoopExit.cpp, LoopHint.cpp: loops by an invariant
  void prove(LoopRun &run);
  bool search(LoopProof &p, bool keepExits);
  bool holds(LoopProof &p);
  void forgetValues(size_t left);
  void writeHint(const LoopProof &p);
  void readHint(LoopProof &p);
  int64_t givenPeriod(const LoopRun &run);
  RegisterValue progression(const LoopProof &p, const RegisterValue &first, int64_t step);
  bool joinInto(State &into, const State &other);
  void planLoop(LoopProof &p);
  void makeHead(LoopProof &p);
  void shareWithConsumers(const LoopProof &p, State &s);
  State aged(const LoopProof &p, State s);
  uint32_t foldSpot(uint32_t place, const std::function<bool(uint32_t)> &which);
  bool weaken(const LoopProof &p, RegisterValue &held, const RegisterValue &entry, const RegisterValue &end, int pass);
  void failForGood(std::string_view rule, uint32_t whose, std::string what, std::string value = {}, std::string limit = {});
  bool walkIteration(LoopProof &p, int64_t phase);
  bool leftAsFound(LoopProof &p);
  bool walkRound(LoopProof &p, bool keepExits);
  bool measureRound(LoopProof &p);
  void leaveProved(LoopProof &p);
  void behindLoop(LoopProof &p, std::vector<State> ends, const std::vector<uint32_t> &top, const std::vector<Filled> &filled,
                  int64_t lo);
  bool spoilt(const Activation &a, Filled &f) const;
  int64_t periodOf(const LoopRun &run); // LoopPeriod.cpp
};

// f(map, mask) for every memory of the place, with its partitions there.
template <class F> void Walk::forEachMap(const Place &p, F &&f) {
  if (p.space == Space::Hbm)
    return f(mapAt(p, 0).own(), 1u);
  for (int q = p.firstPartition / 32; q * 32 < p.lastPartition && q < 4; ++q) {
    const int first = std::max(p.firstPartition - q * 32, 0), last = std::min(p.lastPartition - q * 32, 32);
    f(mapAt(p, q).own(), static_cast<uint32_t>(((uint64_t{1} << (last - first)) - 1) << first));
  }
}

// f(map, lo, hi, mask) for every rectangle of the place.
template <class F> void Walk::forEachRect(const Place &p, F &&f) {
  forEachMap(p, [&](ByteMap &map, uint32_t mask) {
    for (const ByteRun &r : p.runs)
      f(map, r.lo, r.hi, mask);
  });
}

} // namespace glia::flow
