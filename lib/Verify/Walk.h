// The walk: one abstract execution of the whole program. Engines step until they block; waits are passed by what their
// semaphores prove; every access is checked against what is known of the bytes. By S6 (docs/ordering.md) one order that
// completes stands for all of them.
#pragma once
#include "Clock.h"
#include "Contents.h"
#include "RegisterValue.h"
#include "SemaphoreState.h"
#include "Shadow.h"
#include "glia/ISA/Exec.h"
#include "glia/Program/Decode.h"
#include "glia/Verify/Footprint.h"
#include "glia/Verify/Reporter.h"

#include <bitset>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace glia::flow {

// An operand with its address worked out as far as it is known.
struct Place {
  int slot = 0;
  const Pattern *pattern = nullptr;
  ObjectRef object;
  Space space = Space::Sbuf;
  int core = 0;
  RegisterValue start;                       // absolute byte in the partition or tensor
  RegisterValue partition;                   // absolute first partition
  int partitions = 0;                        // HBM: 0
  bool fixed = true;                         // the address is one number: `runs` is exact
  bool partly = false;                       // rows may be skipped: not all of it need be written
  std::vector<ByteRun> runs;                 // what may be touched
  int firstPartition = 0, lastPartition = 0; // [first, last): what may be touched
};

// An access inside a summarised loop, kept for the check at its end.
struct LoopAccess {
  ByteMap *map = nullptr; // the memory (quadrant 0 stands for all of it)
  ObjectRef object;
  uint32_t comp = 0, who = 0;
  int slot = 0;
  bool write = false;
  Motion byteMotion, partitionMotion;
  bool still = true;                     // at the same bytes in every iteration of every loop around it
  int64_t lo = 0, hi = 0;                // hull in the last walked iteration
  uint32_t earlySeq = 0;                 // number of this access in iteration 1
  uint32_t previousSeq = 0, lateSeq = 0; // the last of its numbers in the last walked iteration but one, and in the last
  int lateTimes = 0;                     // how often it was done in the last walked iteration
  Snapshot lateKnowledge;                // what its issuer knew when it first did this in the last walked iteration
};

struct LoggedWrite { // undone when a loop that may not run is left
  ByteMap *map;
  int64_t lo, hi;
  uint32_t mask;
  bool undefine, notMatmul;
};

// One execution of a loop by all engines of its group.
struct LoopRun {
  std::string group;
  int members = 1, entered = 0, exited = 0;
  int64_t number = 0;                    // of a group: which run it is
  bool open = false;                     // a while
  RegisterValue count, compared;         // how many iterations; the value the engines are compared by
  std::vector<RegisterValue> conditions; // of a while: before the first iteration, and after each; from who came first
  std::vector<uint64_t> counters, tests; // sources, by iteration: of the loop variable, of the condition
  bool summarised = false;               // not a fixed number of iterations that are all walked
  bool beyond = false;                   // it may run more often than it is walked
  int depth = 0;                         // among the loops that go beyond what is walked, outermost 0
  int64_t walked = 0;                    // iterations that are walked one by one
  uint32_t firstWho = 0;                 // who entered first, for messages
  std::shared_ptr<LoopRun> outer;        // the summarised loop around it, if any
  std::map<uint32_t, int64_t> net;       // semaphore: additions minus consumption, over the walked iterations
  std::map<uint32_t, bool> plainWaits, produced; // semaphores waited on without consuming / added to, in the loop
  std::map<std::tuple<uint32_t, int, uint32_t>, LoopAccess> accesses; // by who, slot, component
  std::vector<LoggedWrite> writes;
  std::map<uint32_t, SemaphoreState::Before> semaphoresBefore;
  // L7. Per component (engines of the group, queues they issue to): its last access before the loop, and after each iteration.
  std::set<uint32_t> engines;
  std::map<uint32_t, uint32_t> accessBefore;
  std::map<uint32_t, std::vector<uint32_t>> accessAfter;
};

struct LoopFrame {
  uint32_t begin = 0, end = 0; // instruction indices of loop and end_loop
  int iv = -1, cond = -1;      // registers: a loop counts in one, a while tests one
  int64_t iteration = 0;
  bool generic = false; // the iteration that stands for all that are not walked
  std::shared_ptr<LoopRun> run;
  std::shared_ptr<const Clock> knowledgeBefore;
  std::set<uint32_t> uncovered; // components of which an iteration ended without this engine knowing everything
  std::bitset<kLanes> accumulatorBefore;
  std::bitset<64> undefinedBefore; // registers
  int residentBefore = -1;         // activation set
};

