// A list of instructions in one order that is legal, and the semaphores that keep every other order from being different.
// Written from docs/ordering.md alone: the verifier is not consulted, so that the two readings check each other.
#pragma once
#include "glia/Support/Random.h"
#include "glia/Program/Builder.h"

#include <bitset>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace glia::mutants {

inline constexpr int kMaxOps = 512;
using OpSet = std::bitset<kMaxOps>;

// Bytes an operand may touch, in absolute coordinates; the same runs on each of its partitions.
struct Touch {
  Space space = Space::Hbm;
  int core = -1; // -1: HBM that both cores share
  uint32_t object = 0;
  int first = 0, last = 1;                       // partitions
  std::vector<std::pair<int64_t, int64_t>> runs; // sorted, [from, to)
  bool write = false;
};
bool overlap(const Touch &a, const Touch &b);

struct Operand {
  Access access;
  Touch touch;
};

// One instruction before it is emitted.
struct Op {
  Op(int core, Engine engine, std::string name) : core(core), engine(engine), name(std::move(name)) {}
  Op &in(const char *slot, const Operand &o);
  Op &out(const char *slot, const Operand &o);
  Op &inout(const char *slot, const Operand &o);
  template <class T> Op &set(const char *slot, const T &v) {
    sets.push_back([slot, v](Emit &e) { e.set(slot, v); });
    return *this;
  }
  Op &reg(const char *slot, int number) {
    sets.push_back([slot, number](Emit &e) { e.reg(slot, number); });
    return *this;
  }
  Op &queue(int q); // a transfer
  Op &pipe(int p);  // an exchange

  int core;
  Engine engine;
  std::string name;
  std::vector<std::function<void(Emit &)>> sets;
  std::vector<Touch> touches;
  bool transfer = false;
  int lane = -1;      // the queue, or -2 - pipe
  int partner = -1;   // an exchange: the other core's
  bool inner = false; // inside a loop or branch: ordered by hand
  int block = -1;     // instructions of one block are ordered by hand among each other
  int label = -1;     // the instruction its label names

  struct Wait {
    int semaphore;
    int upTo; // running count: up to this instruction; -1: `value` is final
    int32_t value;
    bool consume;
  };
  std::vector<Wait> waits;
  std::vector<std::pair<int, int32_t>> updates;
  OpSet complete, issued; // what its engine knows before it issues
};

class Schedule {
public:
  Schedule(Builder &b, Random &r) : b(b), r(r), known(2 * kNumEngines) {}
  int add(Op op);              // returns its number
  int addExchange(Op a, Op b); // the two halves of a sendrecv
  void barrier(Engine e0, Engine e1, const std::string &name);
  void label(int from, int to) { ops[from].label = to; }
  int size() const { return static_cast<int>(ops.size()); }
  const Op &operator[](int i) const { return ops[i]; }
  int semaphore(int core, int32_t initial = 0); // for loops, which synchronise by hand
  void finish();                                // emits everything

private:
  struct Knowledge {
    OpSet complete, issued;
  };
  struct Semaphore {
    int core;
    bool exact; // S5; otherwise S4
    bool consumed;
    int32_t initial, total; // exact: what it holds when everything has been added
    std::vector<int> from, waiters;
    int producer = -1, consumer = -1; // engines, -1: any
    bool byHand = false;
  };
  Builder &b;
  Random &r;
  std::deque<Op> ops;
  std::vector<Knowledge> known;
  std::vector<Semaphore> semaphores;

  Knowledge &of(const Op &o) { return known[o.core * kNumEngines + static_cast<int>(o.engine)]; }
  bool conflict(const Op &a, const Op &b) const;
  bool share(const Touch &a, const Touch &b) const;
  void order(Op &x);
  void waitFor(Op &x, int y);
  void waitForTransfer(Op &x, int y);
  void join(Op &x, const std::vector<int> &ys);
  void learn(Knowledge &k, int y);
  int push(Op &&x);
  int newSemaphore(int core, bool exact);
  void waitExact(Op &x, int s);
};

} // namespace glia::mutants
