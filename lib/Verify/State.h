// The abstract state of the walk: everything that is known at one moment of one order of execution. It is a value: loops that are proved
// by an invariant copy, move and join states (LoopState.h).
#pragma once
#include "Clock.h"
#include "RegisterValue.h"
#include "SemaphoreState.h"
#include "Shadow.h"
#include "glia/ISA/Exec.h"
#include "glia/Program/Decode.h"
#include "glia/Verify/Footprint.h"

#include <array>
#include <bitset>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace glia::flow {

// Shared between copies until one of them changes it.
template <class T> class Cow {
public:
  const T &operator*() const { return *value; }
  const T *operator->() const { return value.get(); }
  T &own() {
    if (value.use_count() > 1)
      value = std::make_shared<T>(*value);
    return *value;
  }
  bool shares(const Cow &other) const { return value == other.value; }

private:
  std::shared_ptr<T> value = std::make_shared<T>();
};

// How often each of some numbered places was come to. A program can have a hundred thousand of them, and many states: what changes is a page.
class Visits {
public:
  uint32_t come(uint32_t place) { // how often before
    std::vector<Page> &mine = pages.own();
    while (mine.size() <= place / kPage)
      mine.emplace_back();
    return mine[place / kPage].own()[place % kPage]++;
  }
  uint32_t last(uint32_t place) const {
    return (*(*pages)[place / kPage])[place % kPage] - 1;
  } // what `come` said the last time

private:
  static constexpr uint32_t kPage = 256;
  using Page = Cow<std::array<uint32_t, kPage>>;
  Cow<std::vector<Page>> pages;
};

// What the registers of an engine hold. States are copied far more often than registers change.
class Registers {
public:
  const RegisterValue &operator[](int reg) const { return (*values)[static_cast<size_t>(reg)]; }
  RegisterValue &change(int reg) { return values.own()[static_cast<size_t>(reg)]; }
  static constexpr int kCount = 64;

private:
  Cow<std::array<RegisterValue, kCount>> values;
};

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
  bool fixed = true;                         // `runs` is exactly what is touched
  bool partly = false;                       // rows may be skipped: not all of it need be written
  bool chosen = false;                       // indices choose the rows
  std::vector<ByteRun> runs;                 // what may be touched
  int firstPartition = 0, lastPartition = 0; // [first, last): what may be touched
};

// The bytes of a touch that are not all of its cell: a pattern, at an address that may move with the rounds of loops.
struct Spot {
  Form start;
  Interval slack;    // added to it: what else moves it ...
  int64_t grain = 0; // ... from its lower end by multiples of this
  const Pattern *pattern = nullptr;
  bool constant() const { return start.isConstant() && slack.lo == slack.hi; }
};

struct Stride {
  int64_t step = 0, count = 1; // bytes
  friend bool operator==(const Stride &, const Stride &) = default;
};

// Bytes that were certainly written with defined values, where the map of bytes cannot say it: at an address that moves, or in very many runs.
struct Filled {
  uint32_t memory = 0; // see Walk::memoryOf
  ObjectRef object;
  int firstPartition = 0, lastPartition = 0;
  Form start;
  std::vector<Stride> dims; // slowest first
  int64_t width = 0;        // bytes of one run
  bool matmul = false;
  uint32_t content = 0;
};

struct LoopRun { // one execution, by all engines of its group, of a loop whose iterations are walked or proved
  std::string group;
  int members = 1;
  bool open = false;             // a while
  bool walked = false;           // one iteration after the other
  RegisterValue count, compared; // how many iterations; the value the engines are compared by
  uint32_t firstWho = 0;         // who entered first, for messages
  std::vector<uint32_t> arrived; // engines that wait at its beginning
};

struct LoopFrame {
  uint32_t begin = 0, end = 0; // instruction indices of loop and end_loop
  int iv = -1, cond = -1;      // registers: a loop counts in one, a while tests one
  int64_t iteration = 0, count = 0;
  bool proved = false;      // rounds are led by the proof (LoopProof.cpp)
  uint32_t outerStream = 0; // of the engine, around the loop
};

// In the ways of a branch that all signal alike: the n-th instruction that does has the number base + n * width, in each of them.
struct Signals {
  uint32_t base = 0, width = 0; // no width: in no such way
  uint32_t made = 0;
};

struct EngineWalk {
  int core = 0;
  Engine engine = Engine::Sync;
  uint32_t number = 0; // among the engines
  uint32_t stream = 0; // the component that its instructions belong to now
  uint32_t pc = 0;
  size_t nextWait = 0;
  bool arrived = false; // at a barrier or a loop, waiting for the others
  bool ended = false;   // an iteration of a loop that is proved
  Knowledge knows;
  Registers regs;
  std::vector<LoopFrame> loops;
  Visits groups, barriers; // by their numbers in the walk
  uint32_t maybeUntil = 0; // instructions before this one may have been skipped by a branch
  Registers regsAtBranch;
  Signals signals;
  uint32_t waysMeet = UINT32_MAX; // the end of the ways of a branch that are being walked one by one
  int residentSet = -1;
  std::bitset<kLanes> accumulator;       // lanes whose register is defined
  std::vector<Touch> lastSbuf, lastPsum; // the last instructions that touched it (M1, M2)
};

struct BarrierMeet {
  std::vector<Snapshot> arrived; // what each knew
  int left = 0;
};

struct PendingExchange {
  Decoded d;
  std::vector<Place> places;
  Snapshot snapshot;
  bool maybe = false;
};

struct State {
  std::vector<EngineWalk> engines; // core * kNumEngines + engine
  std::vector<SemaphoreState> semaphores;
  std::vector<uint32_t> numbers;   // by component: of the last thing it did
  std::vector<uint32_t> lastEvent; // by component: of the last thing it did that others need to know of
  std::vector<std::array<std::array<Cow<ByteMap>, 4>, 2>> chip; // [core][SBUF, PSUM][quadrant]
  std::vector<std::vector<Cow<ByteMap>>> hbm;                   // [tensor][core, or 0 if shared]
  std::vector<Filled> filled;
  std::map<std::pair<std::string, uint32_t>, std::shared_ptr<LoopRun>> runs; // of groups: entered by some, not by all
  std::vector<std::shared_ptr<LoopRun>> ready;                               // loops to prove when nobody else can step
  std::map<std::pair<std::string, uint32_t>, BarrierMeet> barriers;
  std::map<int, std::array<std::deque<PendingExchange>, 2>> exchanges;
};

// f(map) for every memory, in one order.
template <class F> void forEachMap(State &s, F &&f) {
  for (auto &core : s.chip)
    for (auto &space : core)
      for (Cow<ByteMap> &map : space)
        f(map);
  for (auto &tensor : s.hbm)
    for (Cow<ByteMap> &map : tensor)
      f(map);
}

} // namespace glia::flow