struct Visit { // an instruction, and its operands
  Decoded d;
  std::vector<Place> places;
  bool resolved = false; // `places` are those of `d`; only what registers move has to be found again
};

struct EngineWalk {
  int core = 0;
  Engine engine = Engine::Sync;
  uint32_t comp = 0;
  uint32_t pc = 0, seq = 0;
  size_t nextWait = 0;
  bool arrived = false; // at a barrier, or at the exit of a loop, waiting for the others
  Knowledge knows;
  std::array<RegisterValue, 64> regs{};
  std::vector<LoopFrame> loops;
  std::unordered_map<std::string, uint32_t> loopEntries, barriers;
  uint32_t maybeUntil = 0; // instructions before this one may have been skipped by a branch
  std::array<RegisterValue, 64> regsAtBranch{};
  int residentSet = -1;
  std::bitset<kLanes> accumulator;     // lanes whose register is defined
  uint32_t lastSbuf = 0, lastPsum = 0; // number of the last instruction that touched it (M1, M2)
  uint32_t lastSbufWho = 0, lastPsumWho = 0;
  std::array<Visit, 32> recent; // in a loop: instructions by the last bits of their numbers
};

class Walk {
public:
  // `coarse`: reads of many runs count as reads of all that lies between; what passes is proved, what does not may still be right.
  Walk(const Program &p, const VerifyOptions &o, Reporter &r, VerifyResult &result, bool coarse);
  void run();
  // Whether what was found about registers and indices may be less than can be found.
  bool lessThanExact() const { return lostContent && !result.dynamicAccesses.empty(); }

private:
  const Program &program;
  const VerifyOptions &options;
  Reporter &reporter;
  VerifyResult &result;
  const bool serialSbuf, serialPsum, anyWriter; // M1, M2, and who may write what a matmul adds to
  const bool coarse;
  bool lostContent = false; // a coarse read may have seen less of the values than an exact one
  static constexpr size_t kManyRuns = 4;
  std::vector<EngineWalk> engines; // core * kNumEngines + engine
  std::vector<SemaphoreState> semaphores;
  std::vector<SemaphoreUse> uses;
  std::vector<uint32_t> queueSeq;
  std::vector<uint32_t> lastAccess; // by component: the number of its last access to memory
  std::vector<uint32_t> queueOwner; // by queue: the engine's component that issues to it; UINT32_MAX: nobody yet
  std::map<int, uint32_t> pipeComp, pipeSeq;
  size_t components = 0;
  std::vector<std::array<std::array<ByteMap, 4>, 2>> chip; // [core][SBUF, PSUM][quadrant]
  std::vector<std::vector<ByteMap>> hbm;                   // [tensor][core, or 0 if shared]
  std::vector<Content> contents{Content{}};                // index 0: nothing known
  std::unordered_map<std::string, int> groupMembers;
  std::map<std::pair<std::string, uint32_t>, std::shared_ptr<LoopRun>> groupRuns;
  std::vector<std::shared_ptr<LoopRun>> uncertainRuns; // entered, not left by all, and may not run at all
  int64_t largestWalkedCount = 0, runs = 0;
  struct BarrierMeet {
    std::vector<std::pair<int, Snapshot>> arrived;
  }; // core, what it knew
  std::map<std::pair<std::string, uint32_t>, BarrierMeet> barriers;
  struct PendingExchange {
    Decoded d;
    std::vector<Place> places;
    Snapshot snapshot;
    std::vector<LoopFrame> loops;
  };
  std::map<int, std::array<std::deque<PendingExchange>, 2>> exchanges;
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
  std::vector<ByteRun> runBuffer;
  Visit single; // the instruction at hand, outside of loops
  Decoded scratch;

