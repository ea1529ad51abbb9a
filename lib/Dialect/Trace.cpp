#include "glia/Dialect/Trace.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Target/Target.h"

#include <cstring>

using namespace mlir;

namespace glia::nisa {

static StringRef text(std::string_view s) { return {s.data(), s.size()}; }

Trace::Trace(std::string_view name, std::string_view target, int count)
    : kernel{makeContext(), {}, {}}, builder(kernel.context.get()) {
  const std::shared_ptr<const Target> t = loadTarget(std::string(target));
  if (count < 1 || count > t->integer("core.max_cores"))
    throw Error("TRACE-CORES",
                format("the kernel is launched on %d cores, and %s has %lld", count, std::string(target).c_str(),
                       (long long)t->integer("core.max_cores")),
                "Launch it on fewer cores, or choose another target.");
  locations.push_back(builder.getUnknownLoc());
  kernel.module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(kernel.module->getBody());
  auto op = KernelOp::create(builder, builder.getUnknownLoc(), text(name), text(target));
  builder.setInsertionPointToEnd(&op.getBody().front());
  for (int c = 0; c < count; ++c) {
    auto core = CoreOp::create(builder, builder.getUnknownLoc(), builder.getI32IntegerAttr(c));
    cores.push_back(&core.getBody().emplaceBlock());
  }
  builder.setInsertionPointToEnd(cores[0]);
  mix(name);
  mix(target);
  mix(t->text); // a file may change between two kernels
  mix(static_cast<uint64_t>(count));
}

Trace::~Trace() = default;

void Trace::schedule(std::string_view name) {
  setSchedule(kernel.op(), name);
  mix(name);
}

void Trace::mix(uint64_t v) {
  hash[0] = (hash[0] ^ v) * 0x9FB21C651E98DF25u;
  hash[0] ^= hash[0] >> 32;
  hash[1] = (hash[1] + v) * 0xD6E8FEB86659FD93u;
  hash[1] ^= hash[1] >> 29;
}

void Trace::mix(std::string_view s) {
  mix(s.size());
  for (size_t i = 0; i < s.size(); i += 8) {
    uint64_t w = 0;
    std::memcpy(&w, s.data() + i, std::min<size_t>(8, s.size() - i));
    mix(w);
  }
}

void Trace::mix(const SlotValue &v) {
  mix(static_cast<uint64_t>(v.kind));
  switch (v.kind) {
  case SlotValue::Tensor: {
    const TensorOperand &t = v.tensor;
    mix(static_cast<uint64_t>(t.dtype) | static_cast<uint64_t>(t.partition) << 8 |
        static_cast<uint64_t>(t.partitions) << 32);
    mix(static_cast<uint64_t>(t.byteOffset));
    mix(t.dims.size());
    for (int64_t d : t.dims)
      mix(static_cast<uint64_t>(d));
    mix(t.terms.size());
    for (const TensorOperand::Term &x : t.terms)
      mix(static_cast<uint64_t>(x.scale) * 2 + x.partition);
    break;
  }
  case SlotValue::Float: {
    uint32_t bits;
    std::memcpy(&bits, &v.number, 4);
    mix(bits);
    break;
  }
  case SlotValue::Int: mix(static_cast<uint64_t>(v.integer)); break;
  case SlotValue::Ints:
    mix(v.list.size());
    for (int32_t x : v.list)
      mix(static_cast<uint64_t>(x));
    break;
  case SlotValue::Text: mix(std::string_view(v.text)); break;
  default: break;
  }
}

void Trace::core(int number) {
  if (number < 0 || number >= static_cast<int>(cores.size()))
    throw Error("TRACE-CORES", format("core %d does not exist", number));
  if (!open.empty())
    throw Error("TRACE-LOOP", "the core changes inside a loop", "Close every loop before the next core is traced.");
  builder.setInsertionPointToEnd(cores[number]);
  chaining = false;
  mix(static_cast<uint64_t>(number));
}

int Trace::tensor(std::string_view kind, std::string_view name, DType dtype, const std::vector<int64_t> &shape, bool shared,
                  std::span<const std::byte> data, int loc) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(cores[0]->getParentOp());
  const auto type = TensorType::get(builder.getContext(), Space::Hbm, dtype, shape);
  auto op = TensorOp::create(builder, place(loc), text(name), text(kind), type, !shared,
                             ArrayRef(reinterpret_cast<const int8_t *>(data.data()), data.size()));
  objects.push_back(op.getTensor());
  number(objects.back());
  mix(kind), mix(name), mix(static_cast<uint64_t>(dtype) * 2 + shared);
  for (int64_t d : shape)
    mix(static_cast<uint64_t>(d));
  mix(std::string_view(reinterpret_cast<const char *>(data.data()), data.size()));
  return static_cast<int>(objects.size() - 1);
}

