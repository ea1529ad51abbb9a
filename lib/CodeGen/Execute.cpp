// The interpreter: each core walks its regions in order; the cores take turns and meet at barriers and exchanges.
#include "glia/CodeGen/Execute.h"
#include "ExecuteObserver.h"
#include "Transforms/InstrFacts.h"
#include "glia/CodeGen/Compile.h"
#include "glia/ISA/Collective.h"
#include "glia/ISA/Transfer.h"
#include "glia/Transforms/ChooseEngines.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

using namespace mlir;

namespace glia {

namespace execute {
namespace {

struct Exchange { // issued, and the other core has not come yet
  Bound x;
  int pipe = 0;
};

struct Frame { // a block being run
  Block::iterator next, end;
  Operation *loop = nullptr; // null: the core itself
  int64_t i = 0, n = 0;      // iterations: done, and of nisa.loop how many there are
};

struct CoreState {
  int number = 0;
  std::vector<Frame> frames;
  Registers registers;
  std::array<EngineState, kNumEngines> engines;
  std::deque<Exchange> exchanges;
  std::map<std::string, uint64_t, std::less<>> barriers; // arrivals by name
  bool arrived = false;                                  // it is counted at the barrier it stands at
  Operation *waiting = nullptr;                          // the instruction it stands at; null: it can go on
  bool ended() const { return frames.empty() && exchanges.empty(); }
};

class Run {
public:
  Run(nisa::KernelOp kernel, const std::shared_ptr<const Target> &t, const TensorData &inputs, const ExecuteOptions &options)
      : kernel(kernel), target(t), options(options), memory(kernel, t, inputs, options.unwritten), exec(*t),
        anyWriter(t->has("psum_accumulate_any_writer")) {
    exec.printed = &result.printed;
    if (options.observe)
      observe(*options.observe);
    cores.resize(kernel.cores());
    for (size_t c = 0; c < cores.size(); ++c) {
      Block &body = kernel.core(static_cast<unsigned>(c)).getBody().front();
      cores[c].number = static_cast<int>(c);
      cores[c].frames.push_back({body.begin(), body.end()});
    }
  }

  // One instruction of the core whose turn it is, which it keeps until it waits or ends. False: the run has ended, and `result` is
  // complete.
  bool advance() {
    try {
      if (runSome())
        return true;
      result.outputs = memory.outputs();
    } catch (Stop &s) {
      result.fault = std::move(s.diagnostic);
    } catch (Trap &t) {
      result.trap = diagnosticAt(current->getLoc(), t.code, t.message);
      if (result.trap->advice.empty())
        result.trap->advice = "See `glia explain " + t.code + "`.";
    }
    for (const auto &o : observers)
      o->finished();
    for (std::optional<Diagnostic> *d : {&result.fault, &result.trap})
      if (*d)
        (*d)->context = "kernel " + kernel.getSymName().str() + ((*d)->context.empty() ? "" : ", " + (*d)->context);
    return false;
  }

  RunResult result;

  // ---- for who takes single steps; with options.observe

  // The instruction that was run last.
  Moment lastMoment() const { return momentOf(cores[turn], nisa::Instr(current)); }
  std::vector<std::byte> bytesOf(uint32_t tensor, int core) const {
    return execute::bytesOf(memory.place(numbers->tensors.at(tensor), core));
  }
  int32_t registerOf(uint32_t reg, int core) const { return cores[core].registers.lookup(numbers->registers.at(reg)); }

private:
  nisa::KernelOp kernel;
  const std::shared_ptr<const Target> target;
  const ExecuteOptions &options;
  Memory memory;
  Exec exec;
  const bool anyWriter;
  std::vector<CoreState> cores;
  size_t turn = 0;
  Operation *current = nullptr;
  llvm::DenseMap<Operation *, std::unique_ptr<Bound>> kept; // instructions in loops are bound once
  llvm::DenseMap<mlir::Value, nisa::PsumState> psum;
  std::optional<Numbers> numbers;
  std::vector<std::unique_ptr<Observer>> observers;

  void observe(Observations &out) {
    numbers.emplace(kernel);
    if (!out.captures.empty())
      observers.push_back(captureObserver(memory, *numbers, out));
    if (out.findNaN)
      observers.push_back(nanObserver(kernel, memory, *numbers, out));
    if (out.findUndefined)
      observers.push_back(undefinedObserver(kernel, memory, *numbers, out));
  }

  Moment momentOf(const CoreState &c, nisa::Instr i) const {
    Moment m{numbers->instructionOf.lookup(i.operation()), c.number, {}};
    for (const Frame &f : c.frames)
      if (f.loop)
        m.iterations.push_back(f.i);
    return m;
  }

