// Registers, loops and branches of the timing simulator. Values that come from data are known only if inputs are given; a register
// whose value is not known may be part of an address, not of a trip count, a condition or a branch.
#include "TimingMachine.h"
#include "glia/ISA/Control.h"

#include "glia/Support/Diagnostic.h"

#include <cstring>

namespace glia::timing {

static uint64_t bitOf(int reg) { return uint64_t{1} << (reg & 63); }

// The values that register loads give, where they depend on data: from a run of the program.
void Machine::prepareData() {
  if (!options.inputs)
    return;
  bool needed = false;
  int32_t value;
  for (const RegisterOp &r : low.registerOps)
    needed |= r.def->slot("src") >= 0 && r.values[r.def->slot("src")].kind == Value::Tensor && !readStatic(r, value);
  if (!needed)
    return;
  RunOptions o;
  o.registerLoads = &loaded;
  o.maxSteps = options.maxSteps;
  o.stop = options.stop;
  const RunResult r = glia::run(p, *options.inputs, o);
  if (r.fault)
    throw Error(*r.fault);
  if (r.trap)
    throw Error(*r.trap);
  haveLoaded = true;
}

// One element of an input or a constant, at an address without registers.
bool Machine::readStatic(const RegisterOp &r, int32_t &value) const {
  const int slot = r.def->slot("src");
  if (slot < 0 || r.values[slot].kind != Value::Tensor || r.values[slot].access.object.kind != ObjectKind::Tensor)
    return false;
  const Access &a = r.values[slot].access;
  const Tensor &x = p.tensors[a.object.index];
  const Pattern &pattern = p.patterns[a.pattern];
  const std::vector<std::byte> *bytes = nullptr;
  if (x.kind == TensorKind::Constant)
    bytes = &x.data;
  else if (x.kind == TensorKind::Input && options.inputs)
    if (auto it = options.inputs->find(x.name); it != options.inputs->end())
      bytes = &it->second;
  const int size = sizeOf(pattern.dtype);
  if (!bytes || pattern.numDynamic || size > 4 || a.byteOffset < 0 ||
      a.byteOffset + size > static_cast<int64_t>(bytes->size()))
    return false;
  uint32_t raw = 0;
  std::memcpy(&raw, bytes->data() + a.byteOffset, static_cast<size_t>(size));
  if (info(pattern.dtype).isSigned && isInteger(pattern.dtype) && size < 4)
    raw = static_cast<uint32_t>(static_cast<int32_t>(raw << (32 - 8 * size)) >> (32 - 8 * size));
  value = static_cast<int32_t>(raw);
  return true;
}

int32_t Machine::valueOf(const EngineRun &e, const RegisterOp &r, int slot, const char *use) const {
  const Value &v = r.values[slot];
  if (v.kind != Value::Register)
    return v.integer;
  if (!(e.knownRegisters & bitOf(v.integer)))
    throw Error("TIME-DATA",
                format("%s of core %d %s instruction %u (%s) depends on data", use, e.core,
                       std::string(name(e.engine)).c_str(), r.index, std::string(r.def->name).c_str()),
                "Give the inputs: `glia profile` takes --input, `profile` in Python takes inputs.");
  return e.state.regs[v.integer & 63];
}

void Machine::load(EngineRun &e, const RegisterOp &r) {
  const uint32_t s = static_cast<uint32_t>(e.core * kNumEngines + static_cast<int>(e.engine));
  int dst = -1;
  for (size_t i = 0; i < r.values.size(); ++i)
    if (r.def->slots[i].kind == SlotKind::RegOut)
      dst = r.values[i].integer & 63;
  int32_t value = 0;
  bool known = readStatic(r, value);
  if (haveLoaded && loadedAt[s] < loaded[s].size()) {
    value = loaded[s][loadedAt[s]++];
    known = true;
  }
  e.state.regs[dst] = value;
  e.knownRegisters = known ? e.knownRegisters | bitOf(dst) : e.knownRegisters & ~bitOf(dst);
}

// Register arithmetic, by the instruction's own semantics.
void Machine::registerOp(EngineRun &e, const RegisterOp &r) {
  bool known = true;
  int dst = -1;
  exec.operands.resize(r.values.size());
  for (size_t i = 0; i < r.values.size(); ++i) {
    const Value &v = r.values[i];
    Exec::Operand &o = exec.operands[i];
    const SlotKind kind = r.def->slots[i].kind;
    if (v.kind == Value::Tensor || kind == SlotKind::Text)
      return; // nothing that a register depends on: reg_store, device_print
    o.integer = v.integer;
    if (kind == SlotKind::RegOut)
      dst = v.integer & 63;
    else if (v.kind == Value::Register)
      known &= (e.knownRegisters & bitOf(v.integer)) != 0;
    if (kind == SlotKind::RegOrInt && v.kind == Value::Register)
      o.integer = e.state.regs[v.integer & 63];
  }
  if (dst < 0 || !r.def->execute)
    return;
  exec.def = r.def;
  exec.engine = e.engine;
  exec.core = e.core;
  exec.state = &e.state;
  r.def->execute(exec);
  e.knownRegisters = known ? e.knownRegisters | bitOf(dst) : e.knownRegisters & ~bitOf(dst);
}

static bool holds(int condition, int32_t a, int32_t b) {
  switch (condition) { // the order of branch's choices
  case 0: return true;
  case 1: return a < b;
  case 2: return a <= b;
  case 3: return a == b;
  case 4: return a != b;
  case 5: return a >= b;
  default: return a > b;
  }
}

uint32_t Machine::control(EngineRun &e, const Op &op) {
  const RegisterOp &r = low.registerOps[op.extra];
  switch (op.kind) {
  case Kind::Load: load(e, r); break;
  case Kind::Register: registerOp(e, r); break;
  case Kind::Loop: {
    enum { IV, COUNT, GROUP, END };
    const int32_t count = valueOf(e, r, COUNT, "the trip count");
    const int iv = r.values[IV].integer & 63;
    if (count <= 0)
      return static_cast<uint32_t>(r.values[END].integer) + 1;
    e.state.regs[iv] = 0;
    e.knownRegisters |= bitOf(iv);
    e.loops.push_back({e.pc, count, 0});
    break;
  }
  case Kind::While: {
    enum { COND, GROUP, END };
    if (!valueOf(e, r, COND, "the condition"))
      return static_cast<uint32_t>(r.values[END].integer) + 1;
    e.loops.push_back({e.pc, 0, 0});
    break;
  }
  case Kind::EndLoop: {
    if (e.loops.empty() || e.loops.back().begin != static_cast<uint32_t>(r.values[0].integer))
      throw Error("TIME-LOOP", format("core %d %s instruction %u ends a loop that has not been entered", e.core,
                                      std::string(name(e.engine)).c_str(), r.index));
    EngineRun::LoopFrame &f = e.loops.back();
    const RegisterOp &begin = low.registerOps[e.code[f.begin].extra];
    const bool open = isWhile(*begin.def);
    if (open ? !valueOf(e, begin, 0, "the condition") : ++f.i >= f.count) {
      e.loops.pop_back();
      break;
    }
    if (open)
      return f.begin + 1;
    const int iv = begin.values[0].integer & 63;
    e.state.regs[iv] = f.i;
    e.knownRegisters |= bitOf(iv);
    return f.begin + 1;
  }
  case Kind::Branch: {
    enum { COND, A, B, TARGET };
    const int condition = r.values[COND].integer;
    if (condition == 0)
      return static_cast<uint32_t>(r.values[TARGET].integer);
    if (holds(condition, valueOf(e, r, A, "the condition"), valueOf(e, r, B, "the condition")))
      return static_cast<uint32_t>(r.values[TARGET].integer);
    break;
  }
  default: break;
  }
  return e.pc + 1;
}

} // namespace glia::timing