void Trace::promise(int input, std::optional<std::pair<int64_t, int64_t>> range, bool unique) {
  auto op = tensorValue(input).getDefiningOp<TensorOp>();
  if (!op || op.getKind() != "input" || !isInteger(op.getTensor().getType().getDtype()))
    throw Error("TRACE-PROMISE", "only of an input of integers can a range be promised, or that its values are distinct");
  if (range && range->first > range->second)
    throw Error("TRACE-PROMISE",
                format("the range from %lld to %lld is empty", (long long)range->first, (long long)range->second));
  if (range)
    op.setRange(ArrayRef<int64_t>{range->first, range->second});
  op.setUnique(unique);
  mix(static_cast<uint64_t>(input) * 4 + (range ? 2 : 0) + unique);
  mix(static_cast<uint64_t>(range ? range->first : 0)), mix(static_cast<uint64_t>(range ? range->second : 0));
}

void Trace::begin(int output, int input) {
  auto to = tensorValue(output).getDefiningOp<TensorOp>(), from = tensorValue(input).getDefiningOp<TensorOp>();
  if (!to || !from || to.getKind() != "output" || from.getKind() != "input" ||
      to.getTensor().getType() != from.getTensor().getType())
    throw Error("TRACE-ALIAS", "only an output can begin as an input, of the same type");
  to.setAlias(from.getLabel());
  mix(static_cast<uint64_t>(output)), mix(static_cast<uint64_t>(input));
}

int Trace::alloc(Space space, std::string_view name, DType dtype, const std::vector<int64_t> &shape, int64_t partition,
                 int64_t byte, int loc) {
  const auto type = TensorType::get(builder.getContext(), space, dtype, shape);
  DenseI64ArrayAttr at;
  UnitAttr pinned;
  if (byte >= 0) {
    at = builder.getDenseI64ArrayAttr({std::max<int64_t>(partition, 0), byte});
    pinned = builder.getUnitAttr();
  }
  auto op = AllocOp::create(builder, place(loc), type, builder.getStringAttr(text(name)), at, pinned, {});
  objects.push_back(op.getTensor());
  number(objects.back());
  mix(static_cast<uint64_t>(space)), mix(name), mix(static_cast<uint64_t>(dtype));
  for (int64_t d : shape)
    mix(static_cast<uint64_t>(d));
  mix(static_cast<uint64_t>(partition)), mix(static_cast<uint64_t>(byte));
  return static_cast<int>(objects.size() - 1);
}

int Trace::makeRegister() {
  registers.push_back(RegisterOp::create(builder, builder.getUnknownLoc(), RegType::get(builder.getContext())).getReg());
  number(registers.back());
  mix(uint64_t{0x52454749});
  return static_cast<int>(registers.size() - 1);
}

int Trace::location(std::string_view file, int line, std::string_view operation) {
  locations.push_back(makeLocation(builder.getContext(), text(file), static_cast<uint32_t>(line), text(operation)));
  mix(file), mix(static_cast<uint64_t>(line)), mix(operation);
  return static_cast<int>(locations.size() - 1);
}

Location Trace::place(int loc) const {
  return loc >= 0 && loc < static_cast<int>(locations.size()) ? locations[loc] : locations[0];
}

Value Trace::tensorValue(int handle) const {
  if (handle < 0 || handle >= static_cast<int>(objects.size()))
    throw Error("TRACE-HANDLE", format("tensor handle %d does not exist in this trace", handle),
                "Use tensors of the kernel that is being traced.");
  return objects[handle];
}

Value Trace::registerValue(int handle) const {
  if (handle < 0 || handle >= static_cast<int>(registers.size()))
    throw Error("TRACE-HANDLE", format("register handle %d does not exist in this trace", handle),
                "Use registers of the kernel that is being traced.");
  return registers[handle];
}