  // Runs one instruction; false: all cores have ended.
  bool runSome() {
    for (size_t idle = 0; idle < cores.size(); turn = (turn + 1) % cores.size())
      switch (runCore(cores[turn])) {
      case Ran::Instruction: return true;
      case Ran::Nothing: ++idle; break;
      case Ran::Control: idle = 1;
      }
    for (CoreState &c : cores)
      if (!c.ended())
        throw Stop{deadlock()};
    return false;
  }

  enum class Ran { Instruction, Control, Nothing };

  // Runs up to and with the next instruction; Control: it has gone on, and then waits or has ended.
  Ran runCore(CoreState &c) {
    Ran ran = Ran::Nothing;
    while (!c.frames.empty()) {
      Frame &f = c.frames.back();
      if (f.next == f.end) {
        if (!again(c, f))
          c.frames.pop_back();
        ran = Ran::Control;
        continue;
      }
      Operation *op = &*f.next;
      current = op;
      if (!step(c, op)) {
        c.waiting = op;
        return ran;
      }
      c.waiting = nullptr;
      if (nisa::Instr(op))
        return Ran::Instruction;
      ran = Ran::Control;
    }
    return ran;
  }

  // The end of a block: goes back to its start if there is another iteration.
  bool again(CoreState &c, Frame &f) {
    if (!f.loop)
      return false;
    if (auto loop = dyn_cast<nisa::LoopOp>(f.loop)) {
      if (++f.i >= f.n)
        return false;
      c.registers[loop.iterator()] = static_cast<int32_t>(f.i);
    } else if (c.registers.lookup(cast<nisa::WhileOp>(f.loop).getCondition()) == 0) {
      return false;
    } else {
      ++f.i;
    }
    count(f.loop);
    f.next = f.loop->getRegion(0).front().begin();
    return true;
  }

  void count(Operation *op) {
    if (result.instructions % kStepsPerQuestion == 0 && options.stop && options.stop())
      throw Interrupted();
    if (result.instructions++ >= options.maxSteps)
      stopAt(op, "SIM-STEPS",
             format("the run has taken %llu steps, which is its limit", (unsigned long long)options.maxSteps));
  }

  // False: it has to wait for the other core.
  bool step(CoreState &c, Operation *op) {
    Frame &f = c.frames.back();
    if (auto alloc = dyn_cast<nisa::AllocOp>(op)) {
      const Place &p = memory.place(alloc.getTensor(), c.number);
      if (p.space == Space::Psum) // a new allocation, whatever was there before
        psum[alloc.getTensor()] = nisa::PsumState(p.partitions, p.bytes);
      for (const auto &o : observers)
        o->allocated(alloc.getTensor(), c.number);
    } else if (auto loop = dyn_cast<nisa::LoopOp>(op)) {
      const int64_t n =
          loop.getCount() ? static_cast<int32_t>(*loop.getCount()) : c.registers.lookup(loop.getCountRegister());
      ++f.next;
      if (n > 0) {
        count(op);
        c.registers[loop.iterator()] = 0;
        Block &body = loop.getBody().front();
        c.frames.push_back({body.begin(), body.end(), op, 0, n});
      }
      return true;
    } else if (auto loop = dyn_cast<nisa::WhileOp>(op)) {
      ++f.next;
      if (c.registers.lookup(loop.getCondition())) {
        count(op);
        Block &body = loop.getBody().front();
        c.frames.push_back({body.begin(), body.end(), op});
      }
      return true;
    } else if (nisa::Instr i(op); i) {
      if (!instruction(c, i))
        return false;
      count(op);
    }
    ++f.next;
    return true;
  }

  bool instruction(CoreState &c, nisa::Instr i) {
    const Unit unit = i.def().unit;
    if (unit == Unit::Barrier)
      return c.exchanges.empty() && barrier(c, i);
    if (unit != Unit::Exchange && !c.exchanges.empty())
      return false;
    Bound scratch;
    Bound &x = c.frames.size() > 1 ? inLoop(c, i) : (scratch = bindInstruction(i, c.number, memory));
    if (!x.dynamic.empty())
      bindRegisters(x, c.number, memory, c.registers);
    if (unit == Unit::Exchange)
      return exchange(c, x);
    if (!x.skip)
      observed(c, x, [&] { perform(c, x); });
    return true;
  }

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

  Bound &inLoop(CoreState &c, nisa::Instr i) {
    std::unique_ptr<Bound> &b = kept[i.operation()];
    if (!b)
      b = std::make_unique<Bound>(bindInstruction(i, c.number, memory));
    return *b;
  }