  // Walk.cpp
  void scan();
  void chooseWalkedLoops();
  bool step(EngineWalk &e);
  bool passWaits(EngineWalk &e, const Decoded &d);
  int64_t uncertain(const EngineWalk &e, uint32_t semaphore) const;
  void fireUpdates(const std::vector<LoopFrame> &loops, const Decoded &d, const Snapshot &s);
  void stepCompute(EngineWalk &e, Visit &v);
  void stepRegister(EngineWalk &e, Visit &visit);
  void stepDma(EngineWalk &e, Visit &v);
  void stepExchange(EngineWalk &e, Visit &v);
  bool stepBarrier(EngineWalk &e, const Decoded &d);
  bool stepControl(EngineWalk &e, const Decoded &d);
  void meetExchanges(int pipe);
  void checkTables(EngineWalk &e, const Decoded &d);
  void reportBlocked();
  void checkOutputs();
  bool generic(const EngineWalk &e) const { return !e.loops.empty() && genericDepth(e) >= 0; }
  int genericDepth(const EngineWalk &e) const;
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
  struct Issuer { // who makes an access, as the shadow records it
    uint32_t comp, seq, who;
    const EngineWalk *engine; // whose knowledge orders it
    const Knowledge *knows;
  };
  Place resolve(const EngineWalk &e, const Decoded &d, int slot);
  void checkIndexed(EngineWalk &e, const Decoded &d, std::vector<Place> &places, const Issuer &who, bool &undefined);
  void touchAll(EngineWalk &e, const Decoded &d, std::vector<Place> &places, const Issuer &who);
  bool read(const Place &p, const Issuer &who, uint32_t *content);
  void write(const std::vector<LoopFrame> &loops, const Place &p, const Issuer &who, bool defined, bool maybe, bool matmul,
             uint32_t content);
  void checkGather(const EngineWalk &e, const Decoded &d, const std::vector<Place> &places);
  void checkOverlap(const Decoded &d, const std::vector<Place> &places);
  void serialise(EngineWalk &e, const Decoded &d, bool sbuf, bool psum);
  void resolveAll(const EngineWalk &e, Visit &v);
  void race(const Place &p, const Issuer &who, const Touch &other, const char *mine, const char *theirs);
  void verdict(const Decoded &d, int slot, Proof proof, std::string_view why);
  ByteMap *mapOf(const Place &p, int quadrant);
  template <class F> void forEachMap(const Place &p, F &&f);
  template <class F> void forEachRect(const Place &p, F &&f);
  bool readHull(const Place &p, const Issuer &who, int32_t owner, uint32_t *content);
  std::optional<Content> inputContent(const Place &p) const;
  uint32_t keepContent(const std::optional<Content> &c);
  void logAccess(EngineWalk &e, const Place &p, const Issuer &who, bool write);
  void touchFromRegister(EngineWalk &e, const Place &p, const Issuer &who, bool write);
  uint64_t sourceOf(const EngineWalk &e, const Place &p);
  enum SourceKind : int64_t { Loaded, Constant, Computed };
  uint64_t intern(std::vector<int64_t> key);
  uint64_t sourceIn(std::vector<uint64_t> &byIteration, int64_t iteration);
  uint64_t identity(const RegisterValue &v);

  // WalkLoops.cpp
  bool enterLoop(EngineWalk &e, const Decoded &d);
  bool endLoop(EngineWalk &e);
  void testCondition(const EngineWalk &e, LoopFrame &f, uint32_t who, size_t number);
  void nextIteration(EngineWalk &e);
  bool mayOverlap(const LoopAccess &a, const LoopAccess &b) const;
  void leaveLoop(EngineWalk &e);
  std::vector<uint32_t> componentsOf(uint32_t engine) const;
  bool touchesMemory(int core, Engine e, uint32_t begin, uint32_t end) const;
  void endIteration(EngineWalk &e, LoopFrame &f);
  void keepWhatTheLoopTaught(EngineWalk &e, const LoopFrame &f);
  void finishRun(LoopRun &run);
  void checkLoopOrder(LoopRun &run);
  void startIteration(EngineWalk &e, LoopFrame &f);
  void branch(EngineWalk &e, const Decoded &d);
  std::vector<int> registersWritten(int core, Engine e, uint32_t begin, uint32_t end) const;
  bool bodySynchronises(int core, Engine e, uint32_t begin, uint32_t end) const;
};

// f(map, mask) for every memory of the place, with its partitions there.
template <class F> void Walk::forEachMap(const Place &p, F &&f) {
  if (p.space == Space::Hbm)
    return f(*mapOf(p, 0), 1u);
  for (int q = p.firstPartition / 32; q * 32 < p.lastPartition && q < 4; ++q) {
    const int first = std::max(p.firstPartition - q * 32, 0), last = std::min(p.lastPartition - q * 32, 32);
    f(*mapOf(p, q), static_cast<uint32_t>(((uint64_t{1} << (last - first)) - 1) << first));
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
