// What fast and strict mode share: streams with their control flow, the semantics' calling convention, semaphore arithmetic.
#pragma once
#include "Memory.h"
#include "Resolve.h"

namespace glia::sim {

struct StreamState {
  int core = 0;
  Engine engine = Engine::Sync;
  uint32_t pc = 0, size = 0;
  int waited = 0;       // waits of the instruction at pc that have passed
  uint64_t barrier = 0; // > 0: stands in the barrier of that number (of its name)
  EngineState state;
  struct Loop {
    uint32_t begin, end;
    static constexpr int64_t kOpen = INT64_MAX;
    int reg;      // that counts; of a while: that is tested
    int64_t i, n; // of a while: 0, kOpen
  };
  std::vector<Loop> loops;
  // Instructions in loops are resolved once; others each time.
  std::vector<std::unique_ptr<Prepared>> cache;
  size_t cached = 0;
  Prepared scratch; // the latter; a barrier that the stream stands in
  bool ended() const { return pc >= size; }
  InstrId id() const { return {static_cast<uint8_t>(core), engine, pc}; }
};

class Machine {
public:
  Machine(const Program &p, const TensorViews &inputs, const RunOptions &options);
  virtual ~Machine() = default;

protected:
  const Program &program;
  const RunOptions &options;
  Memory memory;
  Resolver resolver;
  Exec exec;
  RunResult result;
  std::vector<StreamState> streams; // [core * kNumEngines + engine]
  const int parts;                  // increments per DMA
  InstrId current;                  // what runs now, for traps

  // Runs `body` and turns what it throws into the result; false if it threw.
  template <class Body> bool guarded(Body &&body);
  // The same, and then the outputs.
  template <class Body> RunResult finish(Body &&body);
  StreamState &stream(InstrId id) { return streams[id.core * kNumEngines + static_cast<int>(id.engine)]; }
  // Strict mode asks here whether the registers of addresses hold anything.
  virtual void beforeRegisters(const StreamState &, const Prepared &) {}
  std::span<const SyncOp> waitsOf(const StreamState &s) const;
  // The instruction at pc, resolved, registers read: in `scratch`, or kept for the next iteration of its loop. Counts it.
  // Throws Fault or Trap.
  Prepared &fetch(StreamState &s, Prepared &scratch);
  // Runs the semantics on `operands`, which come back unchanged.
  void execute(const Prepared &x, std::vector<Exec::Operand> &operands, int part, int ofParts);
  // The same with an Exec of the caller's; several threads may, each with its own.
  void executeOn(Exec &on, const Prepared &x, std::vector<Exec::Operand> &operands, int part, int ofParts);
  // Control flow: moves pc. `x` is loop, while, end_loop or branch.
  void control(StreamState &s, const Prepared &x);
  // Gives the source of a collective to the other ranks. The operand becomes what this rank gets, in `received`.
  void meetRanks(Prepared &x, SharedBytes &received) const;
  // An exchange is executed on each core with the other core's source.
  static int sourceSlot(const Prepared &x) { return x.d.def->slot("src"); }
  static std::string_view barrierName(const Prepared &x);
  int pipeOf(const Prepared &x) const;
  std::vector<int> pipesOf() const; // those that the program uses, ascending
  // One engine of a core issues to a queue or pipe (D3b).
  void takeQueue(std::array<int, 2> &owner, const Prepared &x, const std::string &what) const;
  int peerOf(int core) const { return (core ^ 1) < static_cast<int>(program.cores) ? core ^ 1 : -1; }
  void checkTransferUpdates(const Prepared &x) const;
  // value + delta, or a fault if it leaves the range of a semaphore.
  int32_t semaphoreValue(InstrId by, int semaphore, int64_t value) const;
  // One line per stream that has not ended: what it waits for.
  template <class Value> Fault deadlock(Value &&semaphoreNow, std::vector<std::string> more = {}) const;
  std::string blockedOn(const StreamState &s, int32_t semaphoreNow) const;
};

template <class Value> Fault Machine::deadlock(Value &&semaphoreNow, std::vector<std::string> more) const {
  std::vector<std::string> notes;
  const StreamState *first = nullptr;
  bool anySemaphore = false;
  for (const StreamState &s : streams) {
    if (s.ended())
      continue;
    first = first ? first : &s;
    const auto waits = waitsOf(s);
    const bool onSemaphore = !s.barrier && s.waited < static_cast<int>(waits.size());
    anySemaphore |= onSemaphore;
    notes.push_back(blockedOn(s, onSemaphore ? semaphoreNow(waits[s.waited].semaphore) : 0));
  }
  notes.insert(notes.end(), more.begin(), more.end());
  Diagnostic d;
  if (first)
    d = diagnosticAt(program, first->id(), anySemaphore ? "SYNC-DEADLOCK" : "BARRIER-PAIR",
                     notes.front() + ", and nothing else can run");
  else
    d = Diagnostic{"SENDRECV-PAIR",
                   "an exchange between the cores never meets its partner",
                   {},
                   {},
                   {},
                   {},
                   "The n-th sendrecv on a pipe of one core needs the n-th on the other.",
                   {},
                   Severity::Error};
  if (first)
    notes.erase(notes.begin());
  d.notes = std::move(notes);
  return Fault{std::move(d)};
}

template <class Body> bool Machine::guarded(Body &&body) {
  try {
    body();
    return true;
  } catch (Fault &f) {
    result.fault = std::move(f.diagnostic);
  } catch (Trap &t) {
    result.trap = diagnosticAt(program, current, t.code, t.message);
  }
  return false;
}

template <class Body> RunResult Machine::finish(Body &&body) {
  if (guarded(body) && !options.outputs)
    result.outputs = memory.outputs();
  return std::move(result);
}

// The two modes. Bad programs end in RunResult::fault.
RunResult runFast(const Program &p, const TensorViews &inputs, const RunOptions &options);
RunResult runStrict(const Program &p, const TensorViews &inputs, const RunOptions &options);
// A program of several ranks, in either mode, on whole tensors.
RunResult runWhole(const Program &p, const TensorViews &inputs, const RunOptions &options);

} // namespace glia::sim