  // ---- one instruction ------------------------------------------------------------------------------------------------------

  void perform(CoreState &c, Bound &x) {
    const InstrDef &def = x.instr.def();
    if (!def.execute)
      return;
    const bool matmul = def.flow == Flow::Matmul && !def.accumulateFlag.empty();
    if (matmul && x.operands[def.slot(def.accumulateFlag)].integer && !transposes(x))
      return accumulate(c, x);
    if (matmul)
      x.operands[def.slot(def.accumulateFlag)].integer = 0; // a transpose overwrites
    execute(c, x);
    // The only rank gets what it gives, but for a permutation that gives it nothing.
    if (isCollective(def) && x.operands[static_cast<size_t>(def.slot("groups"))].list.empty())
      zeroElements(x.operands[static_cast<size_t>(def.slot("dst"))].region);
    noteWrites(x);
  }

  bool transposes(const Bound &x) const {
    const int slot = x.instr.def().slot("transpose");
    return slot >= 0 && x.operands[slot].integer && target->has("exact_transpose");
  }

  void execute(CoreState &c, Bound &x) {
    const InstrDef &def = x.instr.def();
    EngineState &state = c.engines[static_cast<int>(*x.instr.engine())];
    exec.def = &def;
    exec.engine = *x.instr.engine();
    exec.core = c.number;
    exec.state = &state;
    for (size_t k = 0; k < def.slots.size(); ++k)
      if (const SlotKind kind = def.slots[k].kind; kind == SlotKind::RegIn || kind == SlotKind::RegOut)
        state.regs[x.operands[k].integer] = c.registers.lookup(x.instr.reg(static_cast<int>(k)));
    struct Lend { // also when the semantics trap
      std::vector<Exec::Operand> &a, &b;
      Lend(std::vector<Exec::Operand> &a, std::vector<Exec::Operand> &b) : a(a), b(b) { a.swap(b); }
      ~Lend() { a.swap(b); }
    };
    {
      Lend lend(exec.operands, x.operands);
      def.execute(exec);
    }
    for (size_t k = 0; k < def.slots.size(); ++k)
      if (def.slots[k].kind == SlotKind::RegOut)
        c.registers[x.instr.reg(static_cast<int>(k))] = state.regs[x.operands[k].integer];
  }

  // Where slot 0 lies in its tensor, with registers added.
  struct Spot {
    nisa::PsumState *state = nullptr;
    int32_t partition = 0;
    int64_t byte = 0;
  };
  Spot spotOf(const Bound &x, int slot, int core) {
    const mlir::Value tensor = x.instr.tensor(slot);
    const Place &p = memory.place(tensor, core);
    const Region &r = x.operands[slot].region;
    auto [it, fresh] = psum.try_emplace(tensor);
    if (fresh)
      it->second = nisa::PsumState(p.partitions, p.bytes);
    return {&it->second, r.firstPartition - p.firstPartition, r.start - p.start};
  }

  void noteWrites(const Bound &x) {
    const InstrDef &def = x.instr.def();
    for (size_t k = 0; k < def.slots.size(); ++k) {
      const int slot = static_cast<int>(k);
      if (!x.instr.writes(slot) || x.operands[k].region.space != Space::Psum)
        continue;
      const Spot at = spotOf(x, slot, exec.core);
      const nisa::Touched t = nisa::touchedBy(x.patterns[k], at.partition, at.byte);
      if (def.flow == Flow::Matmul && !transposes(x))
        at.state->set(t, nisa::Held::Sum);
      else if (def.name == "memset" && x.operands[1].number == 0 && x.operands[2].integer == 0)
        at.state->set(t, nisa::Held::Zero);
      else
        at.state->change(t, [&](nisa::Box &b) {
          b.held = nisa::afterWrite(b.held,
                                    *x.instr.engine() == Engine::Tensor ? nisa::Writer::TensorEngine : nisa::Writer::Other);
          b.memset = -1;
        });
    }
  }

