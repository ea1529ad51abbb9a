// The structural check: whatever a container or a builder says, after this every index may be used without asking.
#include "glia/Program/Decode.h"
#include "glia/Program/Encoding.h"
#include "glia/Program/View.h"
#include "glia/Support/Diagnostic.h"

#include <string_view>
#include <unordered_set>

namespace glia {

namespace {

[[noreturn]] void bad(const std::string &what) {
  throw Error("CONTAINER-STRUCTURE", what, "The file is damaged or was not written by glia; make it again.");
}

void checkShape(const std::string &name, const std::vector<int64_t> &shape, DType t, bool onChip) {
  if (static_cast<int>(t) >= kNumDTypes)
    bad("`" + name + "` has an unknown type");
  if (const std::string problem = shapeProblem(shape, t, onChip); !problem.empty())
    bad("`" + name + "` " + problem);
}

// A name stands for one thing: tensors for every core, the others for the core they belong to.
void checkNames(const Program &p) {
  using Names = std::vector<std::unordered_set<std::string_view>>; // by core
  const auto cores = static_cast<size_t>(p.cores);
  Names allocations(cores), semaphores(cores), queues(cores), tensors(1), symbols(1);
  auto add = [](Names &set, const std::string &name, size_t core, const char *what) {
    if (!set[core].insert(name).second)
      bad(std::string("there are two ") + what + " named `" + name + "`");
  };
  allocations[0].reserve(p.allocations.size());
  for (const Allocation &a : p.allocations)
    add(allocations, a.name, a.core, "allocations");
  for (const Tensor &t : p.tensors) {
    add(tensors, t.name, 0, "tensors");
    for (const auto &names : allocations)
      if (names.count(t.name))
        bad("a tensor and an allocation are both named `" + t.name + "`");
    if (!t.from.empty())
      add(tensors, t.from, 0, "tensors");
  }
  for (const Semaphore &s : p.semaphores)
    add(semaphores, s.name, s.core, "semaphores");
  for (const Queue &q : p.queues)
    add(queues, q.name, q.core, "queues");
  for (const Symbol &s : p.symbols)
    add(symbols, s.name, 0, "symbols");
}

class StreamCheck {
public:
  StreamCheck(const Program &p, int core, Engine e) : p(p), s(p.stream(core, e)), core(core), engine(e) {}

  void run() {
    uint64_t word = 0, sync = 0;
    for (uint32_t i = 0; i < s.instrs.size(); ++i) {
      const Instr &in = s.instrs[i];
      index = i;
      if (in.opcode >= p.opcodes.size() || in.origin >= p.origins.size() || in.words != word || in.sync != sync)
        fail("its header points outside the program");
      sync += in.numWaits + in.numUpdates;
      if (sync > s.syncs.size())
        fail("its semaphore operations lie outside the stream");
      for (uint64_t k = in.sync; k < sync; ++k)
        checkSync(s.syncs[k], k < uint64_t{in.sync} + in.numWaits);
      word = checkWords(*p.opcodes[in.opcode], word);
    }
    if (word != s.words.size() || sync != s.syncs.size())
      bad("the " + std::string(name(engine)) + " stream has words that belong to no instruction");
  }

private:
  const Program &p;
  const Stream &s;
  int core;
  Engine engine;
  uint32_t index = 0;

  [[noreturn]] void fail(const std::string &what) {
    bad("core " + std::to_string(core) + " " + std::string(name(engine)) + " instruction " + std::to_string(index) + ": " +
        what);
  }

  void checkSync(const SyncOp &op, bool wait) {
    if (op.semaphore >= p.semaphores.size() || op.kind > SyncKind::Write || op.reserved)
      fail("a semaphore operation is malformed");
    if (p.semaphores[op.semaphore].core != core)
      fail("it uses a semaphore of another core");
    if (wait != (op.kind <= SyncKind::WaitGeConsume) || op.value < 0)
      fail("a semaphore operation is malformed");
  }

