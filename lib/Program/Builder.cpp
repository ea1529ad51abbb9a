#include "glia/Program/Builder.h"
#include "glia/Program/Encoding.h"
#include "glia/Support/Diagnostic.h"

#include <cstring>
#include <unordered_map>

namespace glia {

static std::string bytesOf(const Pattern &p) { // a key: fields one after the other, no padding
  std::string k;
  auto add = [&k](const auto &v) { k.append(reinterpret_cast<const char *>(&v), sizeof v); };
  add(p.dtype), add(p.rank), add(p.partitions), add(p.numDynamic);
  for (int i = 0; i < p.rank; ++i)
    add(p.dims[i].stride), add(p.dims[i].count);
  for (int i = 0; i < p.numDynamic; ++i)
    add(p.dynamic[i].reg), add(p.dynamic[i].partition), add(p.dynamic[i].scale);
  return k;
}

struct Builder::Tables {
  std::unordered_map<std::string, uint32_t> patterns, strings, origins;
  std::unordered_map<const InstrDef *, uint16_t> opcodes;
};

Builder::Builder(std::shared_ptr<const Target> target, int cores) : tables(std::make_unique<Tables>()) {
  p.target = std::move(target);
  p.cores = cores;
  p.streams.resize(cores);
  tables->strings[""] = 0;
}

Builder::~Builder() = default;

ObjectRef Builder::tensor(Tensor t) {
  p.tensors.push_back(std::move(t));
  return {ObjectKind::Tensor, static_cast<uint32_t>(p.tensors.size() - 1)};
}

static Tensor makeTensor(std::string name, DType t, std::vector<int64_t> shape, TensorKind kind) {
  Tensor x;
  x.name = std::move(name);
  x.dtype = t;
  x.shape = std::move(shape);
  x.kind = kind;
  return x;
}

ObjectRef Builder::input(std::string name, DType t, std::vector<int64_t> shape) {
  return tensor(makeTensor(std::move(name), t, std::move(shape), TensorKind::Input));
}

ObjectRef Builder::output(std::string name, DType t, std::vector<int64_t> shape) {
  return tensor(makeTensor(std::move(name), t, std::move(shape), TensorKind::Output));
}

ObjectRef Builder::scratch(std::string name, DType t, std::vector<int64_t> shape, bool shared) {
  Tensor x = makeTensor(std::move(name), t, std::move(shape), TensorKind::Scratch);
  x.shared = shared;
  return tensor(std::move(x));
}

ObjectRef Builder::constant(std::string name, DType t, std::vector<int64_t> shape, std::span<const std::byte> data) {
  Tensor x = makeTensor(std::move(name), t, std::move(shape), TensorKind::Constant);
  x.data.assign(data.begin(), data.end());
  return tensor(std::move(x));
}

ObjectRef Builder::allocation(Allocation a) {
  p.allocations.push_back(std::move(a));
  return {ObjectKind::Allocation, static_cast<uint32_t>(p.allocations.size() - 1)};
}

static Allocation makeAllocation(std::string name, Space s, DType t, std::vector<int64_t> shape, int partition,
                                 int64_t byteOffset, int core) {
  Allocation a;
  a.name = std::move(name);
  a.space = s;
  a.core = static_cast<uint8_t>(core);
  a.dtype = t;
  a.shape = std::move(shape);
  a.partition = partition;
  a.byteOffset = byteOffset;
  return a;
}

ObjectRef Builder::sbuf(std::string name, DType t, std::vector<int64_t> shape, int partition, int64_t byteOffset, int core) {
  return allocation(makeAllocation(std::move(name), Space::Sbuf, t, std::move(shape), partition, byteOffset, core));
}

ObjectRef Builder::psum(std::string name, DType t, std::vector<int64_t> shape, int partition, int64_t byteOffset, int core) {
  return allocation(makeAllocation(std::move(name), Space::Psum, t, std::move(shape), partition, byteOffset, core));
}

int Builder::semaphore(std::string name, int32_t initial, int core) {
  p.semaphores.push_back({std::move(name), static_cast<uint8_t>(core), initial});
  return static_cast<int>(p.semaphores.size() - 1);
}

int Builder::queue(std::string name, int core) {
  p.queues.push_back({std::move(name), static_cast<uint8_t>(core)});
  return static_cast<int>(p.queues.size() - 1);
}

uint32_t Builder::internPattern(const Pattern &pattern) {
  auto [it, fresh] = tables->patterns.try_emplace(bytesOf(pattern), static_cast<uint32_t>(p.patterns.size()));
  if (fresh)
    p.patterns.push_back(pattern);
  return it->second;
}

uint32_t Builder::internString(std::string_view s) {
  auto [it, fresh] = tables->strings.try_emplace(std::string(s), static_cast<uint32_t>(p.strings.size()));
  if (fresh)
    p.strings.emplace_back(s);
  return it->second;
}

void Builder::origin(std::string_view kernel, std::string_view operation, std::string_view file, uint32_t line) {
  InstrOrigin o{internString(kernel), internString(operation), internString(file), line};
  std::string key(reinterpret_cast<const char *>(&o), sizeof o);
  auto [it, fresh] = tables->origins.try_emplace(std::move(key), static_cast<uint32_t>(p.origins.size()));
  if (fresh)
    p.origins.push_back(o);
  currentOrigin = it->second;
}

// ---- views ------------------------------------------------------------------------------------------

Access Builder::view(ObjectRef o, Pattern pattern, int64_t byteOffset, int32_t partition) {
  Access a;
  a.object = o;
  a.byteOffset = byteOffset;
  a.partition = partition;
  a.pattern = internPattern(pattern);
  return a;
}

Access Builder::view(ObjectRef o, std::vector<Slice> slices) {
  const bool chip = o.kind == ObjectKind::Allocation;
  const std::vector<int64_t> &shape = chip ? p.allocations[o.index].shape : p.tensors[o.index].shape;
  const DType t = chip ? p.allocations[o.index].dtype : p.tensors[o.index].dtype;
  const View v = makeView(p.objectName(o), shape, t, chip, std::move(slices));
  return view(o, v.pattern, v.byteOffset, v.partition);
}

Access Builder::dynamic(Access a, int reg, int64_t scale, bool partition) {
  Pattern pattern = p.patterns[a.pattern];
  if (pattern.numDynamic == kMaxDynamicTerms)
    throw Error("BUILD-VIEW", format("an operand takes at most %d registers", kMaxDynamicTerms));
  pattern.dynamic[pattern.numDynamic++] = {static_cast<uint8_t>(reg), partition, scale};
  a.pattern = internPattern(pattern);
  return a;
}

// ---- instructions -------------------------------------------------------------------------------------

Emit Builder::emit(int core, Engine e, std::string_view instruction) {
  const InstrDef *def = findInstruction(instruction);
  if (!def) {
    std::string_view why = refusedInstruction(instruction);
    if (!why.empty())
      throw Error("ISA-REFUSED",
                  format("`%s` is not implemented: %s", std::string(instruction).c_str(), std::string(why).c_str()));
    throw Error("ISA-UNKNOWN", format("there is no instruction `%s`", std::string(instruction).c_str()),
                "`glia isa` lists the instructions.");
  }
  if (core < 0 || core >= static_cast<int>(p.cores))
    throw Error("BUILD-CORE", format("core %d of a program with %u cores", core, p.cores));
  return Emit(*this, core, e, *def);
}

uint32_t Builder::nextIndex(int core, Engine e) const { return static_cast<uint32_t>(p.stream(core, e).instrs.size()); }

void Builder::append(Emit &e) {
  Stream &s = p.stream(e.core, e.engine);
  auto [it, fresh] = tables->opcodes.try_emplace(e.def, static_cast<uint16_t>(p.opcodes.size()));
  if (fresh)
    p.opcodes.push_back(e.def);

  std::vector<uint32_t> &words = s.words.edit();
  Instr in;
  in.opcode = it->second;
  in.words = static_cast<uint32_t>(words.size());
  in.origin = currentOrigin;
  std::vector<SyncOp> &syncs = s.syncs.edit();
  in.sync = static_cast<uint32_t>(syncs.size());
  in.numWaits = static_cast<uint8_t>(e.waits.size());
  in.numUpdates = static_cast<uint8_t>(e.updates.size());
  syncs.insert(syncs.end(), e.waits.begin(), e.waits.end());
  syncs.insert(syncs.end(), e.updates.begin(), e.updates.end());

  int packed = 0;
  for (size_t i = 0; i < e.values.size(); ++i)
    if (isPackedSlot(e.def->slots[i].kind)) {
      if (packed % 4 == 0)
        words.push_back(0);
      words.back() |= (static_cast<uint32_t>(e.values[i].integer) & 0xFF) << (packed % 4 * 8);
      ++packed;
    }
  auto addFloat = [&words](float f) {
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    words.push_back(bits);
  };
  for (size_t i = 0; i < e.values.size(); ++i) {
    const Value &v = e.values[i];
    const SlotKind kind = e.def->slots[i].kind;
    if (isPackedSlot(kind))
      continue;
    switch (v.kind) {
    case Value::Absent: words.push_back(kAbsentWord); break;
    case Value::Tensor: {
      const bool chip = v.access.object.kind == ObjectKind::Allocation;
      words.push_back(v.access.pattern);
      words.push_back(v.access.object.index | (chip ? 0x80000000u : 0));
      words.push_back(static_cast<uint32_t>(v.access.byteOffset));
      words.push_back(chip ? static_cast<uint32_t>(v.access.partition)
                           : static_cast<uint32_t>(static_cast<uint64_t>(v.access.byteOffset) >> 32));
      break;
    }
    case Value::Float:
      if (kind == SlotKind::Scalar || kind == SlotKind::OptScalar)
        words.push_back(kImmediateWord);
      addFloat(v.number);
      break;
    case Value::Int:
    case Value::Register:
      if (kind == SlotKind::RegOrInt)
        words.push_back(v.kind == Value::Register);
      words.push_back(static_cast<uint32_t>(v.integer));
      break;
    case Value::Ints:
      words.push_back(static_cast<uint32_t>(e.lists[i].size()));
      words.insert(words.end(), e.lists[i].begin(), e.lists[i].end());
      break;
    case Value::Text: words.push_back(static_cast<uint32_t>(v.integer)); break;
    }
  }
  s.instrs.push_back(in);
}

void Builder::patchLabel(int core, Engine e, uint32_t index, uint32_t target) {
  Decoded d;
  decode(p, core, e, index, d);
  Stream &s = p.stream(core, e);
  int slot = -1;
  for (size_t i = 0; i < d.def->slots.size(); ++i)
    if (d.def->slots[i].kind == SlotKind::Label)
      slot = static_cast<int>(i);
  if (slot < 0)
    throw Error("BUILD-OPERAND", format("`%s` has no label", std::string(d.def->name).c_str()));
  // Labels stand last among the unpacked slots of every instruction that has one.
  const uint32_t end = index + 1 < s.instrs.size() ? s.instrs[index + 1].words : static_cast<uint32_t>(s.words.size());
  s.words.edit()[end - 1] = target;
}

Program Builder::finish() {
  checkStructure(p);
  return std::move(p);
}

// ---- Emit -----------------------------------------------------------------------------------------------

Emit::Emit(Builder &b, int core, Engine e, const InstrDef &def)
    : b(&b), core(core), engine(e), def(&def), values(def.slots.size()), given(def.slots.size()), lists(def.slots.size()) {
  for (size_t i = 0; i < def.slots.size(); ++i) {
    const Slot &s = def.slots[i];
    given[i] = s.hasDefault || s.kind == SlotKind::OptIn || s.kind == SlotKind::OptOut || s.kind == SlotKind::OptScalar;
    if (!s.hasDefault)
      continue;
    values[i].kind = s.kind == SlotKind::Float || s.kind == SlotKind::Scalar ? Value::Float
                     : s.kind == SlotKind::Ints                              ? Value::Ints
                     : s.kind == SlotKind::Text                              ? Value::Text
                                                                             : Value::Int;
    values[i].integer = s.defaultInt;
    values[i].number = s.defaultFloat;
  }
}

Emit::Emit(Emit &&o) noexcept
    : b(o.b), core(o.core), engine(o.engine), def(o.def), values(std::move(o.values)), given(std::move(o.given)),
      lists(std::move(o.lists)), waits(std::move(o.waits)), updates(std::move(o.updates)) {
  o.b = nullptr;
}

Emit::~Emit() noexcept(false) {
  if (b && std::uncaught_exceptions() == 0)
    done();
}

void Emit::done() {
  Builder *builder = b;
  b = nullptr;
  for (size_t i = 0; i < given.size(); ++i)
    if (!given[i])
      throw Error("BUILD-OPERAND", format("`%s` needs a value for `%s`", std::string(def->name).c_str(),
                                          std::string(def->slots[i].name).c_str()));
  if (waits.size() > 255 || updates.size() > 255)
    throw Error("BUILD-SYNC", "an instruction takes at most 255 waits and 255 updates");
  builder->append(*this);
}

int Emit::slotOf(std::string_view slotName, const char *verb) const {
  const int i = def->slot(slotName);
  if (i < 0)
    throw Error("BUILD-OPERAND", format("`%s` has no operand `%s` to %s", std::string(def->name).c_str(),
                                        std::string(slotName).c_str(), verb));
  return i;
}

static bool takesScalar(SlotKind k) { return k == SlotKind::Scalar || k == SlotKind::OptScalar; }

[[noreturn]] static void wrongKind(const InstrDef &d, int slot, const char *what) {
  throw Error("BUILD-OPERAND", format("`%s` of `%s` cannot be %s", std::string(d.slots[slot].name).c_str(),
                                      std::string(d.name).c_str(), what));
}

Emit &Emit::set(std::string_view slotName, const Access &a) {
  const int i = slotOf(slotName, "set");
  if (!isTensorSlot(def->slots[i].kind) && !takesScalar(def->slots[i].kind))
    wrongKind(*def, i, "a tensor");
  values[i].kind = Value::Tensor;
  values[i].access = a;
  given[i] = true;
  return *this;
}

Emit &Emit::set(std::string_view slotName, ObjectRef whole) { return set(slotName, b->view(whole)); }

Emit &Emit::set(std::string_view slotName, float v) {
  const int i = slotOf(slotName, "set");
  if (def->slots[i].kind != SlotKind::Float && !takesScalar(def->slots[i].kind))
    wrongKind(*def, i, "a floating-point number");
  values[i].kind = Value::Float;
  values[i].number = v;
  given[i] = true;
  return *this;
}

Emit &Emit::set(std::string_view slotName, int32_t v) {
  const int i = slotOf(slotName, "set");
  const SlotKind k = def->slots[i].kind;
  if (k == SlotKind::Float || takesScalar(k))
    return set(slotName, static_cast<float>(v));
  if (!isPackedSlot(k) && k != SlotKind::Int && k != SlotKind::RegOrInt && k != SlotKind::Label && k != SlotKind::Queue)
    wrongKind(*def, i, "an integer");
  if (isPackedSlot(k) && (v < 0 || v > 255))
    wrongKind(*def, i, "outside 0..255");
  values[i].kind = Value::Int;
  values[i].integer = v;
  given[i] = true;
  return *this;
}

Emit &Emit::set(std::string_view slotName, std::string_view text) {
  const int i = slotOf(slotName, "set");
  const Slot &s = def->slots[i];
  if (s.kind == SlotKind::Enum) {
    const int v = s.names->find(text);
    if (v < 0)
      throw Error("BUILD-OPERAND", format("`%s` is no %s", std::string(text).c_str(), std::string(s.names->type).c_str()));
    return set(slotName, v);
  }
  if (s.kind != SlotKind::Text)
    wrongKind(*def, i, "text");
  values[i].kind = Value::Text;
  values[i].integer = static_cast<int32_t>(b->internString(text));
  given[i] = true;
  return *this;
}

Emit &Emit::set(std::string_view slotName, std::vector<int32_t> list) {
  const int i = slotOf(slotName, "set");
  if (def->slots[i].kind != SlotKind::Ints)
    wrongKind(*def, i, "a list");
  values[i].kind = Value::Ints;
  lists[i].assign(list.begin(), list.end());
  given[i] = true;
  return *this;
}

Emit &Emit::reg(std::string_view slotName, int number) {
  const int i = slotOf(slotName, "set");
  const SlotKind k = def->slots[i].kind;
  if (k != SlotKind::RegIn && k != SlotKind::RegOut && k != SlotKind::RegOrInt)
    wrongKind(*def, i, "a register");
  values[i].kind = Value::Register;
  values[i].integer = number;
  given[i] = true;
  return *this;
}

Emit &Emit::value(int slot, const Value &v) {
  values[slot] = v;
  lists[slot].assign(v.list.begin(), v.list.end());
  given[slot] = true;
  return *this;
}

Emit &Emit::when(int semaphore, int32_t atLeast, bool consume) {
  waits.push_back({static_cast<uint16_t>(semaphore), consume ? SyncKind::WaitGeConsume : SyncKind::WaitGe, 0, atLeast});
  return *this;
}

Emit &Emit::then(int semaphore, int32_t add) { return sync({static_cast<uint16_t>(semaphore), SyncKind::Add, 0, add}); }

Emit &Emit::sync(const SyncOp &op) {
  updates.push_back(op);
  return *this;
}

} // namespace glia
