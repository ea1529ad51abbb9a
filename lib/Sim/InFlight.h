// Instructions in flight. Fast mode takes a program's instructions in one order, and so does the sequential meaning of a kernel; those
// that touch different bytes may run at the same time, on several threads. One that shares bytes with an earlier one waits for it,
// whatever the program's own synchronisation says: the bytes are those of the one order, with any number of threads, also for a
// program with races.
#pragma once
#include "glia/ISA/Exec.h"
#include "glia/Sim/Simulator.h"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace glia::sim {

// Bytes that an instruction may touch: a range of bytes on a range of partitions.
struct Box {
  uintptr_t memory = 0;   // 0: HBM, whose bytes are host addresses
  int64_t lo = 0, hi = 0; // [lo, hi)
  int32_t first = 0, end = 1;
  bool write = false;
  bool meets(const Box &o) const {
    return memory == o.memory && (write || o.write) && lo < o.hi && o.lo < hi && first < o.end && o.first < end;
  }
};

struct Task {
  int place = 0;       // 0 to InFlight::kPlaces - 1; what is to be done there is kept by who gives the task
  uint64_t number = 0; // its place in the one order
  uint64_t label = 0;  // what the giver calls it
  std::vector<Box> boxes;
};

// `anywhere`: in its tensor, as indices say.
Box boxOf(const Region &r, bool write, bool anywhere = false);
// The accumulator of an engine.
inline Box boxOf(const EngineState &s) { return {reinterpret_cast<uintptr_t>(&s), 0, 1, 0, 1, true}; }

class InFlight {
public:
  static constexpr int kPlaces = 64; // a bit each
  // Runs an instruction. Called on several threads at once, each with an Exec of its own.
  using Run = std::function<void(Exec &, Task &)>;
  struct Failure { // the first one, in the one order, that threw
    uint64_t number, label;
    std::exception_ptr error;
  };

  // `lazy`: the first moments of a run are spent alone.
  InFlight(int threads, bool lazy, const Target &target, Run run);
  ~InFlight();
  InFlight(const InFlight &) = delete;
  // One thread only, or a run too short for more: nothing is in flight, and the caller runs what it has itself.
  bool alone();
  // A free place for the next instruction; free until it is issued.
  Task &claim();
  // Runs it as soon as the earlier ones that share bytes with it have run.
  void issue(Task &t);
  // Returns when the earlier ones that share bytes with it have run; the caller runs it.
  void await(const Task &t);
  // Returns when all have run.
  void drain();
  bool anyFailed() const { return failing.load(std::memory_order_relaxed); }
  const Failure *failure() const { return failed.get(); } // after `drain`

private:
  using Mask = uint64_t;
  int threads;
  const bool lazy;
  const Target &target;
  const Run run;
  Exec exec; // of the thread that issues
  std::array<Task, kPlaces> tasks;
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::vector<std::thread> workers;

  std::mutex mutex; // guards what follows
  std::condition_variable changed;
  std::atomic<uint64_t> changes{0};
  int sleepers = 0;
  bool stopping = false;
  Mask used = 0, waiting = 0, ready = 0; // used: issued and not yet run: waiting, ready or running
  std::array<Mask, kPlaces> waitsFor{};
  std::atomic<bool> failing{false};
  std::unique_ptr<Failure> failed;

  static Mask bit(int place) { return Mask{1} << place; }
  Mask sharing(const Task &t, Mask among) const; // places of those that share bytes with it
  int oldestReady() const;                       // -1: none
  void runAt(int place, Exec &on, std::unique_lock<std::mutex> &lock);
  void note();                                    // something has changed
  void sleep(std::unique_lock<std::mutex> &lock); // until something changes
  template <class Done> void helpUntil(std::unique_lock<std::mutex> &lock, Done &&done);
  void startWorkers();
  void work();
};

// As many threads as the run asks for; if it leaves that open, GLIA_THREADS, or one for each processor.
int threadsOf(const RunOptions &options);

} // namespace glia::sim