int Trace::emit(const InstrDef &def, std::vector<SlotValue> values, int engine, int loc, std::string_view name) {
  if (values.size() > def.slots.size())
    throw Error("TRACE-SLOT", format("%s has %zu slots, and %zu values are given", std::string(def.name).c_str(),
                                     def.slots.size(), values.size()));
  for (size_t i = 0; i < values.size(); ++i) // an integer where the machine wants a number
    if (values[i].kind == SlotValue::Int && (def.slots[i].kind == SlotKind::Float || def.slots[i].kind == SlotKind::Scalar ||
                                             def.slots[i].kind == SlotKind::OptScalar))
      values[i] = SlotValue::of(static_cast<float>(values[i].integer));
  const std::optional<Engine> e = engine < 0 ? std::nullopt : std::optional<Engine>(static_cast<Engine>(engine));
  const Instr i = createInstruction(builder, place(loc), def, values, e);
  if (!name.empty())
    i->setAttr("name", builder.getStringAttr(text(name)));
  if (chaining)
    i->setAttr("chain", builder.getI32IntegerAttr(chains));
  made.push_back(i.operation());
  mix(def.name), mix(static_cast<uint64_t>(engine)), mix(static_cast<uint64_t>(loc)), mix(name);
  for (const SlotValue &v : values) {
    mix(v);
    if (v.kind == SlotValue::Tensor || v.kind == SlotValue::Register)
      mix(uint64_t{numbers.lookup(v.kind == SlotValue::Tensor ? v.tensor.tensor : v.reg)});
    for (const TensorOperand::Term &t : v.tensor.terms)
      mix(uint64_t{numbers.lookup(t.reg)});
  }
  return static_cast<int>(made.size() - 1);
}

int Trace::loop(int64_t count, int countRegister, int loc) {
  auto op = LoopOp::create(builder, place(loc), countRegister >= 0 ? registerValue(countRegister) : Value(),
                           countRegister >= 0 ? IntegerAttr() : builder.getI32IntegerAttr(static_cast<int32_t>(count)));
  Block &body = op.getBody().emplaceBlock();
  registers.push_back(body.addArgument(RegType::get(builder.getContext()), place(loc)));
  number(registers.back());
  open.push_back({builder.getInsertionBlock(), false});
  builder.setInsertionPointToEnd(&body);
  mix(uint64_t{0x4C4F4F50}), mix(static_cast<uint64_t>(count)), mix(static_cast<uint64_t>(countRegister));
  return static_cast<int>(registers.size() - 1);
}

void Trace::endLoop() {
  if (open.empty() || open.back().second)
    throw Error("TRACE-LOOP", "a loop ends that was not begun");
  builder.setInsertionPointToEnd(open.back().first);
  open.pop_back();
  mix(uint64_t{0x454E44});
}

void Trace::whileLoop(int reg, int loc) {
  auto op = WhileOp::create(builder, place(loc), registerValue(reg));
  open.push_back({builder.getInsertionBlock(), true});
  builder.setInsertionPointToEnd(&op.getBody().emplaceBlock());
  mix(uint64_t{0x5748494C}), mix(static_cast<uint64_t>(reg));
}

void Trace::endWhile() {
  if (open.empty() || !open.back().second)
    throw Error("TRACE-LOOP", "a while loop ends that was not begun");
  builder.setInsertionPointToEnd(open.back().first);
  open.pop_back();
  mix(uint64_t{0x454E44});
}

void Trace::chain(bool on) {
  chains += on;
  chaining = on;
  mix(uint64_t{0x4348} + on);
}

void Trace::after(int instruction, const std::vector<int> &producers) {
  auto at = [&](int i) {
    if (i < 0 || i >= static_cast<int>(made.size()))
      throw Error("TRACE-HANDLE", format("instruction %d does not exist in this trace", i));
    return made[i];
  };
  SmallVector<int32_t> ids;
  if (auto old = at(instruction)->getAttrOfType<DenseI32ArrayAttr>("after"))
    ids.assign(old.asArrayRef().begin(), old.asArrayRef().end());
  for (int p : producers) {
    at(p)->setAttr("id", builder.getI32IntegerAttr(p));
    ids.push_back(p);
    mix(static_cast<uint64_t>(p));
  }
  made[instruction]->setAttr("after", builder.getDenseI32ArrayAttr(ids));
  mix(static_cast<uint64_t>(instruction));
}

Kernel Trace::finish() {
  if (!open.empty())
    throw Error("TRACE-LOOP", "a run-time loop was left open", "Do not leave a run-time loop by break or return.");
  mix(std::string_view("glia 0.1.0")); // the compiler
  kernel.fingerprint = format("%016llx%016llx", (unsigned long long)hash[0], (unsigned long long)hash[1]);
  return std::move(kernel);
}

} // namespace glia::nisa
