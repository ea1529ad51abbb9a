#include "Machine.h"
#include "glia/ISA/Control.h"
#include "glia/ISA/Transfer.h"
#include "glia/Program/RankContract.h"
#include "glia/Sim/Ranks.h"

#include <set>

namespace glia::sim {

// Memory for resolved loop bodies stays bounded whatever the program's size.
static constexpr size_t kMaxCached = 1 << 15;

Machine::Machine(const Program &p, const TensorViews &inputs, const RunOptions &options)
    : program(p), options(options), memory(p, inputs, options.outputs), resolver(p, memory), exec(*p.target),
      parts(p.target->dmaEngines) {
  exec.printed = &result.printed;
  streams.resize(p.cores * kNumEngines);
  for (uint32_t c = 0; c < p.cores; ++c)
    for (int e = 0; e < kNumEngines; ++e) {
      StreamState &s = streams[c * kNumEngines + e];
      s.core = static_cast<int>(c);
      s.engine = static_cast<Engine>(e);
      s.size = static_cast<uint32_t>(p.stream(s.core, s.engine).instrs.size());
    }
}

std::span<const SyncOp> Machine::waitsOf(const StreamState &s) const {
  const Stream &stream = program.stream(s.core, s.engine);
  const Instr &in = stream.instrs[s.pc];
  return {stream.syncs.data() + in.sync, in.numWaits};
}

Prepared &Machine::fetch(StreamState &s, Prepared &scratch) {
  current = s.id();
  if (result.instructions >= options.maxSteps)
    faultAt(program, s.id(), "SIM-STEPS",
            format("the run has taken %llu steps, which is its limit", (unsigned long long)options.maxSteps));
  if (++result.instructions % kStepsPerQuestion == 0 && options.stop && options.stop())
    throw Interrupted();
  Prepared *x = &scratch;
  if (s.loops.empty()) {
    resolver.prepare(s.core, s.engine, s.pc, *x);
  } else {
    if (s.cache.empty())
      s.cache.resize(s.size);
    std::unique_ptr<Prepared> &slot = s.cache[s.pc];
    if (slot) {
      x = slot.get();
    } else {
      if (s.cached < kMaxCached) {
        slot = std::make_unique<Prepared>();
        x = slot.get();
        ++s.cached;
      }
      resolver.prepare(s.core, s.engine, s.pc, *x);
    }
  }
  beforeRegisters(s, *x);
  if (!x->dynamic.empty())
    resolver.bind(*x, s.state);
  return *x;
}

void Machine::execute(const Prepared &x, std::vector<Exec::Operand> &operands, int part, int ofParts) {
  current = x.id;
  executeOn(exec, x, operands, part, ofParts);
  if (options.registerLoads && x.d.def->name == "reg_load")
    (*options.registerLoads)[x.id.core * kNumEngines + static_cast<int>(x.id.engine)].push_back(
        stream(x.id).state.regs[operands[0].integer]);
}

void Machine::executeOn(Exec &exec, const Prepared &x, std::vector<Exec::Operand> &operands, int part, int ofParts) {
  const InstrDef &def = *x.d.def;
  if (!def.execute)
    faultAt(program, x.id, "SIM-INSTRUCTION", "`" + std::string(def.name) + "` has no semantics");
  exec.def = &def;
  exec.engine = x.d.engine;
  exec.core = x.d.core;
  exec.state = &stream(x.id).state;
  exec.part = part;
  exec.parts = ofParts;
  struct Lend { // also when the semantics trap
    std::vector<Exec::Operand> &a, &b;
    Lend(std::vector<Exec::Operand> &a, std::vector<Exec::Operand> &b) : a(a), b(b) { a.swap(b); }
    ~Lend() { a.swap(b); }
  } lend(exec.operands, operands);
  def.execute(exec);
}

void Machine::control(StreamState &s, const Prepared &x) {
  const std::string_view name = x.d.def->name;
  auto value = [&](std::string_view slot) { return x.operands[x.d.def->slot(slot)].integer; };
  if (beginsLoop(*x.d.def)) {
    const uint32_t begin = s.pc, end = static_cast<uint32_t>(value("end"));
    const Stream &stream = program.stream(s.core, s.engine);
    if (end <= begin || end >= s.size || !endsLoop(*program.opcodes[stream.instrs[end].opcode]))
      faultAt(program, x.id, "CONTROL-FORM", "the loop has no end_loop behind it");
    const bool open = isWhile(*x.d.def); // as many iterations as its register says
    const int reg = value(open ? "cond" : "iv");
    const int64_t n = open ? (s.state.regs[reg] ? StreamState::Loop::kOpen : 0) : value("count");
    s.pc = n > 0 ? begin + 1 : end + 1;
    if (n <= 0)
      return;
    while (!s.loops.empty() && begin >= s.loops.back().end) // left by a branch
      s.loops.pop_back();
    if (!open)
      s.state.regs[reg] = 0;
    s.loops.push_back({begin, end, reg, 0, n});
  } else if (endsLoop(*x.d.def)) {
    const uint32_t begin = static_cast<uint32_t>(value("begin"));
    while (!s.loops.empty() && s.loops.back().end < s.pc)
      s.loops.pop_back();
    if (s.loops.empty() || s.loops.back().begin != begin || s.loops.back().end != s.pc)
      faultAt(program, x.id, "CONTROL-FORM", "this end_loop does not belong to the loop that is running");
    StreamState::Loop &loop = s.loops.back();
    const bool open = loop.n == StreamState::Loop::kOpen;
    if (open ? s.state.regs[loop.reg] != 0 : ++loop.i < loop.n) {
      if (!open)
        s.state.regs[loop.reg] = static_cast<int32_t>(loop.i);
      s.pc = loop.begin + 1;
    } else {
      s.loops.pop_back();
      ++s.pc;
    }
  } else if (name == "branch") {
    const int cond = x.d.def->slot("cond");
    const std::string_view test = x.d.def->slots[cond].names->names[x.operands[cond].integer];
    const int32_t a = s.state.regs[value("a")], b = value("b");
    const bool taken = branches(test, a, b);
    const uint32_t target = static_cast<uint32_t>(value("target"));
    if (target <= s.pc)
      faultAt(program, x.id, "CONTROL-FORM", format("the branch jumps back to instruction %u", target));
    s.pc = taken ? target : s.pc + 1;
  } else {
    faultAt(program, x.id, "SIM-INSTRUCTION", "`" + std::string(name) + "` is no control flow the simulator knows");
  }
}

// Bytes outside of the device's memories as a region in HBM.
static Region inARow(std::span<const std::byte> bytes, DType t) {
  Region r;
  r.base = const_cast<std::byte *>(bytes.data());
  r.dtype = t;
  r.space = Space::Hbm;
  r.rank = 1;
  r.strides[0] = sizeOf(t);
  r.elements = r.counts[0] = static_cast<int64_t>(bytes.size()) / sizeOf(t);
  r.contiguous = true;
  r.objectBytes = static_cast<int64_t>(bytes.size());
  return r;
}

void Machine::meetRanks(Prepared &x, SharedBytes &received) const {
  const Collective c = collectiveOf(program, x.d);
  const int ranks = options.link ? options.link->ranks() : 1;
  if (c.ranks != ranks)
    faultAt(program, x.id, "COLLECTIVE-RANKS", format("a collective of %d ranks is run by %d", c.ranks, ranks));
  Region &src = x.operands[sourceSlot(x)].region;
  const int64_t size = sizeOf(src.dtype);
  const auto bytes = static_cast<size_t>(c.elements * size);
  std::span<const std::byte> given;
  RawBytes gathered;
  if (src.space == Space::Hbm && src.contiguous && src.elements == c.elements) {
    given = {src.base, bytes};
  } else {
    gathered.resize(bytes);
    Exec quiet(*program.target); // strict mode has looked at the source
    copyElements(quiet, 0, inARow(gathered, src.dtype), 0, 0, src, 0, c.elements);
    given = gathered;
  }
  try {
    if (options.link) {
      received = options.link->meet(c, given, describe(program, x.id));
    } else {
      RawBytes made(static_cast<size_t>(c.resultElements(1) * size));
      const std::span<const std::byte> alone[] = {given};
      combine(c, 0, alone, made);
      received = std::make_shared<const RawBytes>(std::move(made));
    }
  } catch (const Error &e) {
    const Diagnostic &d = e.diagnostics().front();
    Diagnostic here = diagnosticAt(program, x.id, d.code, d.message);
    here.advice = d.advice;
    throw Fault{std::move(here)};
  }
  const ObjectRef object = src.object;
  src = inARow(*received, src.dtype);
  src.object = object;
}

std::string_view Machine::barrierName(const Prepared &x) {
  const int slot = x.d.def->slot("name");
  return slot < 0 ? std::string_view() : x.operands[slot].text;
}

int Machine::pipeOf(const Prepared &x) const {
  const int slot = x.d.def->slot("pipe");
  return slot < 0 ? 0 : x.operands[slot].integer;
}

std::vector<int> Machine::pipesOf() const {
  const Program &p = program;
  std::set<int> pipes;
  Decoded d;
  for (uint32_t c = 0; c < p.cores; ++c)
    for (int e = 0; e < kNumEngines; ++e) {
      const Stream &s = p.streams[c][e];
      for (uint32_t i = 0; i < s.instrs.size(); ++i)
        if (const InstrDef &def = *p.opcodes[s.instrs[i].opcode]; def.unit == Unit::Exchange) {
          decode(p, static_cast<int>(c), static_cast<Engine>(e), i, d);
          const int slot = def.slot("pipe");
          pipes.insert(slot < 0 ? 0 : d.values[slot].integer);
        }
    }
  return {pipes.begin(), pipes.end()};
}

void Machine::takeQueue(std::array<int, 2> &owner, const Prepared &x, const std::string &what) const {
  int &mine = owner[x.d.core & 1];
  if (mine >= 0 && mine != static_cast<int>(x.d.engine))
    faultAt(program, x.id, "QUEUE-OWNER",
            what + " is used by the " + std::string(name(static_cast<Engine>(mine))) + " engine too");
  mine = static_cast<int>(x.d.engine);
}

void Machine::checkTransferUpdates(const Prepared &x) const {
  for (const SyncOp &op : x.d.updates)
    if (op.kind != SyncKind::Add || op.value != parts)
      faultAt(program, x.id, "DMA-UPDATE",
              format("a transfer adds %d to a semaphore, one for each part, and this one asks for %d", parts, op.value));
}

int32_t Machine::semaphoreValue(InstrId by, int semaphore, int64_t value) const {
  const int64_t max = program.target->semaphoreMax;
  if (value < 0 || value > max)
    faultAt(program, by, "SYNC-RANGE",
            format("semaphore `%s` becomes %lld and holds 0 to %lld", program.semaphores[semaphore].name.c_str(),
                   (long long)value, (long long)max),
            {}, std::to_string(value), "0 to " + std::to_string(max));
  return static_cast<int32_t>(value);
}

std::string Machine::blockedOn(const StreamState &s, int32_t semaphoreNow) const {
  const std::string who = describe(program, s.id());
  if (s.barrier)
    return who + format(" stands in its barrier (number %llu of that name), which the other core does not reach",
                        (unsigned long long)s.barrier);
  const auto waits = waitsOf(s);
  if (s.waited >= static_cast<int>(waits.size()))
    return who + " cannot go on";
  const SyncOp &w = waits[s.waited];
  return who +
         format(" waits for `%s` >= %d, which is %d", program.semaphores[w.semaphore].name.c_str(), w.value, semaphoreNow);
}

} // namespace glia::sim
