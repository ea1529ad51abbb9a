// The sequential executor: what is made of a kernel once, and one run of it.
#pragma once
#include "ExecuteObserver.h"
#include "Sim/InFlight.h"
#include "Transforms/InstrFacts.h"

#include <array>
#include <deque>
#include <map>
#include <mutex>

namespace glia::execute {

// A kernel ready to be run, any number of times: a checked copy with its engines chosen, its memory, its instructions bound to it.
class Ready {
public:
  // `wanted`: what runs will look for; null: nothing, and nothing is numbered. `shared`: tiles may share memory. `threads`: of the runs,
  // 0 if that is left open.
  Ready(nisa::Kernel &k, const Observations *wanted, bool shared, int threads = 0);
  nisa::KernelOp op() { return kernel.op(); }
  // An instruction that is run more than once is bound once.
  Bound &bound(nisa::Instr i, int core);
  bool keepsAll() const { return instructions <= kMostKept; }
  // After a run that has ended in the middle of an instruction.
  void forgetBound() { kept.clear(); }

private:
  nisa::Kernel kernel;

public:
  const std::shared_ptr<const Target> target;
  const std::optional<Numbers> numbers;
  Memory memory;
  std::mutex running; // one run at a time

private:
  static constexpr size_t kMostKept = 50'000;
  size_t instructions = 0;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Bound>> kept;
};

struct Exchange { // issued, and the other core has not come yet
  Bound x;
  int pipe = 0;
};

struct Frame { // a block being run
  mlir::Block::iterator next, end;
  mlir::Operation *loop = nullptr; // null: the core itself
  int64_t i = 0, n = 0;            // iterations: done, and of nisa.loop how many there are
};

struct CoreState {
  int number = 0;
  std::vector<Frame> frames;
  Registers registers;
  std::array<EngineState, kNumEngines> engines;
  std::deque<Exchange> exchanges;
  std::map<std::string, uint64_t, std::less<>> barriers; // arrivals by name
  bool arrived = false;                                  // it is counted at the barrier it stands at
  mlir::Operation *waiting = nullptr;                    // the instruction it stands at; null: it can go on
  bool ended() const { return frames.empty() && exchanges.empty(); }
};

// Each core walks its regions in order; the cores take turns and meet at barriers and exchanges.
class Run {
public:
  Run(Ready &all, const TensorViews &inputs, const ExecuteOptions &options);
  // One instruction of the core whose turn it is, which it keeps until it waits or ends. False: the run has ended, and `result` is
  // complete.
  bool advance();
  RunResult result;

  // ---- for who takes single steps; with options.observe

  // The instruction that was run last.
  Moment lastMoment() const { return momentOf(cores[turn], nisa::Instr(current)); }
  std::vector<std::byte> bytesOf(uint32_t tensor, int core) const {
    return execute::bytesOf(memory.place(all.numbers->tensors.at(tensor), core));
  }
  int32_t registerOf(uint32_t reg, int core) const { return cores[core].registers.lookup(all.numbers->registers.at(reg)); }

private:
  Ready &all;
  nisa::KernelOp kernel;
  const Target *target;
  const ExecuteOptions &options;
  const Memory &memory;
  Exec exec;
  const bool anyWriter;
  std::vector<CoreState> cores;
  size_t turn = 0;
  mlir::Operation *current = nullptr;
  llvm::DenseMap<mlir::Value, nisa::PsumState> psum;
  std::vector<std::unique_ptr<Observer>> observers;

  struct Work { // in flight: an instruction, or memory to be cleared or copied
    CoreState *core = nullptr;
    Bound *x = nullptr;
    Bound own; // of an instruction that comes again: where `x` lies
    int flag = -1;
    int32_t value = 0;
    const Place *place = nullptr;
    std::byte *to = nullptr; // null: cleared
  };
  std::array<Work, sim::InFlight::kPlaces> works;
  uint64_t issued = 0;
  std::optional<sim::InFlight>
      flight; // last: its threads use what is above. None: one thread, and every step is done when it is taken

  void observe(Observations &out);
  Moment momentOf(const CoreState &c, nisa::Instr i) const;
  template <class Do> void observed(CoreState &c, const Bound &x, Do &&act) {
    if (observers.empty())
      return act();
    const Moment m = momentOf(c, x.instr);
    for (const auto &o : observers)
      o->before(x, m);
    act();
    for (const auto &o : observers)
      o->after(x, m);
  }

  // Runs one instruction; false: all cores have ended, and everything is done.
  bool goOn();
  bool runSome(); // the latter may still be in flight
  // Runs up to and with the next instruction; Control: it has gone on, and then waits or has ended.
  enum class Ran { Instruction, Control, Nothing };
  Ran runCore(CoreState &c);
  // The end of a block: goes back to its start if there is another iteration.
  bool again(CoreState &c, Frame &f);
  void count(mlir::Operation *op);
  // False: it has to wait for the other core.
  bool step(CoreState &c, mlir::Operation *op);
  bool instruction(CoreState &c, nisa::Instr i);

  // ---- one instruction (ExecuteInstruction.cpp)

  struct Spot { // where a slot lies in its tensor, with registers added
    nisa::PsumState *state = nullptr;
    int32_t partition = 0;
    int64_t byte = 0;
  };
  void perform(CoreState &c, Bound &x);
  bool transposes(const Bound &x) const;
  // At once; with `value` in slot `flag`, if there is one.
  void execute(Exec &on, CoreState &c, Bound &x, int flag = -1, int32_t value = 0);
  Spot spotOf(const Bound &x, int slot, int core);
  void noteWrites(const Bound &x, int core);
  void accumulate(CoreState &c, Bound &x);

  // ---- in flight (ExecuteFlight.cpp): as if everything before it had been done, and nothing behind it

  void submit(CoreState &c, Bound &x, int flag = -1, int32_t value = 0);
  void clear(const Place &p);
  void copy(const Place &p, std::byte *to);
  void work(Exec &on, Work &w);
  // Everything that was submitted is done. Throws what the first one threw that failed.
  void settle();

  // ---- two cores (ExecuteCores.cpp)

  CoreState *peerOf(const CoreState &c);
  bool barrier(CoreState &c, nisa::Instr i);
  // Exchanges that have nothing to do with each other may be issued one after the other before they meet their partners.
  bool exchange(CoreState &c, Bound &x);
  Diagnostic deadlock();
};

} // namespace glia::execute