  // A matmul that accumulates where its author says so (1) or where a matmul has been before (auto).
  void accumulate(CoreState &c, Bound &x) {
    const int flag = x.instr.def().slot(x.instr.def().accumulateFlag);
    const int32_t wanted = x.operands[flag].integer;
    exec.core = c.number;
    const Spot at = spotOf(x, 0, c.number);
    const nisa::Adds adds =
        nisa::planAdds(*at.state, x.patterns[0], at.partition, at.byte, wanted == nisa::kAccumulateAuto, anyWriter);
    if (!adds.allowed)
      stopAt(x.instr.operation(), "PSUM-ACCUMULATE",
             format("it accumulates onto elements of `%s` that %s", nisa::labelOf(x.instr.tensor(0)).str().c_str(),
                    adds.adding == nisa::Adding::OntoNothing ? "were never written"
                                                             : "another engine wrote, which this target cannot add to"));
    auto runAs = [&](bool add) {
      x.operands[flag].integer = add;
      execute(c, x);
    };
    if (adds.uniform)
      runAs(adds.adding == nisa::Adding::Accumulates);
    else
      mixed(x.operands[0].region, x.operands[0].region.firstPartition - at.partition, adds, runAs);
    x.operands[flag].integer = wanted;
    noteWrites(x);
  }

  // Both ways, then each element from the one that is meant for it.
  template <class RunAs> void mixed(const Region &dst, int32_t shift, const nisa::Adds &adds, RunAs &&runAs) {
    const int size = sizeOf(dst.dtype);
    auto each = [&](auto &&f) { // f(host address, index)
      for (int p = 0; p < dst.partitions; ++p)
        for (int64_t e = 0; e < dst.elements; ++e) {
          int64_t at = 0, k = e;
          for (int d = dst.rank - 1; d >= 0; --d) {
            at += k % dst.counts[d] * dst.strides[d];
            k /= dst.counts[d];
          }
          f(dst.row(p) + at, p, e);
        }
    };
    std::vector<std::byte> before(static_cast<size_t>(dst.partitions * dst.elements * size)), over(before.size());
    auto slot = [&](std::vector<std::byte> &v, int p, int64_t e) { return v.data() + (p * dst.elements + e) * size; };
    each([&](std::byte *a, int p, int64_t e) { std::memcpy(slot(before, p, e), a, size); });
    runAs(false);
    each([&](std::byte *a, int p, int64_t e) { std::memcpy(slot(over, p, e), a, size); });
    each([&](std::byte *a, int p, int64_t e) { std::memcpy(a, slot(before, p, e), size); });
    runAs(true);
    each([&](std::byte *a, int p, int64_t e) {
      const int32_t lane = dst.firstPartition + p - shift;
      for (const nisa::Adds::Band &b : adds.bands)
        if (b.first <= lane && lane < b.first + b.count && b.elements[e] == static_cast<uint8_t>(nisa::Adding::Overwrites))
          std::memcpy(a, slot(over, p, e), size);
    });
  }

  // ---- two cores ------------------------------------------------------------------------------------------------------------

  CoreState *peerOf(const CoreState &c) {
    const size_t peer = static_cast<size_t>(c.number) ^ 1;
    return peer < cores.size() ? &cores[peer] : nullptr;
  }

  static std::string barrierName(nisa::Instr i) {
    auto s = dyn_cast<StringAttr>(i.slot("name"));
    return s ? s.str() : std::string();
  }

  bool barrier(CoreState &c, nisa::Instr i) {
    const std::string name = barrierName(i);
    uint64_t &mine = c.barriers[name];
    mine += !c.arrived;
    c.arrived = true;
    CoreState *peer = peerOf(c);
    if (!peer || peer->barriers[name] < mine)
      return false;
    c.arrived = false;
    return true;
  }

  static bool meet(const Region &a, const Region &b) {
    auto hull = [](const Region &r) {
      const std::byte *lo = r.base, *hi = r.base + (r.partitions - 1) * r.pitch + sizeOf(r.dtype);
      for (int d = 0; d < r.rank; ++d)
        (r.strides[d] < 0 ? lo : hi) += r.strides[d] * (r.counts[d] - 1);
      return std::pair(lo, hi);
    };
    const auto [al, ah] = hull(a);
    const auto [bl, bh] = hull(b);
    return al < bh && bl < ah;
  }

  // Exchanges that have nothing to do with each other may be issued one after the other before they meet their partners.
  bool exchange(CoreState &c, Bound &x) {
    const int dst = x.instr.def().slot("dst"), src = x.instr.def().slot("src");
    for (const Exchange &e : c.exchanges)
      if (meet(e.x.operands[dst].region, x.operands[src].region) || meet(e.x.operands[dst].region, x.operands[dst].region) ||
          meet(e.x.operands[src].region, x.operands[dst].region))
        return false;
    const int pipe = x.instr.integer("pipe");
    c.exchanges.push_back({x, pipe});
    CoreState *peer = peerOf(c);
    if (!peer)
      return true;
    auto first = [&](CoreState &s) {
      return std::find_if(s.exchanges.begin(), s.exchanges.end(), [&](const Exchange &e) { return e.pipe == pipe; });
    };
    const auto mine = first(c), theirs = first(*peer);
    if (theirs == peer->exchanges.end())
      return true;
    Bound a = std::move(mine->x), b = std::move(theirs->x);
    c.exchanges.erase(mine);
    peer->exchanges.erase(theirs);
    if (a.operands[src].region.elements != b.operands[dst].region.elements ||
        a.operands[src].region.partitions != b.operands[dst].region.partitions ||
        a.operands[src].region.dtype != b.operands[dst].region.dtype ||
        b.operands[src].region.elements != a.operands[dst].region.elements ||
        b.operands[src].region.partitions != a.operands[dst].region.partitions)
      stopAt(a.instr.operation(), "SAME-SHAPE",
             format("the two cores exchange tiles of different shape or type on pipe %d", pipe));
    std::swap(a.operands[src], b.operands[src]);
    observed(c, a, [&] { execute(c, a); });
    observed(*peer, b, [&] { execute(*peer, b); });
    return true;
  }

