#include "glia/CodeGen/Execute.h"
#include "ExecuteRun.h"
#include "glia/CodeGen/Compile.h"
#include "glia/ISA/Collective.h"
#include "glia/Transforms/ChooseEngines.h"

using namespace mlir;

namespace glia {

namespace execute {

// What is run: a checked copy with its engines chosen.
static nisa::Kernel prepared(nisa::Kernel &k) {
  if (std::vector<Diagnostic> bad = checkKernel(k); !bad.empty())
    throw Error(std::move(bad));
  k.op()->walk([](mlir::Operation *op) {
    const nisa::Instr i(op);
    if (!i || !isCollective(i.def()) || i.integer("ranks") == 1)
      return;
    Diagnostic d = diagnosticAt(op->getLoc(), "RANK-COUNT",
                                format("the kernel is for %d ranks, and here runs one", i.integer("ranks")));
    d.advice = "Compile it, and run the program with its ranks.";
    throw Error(std::move(d));
  });
  nisa::Kernel copy = k.clone();
  chooseEngines(copy.op());
  return copy;
}

static codegen::Looks looksOf(const std::optional<Numbers> &numbers, const Observations *wanted) {
  codegen::Looks out;
  if (!wanted || wanted->captures.empty())
    return out;
  llvm::DenseMap<uint32_t, llvm::SmallVector<mlir::Value, 1>> byNumber;
  for (const Capture &c : wanted->captures)
    byNumber[c.instruction].push_back(numbers->tensors.at(c.tensor));
  for (const auto &[op, number] : numbers->instructionOf)
    if (const auto it = byNumber.find(number); it != byNumber.end())
      out[op] = it->second;
  return out;
}

// Instructions in flight that would write the same memory wait for each other: there it rests while others are in flight, of which most
// instructions bring two, the tile that is to be cleared being one.
static std::optional<uint32_t> restOf(bool shared, int threads) {
  if (!shared)
    return {};
  return sim::threadsOf({.threads = threads}) > 1 ? sim::InFlight::kPlaces / 2 : 0;
}

Ready::Ready(nisa::Kernel &k, const Observations *wanted, bool shared, int threads)
    : kernel(prepared(k)), target(loadTarget(std::string_view(op().getTarget()))),
      numbers(wanted ? std::optional<Numbers>(op()) : std::nullopt),
      memory(op(), target, restOf(shared, threads), looksOf(numbers, wanted)) {
  op()->walk([&](Operation *o) { instructions += bool(nisa::Instr(o)); });
}

Bound &Ready::bound(nisa::Instr i, int core) {
  std::unique_ptr<Bound> &b = kept[i.operation()];
  if (!b)
    b = std::make_unique<Bound>(bindInstruction(i, core, memory));
  return *b;
}

Run::Run(Ready &all, const TensorViews &inputs, const ExecuteOptions &options)
    : all(all), kernel(all.op()), target(all.target.get()), options(options), memory(all.memory), exec(*target),
      anyWriter(target->has("psum_accumulate_any_writer")) {
  all.memory.begin(inputs, options.unwritten);
  exec.printed = &result.printed;
  if (options.observe)
    observe(*options.observe);
  const int threads = sim::threadsOf({.threads = options.threads});
  const bool follows = options.observe && (options.observe->findNaN || options.observe->findUndefined);
  if (threads > 1 && !follows)
    flight.emplace(threads, options.threads == 0, *target,
                   [this](Exec &on, sim::Task &t) { work(on, works[static_cast<size_t>(t.place)]); });
  cores.resize(kernel.cores());
  for (size_t c = 0; c < cores.size(); ++c) {
    Block &body = kernel.core(static_cast<unsigned>(c)).getBody().front();
    cores[c].number = static_cast<int>(c);
    cores[c].frames.push_back({body.begin(), body.end()});
  }
}

bool Run::advance() {
  try {
    if (goOn())
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

bool Run::goOn() {
  try {
    if (flight && flight->anyFailed())
      settle();
    if (runSome())
      return true;
  } catch (...) {
    settle(); // what failed in flight comes before this
    throw;
  }
  settle();
  return false;
}

void Run::observe(Observations &out) {
  if (!out.captures.empty())
    observers.push_back(captureObserver(memory, *all.numbers, out, [this](const Place &p, std::byte *to) { copy(p, to); }));
  if (out.findNaN)
    observers.push_back(nanObserver(kernel, memory, *all.numbers, out));
  if (out.findUndefined)
    observers.push_back(undefinedObserver(kernel, memory, *all.numbers, out));
}

Moment Run::momentOf(const CoreState &c, nisa::Instr i) const {
  Moment m{all.numbers->instructionOf.lookup(i.operation()), c.number, {}};
  for (const Frame &f : c.frames)
    if (f.loop)
      m.iterations.push_back(f.i);
  return m;
}

bool Run::runSome() {
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

Run::Ran Run::runCore(CoreState &c) {
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

bool Run::again(CoreState &c, Frame &f) {
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

void Run::count(Operation *op) {
  if (result.instructions % kStepsPerQuestion == 0 && options.stop && options.stop())
    throw Interrupted();
  if (result.instructions++ >= options.maxSteps)
    stopAt(op, "SIM-STEPS",
           format("the run has taken %llu steps, which is its limit", (unsigned long long)options.maxSteps));
}

bool Run::step(CoreState &c, Operation *op) {
  Frame &f = c.frames.back();
  for (const Place *p : memory.entering(op))
    clear(*p);
  if (auto alloc = dyn_cast<nisa::AllocOp>(op)) {
    const Place &p = memory.place(alloc.getTensor(), c.number);
    if (p.space == Space::Psum) // a new allocation, whatever was there before
      psum[alloc.getTensor()] = nisa::PsumState(p.partitions, p.bytes);
    for (const auto &o : observers)
      o->allocated(alloc.getTensor(), c.number);
  } else if (auto loop = dyn_cast<nisa::LoopOp>(op)) {
    const int64_t n = loop.getCount() ? static_cast<int32_t>(*loop.getCount()) : c.registers.lookup(loop.getCountRegister());
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

bool Run::instruction(CoreState &c, nisa::Instr i) {
  const Unit unit = i.def().unit;
  if (unit == Unit::Barrier)
    return c.exchanges.empty() && barrier(c, i);
  if (unit != Unit::Exchange && !c.exchanges.empty())
    return false;
  Bound scratch;
  Bound &x =
      c.frames.size() > 1 || all.keepsAll() ? all.bound(i, c.number) : (scratch = bindInstruction(i, c.number, memory));
  if (!x.dynamic.empty())
    bindRegisters(x, c.number, memory, c.registers);
  if (unit == Unit::Exchange)
    return exchange(c, x);
  if (!x.skip)
    observed(c, x, [&] { perform(c, x); });
  return true;
}

} // namespace execute

// ---- for callers ------------------------------------------------------------------------------------------------------------

// Those who follow data from tensor to tensor know them by their memory.
static bool mayShare(const Observations &wanted) { return !wanted.findNaN && !wanted.findUndefined; }

struct Sequential::State {
  execute::Ready ready;
  State(nisa::Kernel &k, const Observations &wanted) : ready(k, &wanted, mayShare(wanted)) {}
};

Sequential::Sequential(nisa::Kernel &k, const Observations &wanted) : state(std::make_unique<State>(k, wanted)) {}
Sequential::~Sequential() = default;

static RunResult runOnce(execute::Ready &ready, const TensorViews &inputs, const ExecuteOptions &options) {
  execute::Run run(ready, inputs, options);
  while (run.advance())
    ;
  return std::move(run.result);
}

RunResult Sequential::run(const TensorViews &inputs, const ExecuteOptions &options) {
  const std::lock_guard lock(state->ready.running);
  try {
    RunResult r = runOnce(state->ready, inputs, options);
    if (!r.ok())
      state->ready.forgetBound();
    return r;
  } catch (...) {
    state->ready.forgetBound();
    throw;
  }
}

RunResult executeKernel(nisa::Kernel &k, const TensorData &inputs, const ExecuteOptions &options) {
  execute::Ready ready(k, options.observe, !options.observe || mayShare(*options.observe), options.threads);
  return runOnce(ready, viewsOf(inputs), options);
}

struct Execution::State {
  Observations none; // numbers instructions and tensors
  ExecuteOptions options;
  execute::Ready ready;
  execute::Run run;
  State(nisa::Kernel &k, const TensorData &inputs, const ExecuteOptions &given)
      : options(given), ready(k, &none, false), run(ready, viewsOf(inputs), (options.observe = &none, options)) {}
};

Execution::Execution(nisa::Kernel &k, const TensorData &inputs, const ExecuteOptions &options)
    : state(std::make_unique<State>(k, inputs, options)) {}
Execution::~Execution() = default;

std::optional<Moment> Execution::step() {
  ended = ended || !state->run.advance();
  if (ended)
    return {};
  return state->run.lastMoment();
}

const RunResult &Execution::result() const { return state->run.result; }
std::vector<std::byte> Execution::read(uint32_t tensor, int core) const { return state->run.bytesOf(tensor, core); }
int32_t Execution::registerValue(uint32_t reg, int core) const { return state->run.registerOf(reg, core); }

} // namespace glia