  uint32_t at(uint64_t w) {
    if (w >= s.words.size())
      fail("its operands end outside the stream");
    return s.words[w];
  }

  void checkAccess(uint64_t w) {
    const uint32_t pattern = at(w), object = at(w + 1);
    at(w + 3);
    if (pattern >= p.patterns.size())
      fail("an operand has no pattern");
    const bool chip = object >> 31;
    const uint32_t i = object & 0x7FFFFFFFu;
    if (i >= (chip ? p.allocations.size() : p.tensors.size()))
      fail("an operand names no object");
    if (chip && p.allocations[i].core != core)
      fail("an operand is in the memory of another core");
    if (chip != (p.patterns[pattern].partitions != 0))
      fail("an operand's pattern does not fit its memory");
    if (!chip && at(w + 3) >> 31)
      fail("an operand starts before its tensor");
  }

  uint64_t checkWords(const InstrDef &def, uint64_t w) {
    int packed = 0;
    for (const Slot &slot : def.slots)
      if (isPackedSlot(slot.kind)) {
        const uint32_t byte = at(w + packed / 4) >> (packed % 4 * 8) & 0xFF;
        if ((slot.kind == SlotKind::Enum && byte >= slot.names->names.size()) || (slot.kind == SlotKind::Flag && byte > 1))
          fail("`" + std::string(slot.name) + "` has no such choice");
        ++packed;
      }
    for (int spare = packed; spare % 4; ++spare)
      if (at(w + spare / 4) >> (spare % 4 * 8) & 0xFF)
        fail("unused operand bits are set");
    w += (packed + 3) / 4;
    for (const Slot &slot : def.slots) {
      switch (slot.kind) {
      case SlotKind::Enum:
      case SlotKind::Flag:
      case SlotKind::Small: break;
      case SlotKind::In:
      case SlotKind::Out:
      case SlotKind::InOut:
      case SlotKind::OptIn:
      case SlotKind::OptOut:
      case SlotKind::Scalar:
      case SlotKind::OptScalar: {
        const bool optional =
            slot.kind == SlotKind::OptIn || slot.kind == SlotKind::OptOut || slot.kind == SlotKind::OptScalar;
        const bool scalar = slot.kind == SlotKind::Scalar || slot.kind == SlotKind::OptScalar;
        const uint32_t tag = at(w);
        if (tag == kAbsentWord && optional) {
          w += 1;
        } else if (tag == kImmediateWord && scalar) {
          at(w + 1);
          w += 2;
        } else {
          checkAccess(w);
          w += 4;
        }
        break;
      }
      case SlotKind::Float:
      case SlotKind::Int: at(w++); break;
      case SlotKind::Label:
        if (at(w++) > s.instrs.size())
          fail("it jumps outside its stream");
        break;
      case SlotKind::Queue:
        if (at(w) >= p.queues.size() || p.queues[at(w)].core != core)
          fail("it names no queue of its core");
        ++w;
        break;
      case SlotKind::RegOut:
      case SlotKind::RegIn:
        if (at(w++) >= static_cast<uint32_t>(p.target->registers))
          fail("it names no register");
        break;
      case SlotKind::RegOrInt:
        at(w + 1);
        if (at(w) > 1 || (at(w) == 1 && at(w + 1) >= static_cast<uint32_t>(p.target->registers)))
          fail("it names no register");
        w += 2;
        break;
      case SlotKind::Ints: {
        const uint64_t n = at(w);
        if (n > 4096)
          fail("a list has more than 4096 entries");
        if (n)
          at(w + n);
        w += 1 + n;
        break;
      }
      case SlotKind::Text:
        if (at(w++) >= p.strings.size())
          fail("it names no text");
        break;
      }
    }
    return w;
  }
};

} // namespace

void checkStructure(const Program &p) {
  if (p.cores < 1 || p.cores > 64 || p.streams.size() != p.cores)
    bad("a program has between 1 and 64 cores, this one says " + std::to_string(p.cores));
  for (const Tensor &t : p.tensors) {
    checkShape(t.name, t.shape, t.dtype, false);
    if (t.kind > TensorKind::Scratch)
      bad("`" + t.name + "` has an unknown kind");
    if (!t.shared && t.kind != TensorKind::Scratch)
      bad("`" + t.name + "` is private and no scratch tensor");
    if ((t.hasRange || t.uniqueRows) && t.kind != TensorKind::Input)
      bad("`" + t.name + "` promises something about its values and is no input");
    if (!t.from.empty() && t.kind != TensorKind::Output)
      bad("`" + t.name + "` begins as the input `" + t.from + "` and is no output");
    if (t.hasRange && (isFloat(t.dtype) || t.rangeLo > t.rangeHi))
      bad("`" + t.name + "` has a range that is none");
    if (t.kind == TensorKind::Constant ? static_cast<int64_t>(t.data.size()) != t.bytes() : !t.data.empty())
      bad("`" + t.name + "` has " + std::to_string(t.data.size()) + " bytes of data and needs " +
          std::to_string(t.kind == TensorKind::Constant ? t.bytes() : 0));
  }
  for (const Allocation &a : p.allocations) {
    checkShape(a.name, a.shape, a.dtype, true);
    if (a.space > Space::Psum || a.core >= p.cores)
      bad("`" + a.name + "` is in no memory of the program");
  }
  if (p.semaphores.size() > 65536 || p.opcodes.size() > 65536 || p.queues.size() > 65536)
    bad("the program has more than 65536 semaphores, queues or kinds of instructions");
  for (const Semaphore &s : p.semaphores)
    if (s.core >= p.cores || s.initial < 0)
      bad("semaphore `" + s.name + "` is malformed");
  for (const Queue &q : p.queues)
    if (q.core >= p.cores)
      bad("queue `" + q.name + "` is malformed");
  checkNames(p);
  for (const Pattern &x : p.patterns) {
    const int maxRank = x.partitions ? 4 : kMaxDims;
    if (static_cast<int>(x.dtype) >= kNumDTypes || x.rank < 1 || x.rank > maxRank || x.numDynamic > kMaxDynamicTerms ||
        x.partitions > 128)
      bad("an operand pattern is malformed");
    int64_t n = 1;
    for (int i = 0; i < x.rank; ++i)
      if (x.dims[i].count < 1 || __builtin_mul_overflow(n, int64_t{x.dims[i].count}, &n) || n > (int64_t{1} << 40))
        bad("an operand pattern has " + std::to_string(x.dims[i].count) + " elements in a dimension");
    for (int i = 0; i < x.numDynamic; ++i)
      if (x.dynamic[i].reg >= p.target->registers || (x.dynamic[i].partition && !x.partitions))
        bad("an operand pattern uses a register that is not there");
  }
  if (p.strings.empty() || !p.strings[0].empty() || p.origins.empty() || !(p.origins[0] == InstrOrigin{}))
    bad("the first text and the first origin are not the empty ones");
  for (const InstrOrigin &o : p.origins)
    if (o.kernel >= p.strings.size() || o.operation >= p.strings.size() || o.file >= p.strings.size())
      bad("an instruction's origin is malformed");
  auto checkObject = [&p](ObjectRef o) {
    if (o.kind > ObjectKind::Allocation ||
        o.index >= (o.kind == ObjectKind::Tensor ? p.tensors.size() : p.allocations.size()))
      bad("a symbol names no object");
  };
  for (const Symbol &s : p.symbols)
    checkObject(s.object);
  for (const Relocation &r : p.relocations) {
    checkObject(r.object);
    if (r.symbol >= p.symbols.size())
      bad("a relocation names no symbol");
  }
  for (uint32_t c = 0; c < p.cores; ++c)
    for (int e = 0; e < kNumEngines; ++e)
      StreamCheck(p, static_cast<int>(c), static_cast<Engine>(e)).run();
}

} // namespace glia