  Diagnostic deadlock() {
    Diagnostic d;
    std::vector<std::string> notes;
    for (CoreState &c : cores) {
      Operation *at = c.waiting ? c.waiting : !c.exchanges.empty() ? c.exchanges.front().x.instr.operation() : nullptr;
      if (!at) {
        notes.push_back(format("core %d has ended", c.number));
        continue;
      }
      nisa::Instr i(at);
      const nisa::Origin o = nisa::originOf(at->getLoc());
      const std::string where = o.file.empty() ? "" : format(" (%s:%u)", o.file.c_str(), o.line);
      std::string what = format("core %d waits at %s%s", c.number, std::string(i.def().name).c_str(), where.c_str());
      if (i.def().unit == Unit::Barrier)
        what += format(" \"%s\", number %llu of that name", barrierName(i).c_str(),
                       (unsigned long long)c.barriers[barrierName(i)]);
      for (const Exchange &e : c.exchanges)
        what += format("; its exchange on pipe %d has no partner", e.pipe);
      if (d.message.empty()) {
        d = diagnosticAt(at->getLoc(), i.def().unit == Unit::Barrier ? "BARRIER-PAIR" : "SENDRECV-PAIR",
                         "the cores do not meet: " + what);
        d.advice = "Let both cores go through the same barriers and exchanges in the same order.";
      } else {
        notes.push_back(what);
      }
    }
    d.notes = std::move(notes);
    return d;
  }
};

} // namespace
} // namespace execute

// What is run: a checked copy with its engines chosen.
static nisa::Kernel prepared(nisa::Kernel &k) {
  if (std::vector<Diagnostic> bad = checkKernel(k); !bad.empty())
    throw Error(std::move(bad));
  k.op()->walk([](mlir::Operation *op) {
    const nisa::Instr i(op);
    if (!i || !isCollective(i.def()) || i.integer("ranks") == 1)
      return;
    Diagnostic d = execute::diagnosticAt(op->getLoc(), "RANK-COUNT",
                                         format("the kernel is for %d ranks, and here runs one", i.integer("ranks")));
    d.advice = "Compile it, and run the program with its ranks.";
    throw Error(std::move(d));
  });
  nisa::Kernel copy = k.clone();
  chooseEngines(copy.op());
  return copy;
}

RunResult executeKernel(nisa::Kernel &k, const TensorData &inputs, const ExecuteOptions &options) {
  nisa::Kernel copy = prepared(k);
  execute::Run run(copy.op(), loadTarget(std::string_view(copy.op().getTarget())), inputs, options);
  while (run.advance())
    ;
  return std::move(run.result);
}

struct Execution::State {
  nisa::Kernel kernel;
  Observations none; // numbers instructions and tensors
  ExecuteOptions options;
  execute::Run run;
  State(nisa::Kernel &k, const TensorData &inputs, const ExecuteOptions &given)
      : kernel(prepared(k)), options(given),
        run(kernel.op(), loadTarget(std::string_view(kernel.op().getTarget())), inputs, (options.observe = &none, options)) {
  }
};

Execution::Execution(nisa::Kernel &k, const TensorData &inputs, const ExecuteOptions &options)
    : state(std::make_unique<State>(k, inputs, options)) {}
Execution::~Execution() = default;

std::optional<Moment> Execution::step() {
  if (ended || (ended = !state->run.advance()))
    return {};
  return state->run.lastMoment();
}

const RunResult &Execution::result() const { return state->run.result; }
std::vector<std::byte> Execution::read(uint32_t tensor, int core) const { return state->run.bytesOf(tensor, core); }
int32_t Execution::registerValue(uint32_t reg, int core) const { return state->run.registerOf(reg, core); }

} // namespace glia
