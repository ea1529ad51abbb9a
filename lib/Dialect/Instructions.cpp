// Registers one op per machine instruction, and the way to make and read them.
#include "InstructionText.h"
#include "Slots.h"
#include "glia/Dialect/Instruction.h"
#include "glia/Support/Text.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

using namespace mlir;

namespace glia::nisa {

static StringRef text(std::string_view s) { return {s.data(), s.size()}; }

// Loops are regions here (nisa.loop); the machine's own control flow is made when programs are emitted.
static bool isKernelInstruction(const InstrDef &d) { return d.unit != Unit::Control; }

void NisaDialect::registerInstructions() {
  for (const InstrDef *d : allInstructions()) {
    if (!isKernelInstruction(*d))
      continue;
    auto op = DynamicOpDefinition::get(
        text(d->name), this, [](Operation *op) { return verifyInstruction(Instr(op)); },
        [](Operation *) { return success(); }, [d](OpAsmParser &p, OperationState &s) { return parseInstruction(p, s, *d); },
        [](Operation *op, OpAsmPrinter &p, StringRef dialect) { printInstruction(Instr(op), p, dialect); });
    registerDynamicOp(std::move(op));
    definitions[OperationName(("nisa." + text(d->name)).str(), getContext())] = d;
  }
}

const InstrDef *NisaDialect::definition(Operation *op) {
  auto *dialect = dyn_cast_or_null<NisaDialect>(op->getDialect());
  if (!dialect)
    return nullptr;
  const auto it = dialect->definitions.find(op->getName());
  return it == dialect->definitions.end() ? nullptr : it->second;
}

// Names that are no op: a misspelt instruction, one that glia does not run, or the machine's own control flow.
static ParseResult refuseName(OpAsmParser &p, OperationState &state) {
  const StringRef op = state.name.getStringRef();
  const StringRef name = op.substr(op.find('.') + 1);
  const std::string_view n(name.data(), name.size());
  if (findInstruction(n))
    return p.emitError(p.getNameLoc()) << "`" << name << "` belongs to machine programs; a kernel has `loop` and `while`";
  if (const std::string_view why = refusedInstruction(n); !why.empty())
    return p.emitError(p.getNameLoc()) << "`" << name << "` is not implemented: " << text(why);
  std::vector<std::string_view> known = {"kernel", "tensor", "core", "alloc", "register", "loop", "while"};
  for (const InstrDef *d : allInstructions())
    known.push_back(d->name);
  return p.emitError(p.getNameLoc()) << "there is no instruction `" << printable(n) << "`. "
                                     << didYouMean(n, known, "`glia isa` lists them.");
}

std::optional<Dialect::ParseOpHook> NisaDialect::getParseOperationHook(StringRef) const { return ParseOpHook(refuseName); }

// ---- reading ----------------------------------------------------------------------------------------------------------------

ArrayAttr Instr::slots() const { return op->getAttrOfType<ArrayAttr>("slots"); }

Value Instr::tensor(int i) const {
  const AccessAttr a = access(i);
  return a ? op->getOperand(a.getBase()) : Value();
}

int32_t Instr::integer(int i) const {
  if (auto v = dyn_cast<IntegerAttr>(slot(i)))
    return static_cast<int32_t>(v.getInt());
  return d->slots[i].defaultInt;
}

Value Instr::reg(int i) const {
  auto r = dyn_cast<RegisterSlotAttr>(slot(i));
  return r ? op->getOperand(r.getOperand()) : Value();
}

SlotValue Instr::value(int i) const {
  const Attribute a = slot(i);
  SlotValue v;
  if (auto access = dyn_cast<AccessAttr>(a)) {
    TensorOperand t;
    t.tensor = op->getOperand(access.getBase());
    t.dtype = access.getDtype();
    t.partition = access.getPartition();
    t.partitions = access.getPartitions();
    t.byteOffset = access.getByteOffset();
    t.dims.assign(access.getDims().begin(), access.getDims().end());
    for (size_t k = 0; k < access.getTerms().size(); k += 3)
      t.terms.push_back({op->getOperand(static_cast<unsigned>(access.getTerms()[k])), access.getTerms()[k + 1],
                         access.getTerms()[k + 2] != 0});
    return SlotValue::of(std::move(t));
  }
  if (auto r = dyn_cast<RegisterSlotAttr>(a))
    return SlotValue::of(op->getOperand(r.getOperand()));
  if (auto f = dyn_cast<FloatAttr>(a))
    return SlotValue::of(f.getType().isF32() ? f.getValue().convertToFloat() : static_cast<float>(f.getValueAsDouble()));
  if (auto n = dyn_cast<IntegerAttr>(a))
    return SlotValue::of(static_cast<int32_t>(n.getInt()));
  if (auto s = dyn_cast<StringAttr>(a))
    return SlotValue::of(s.str());
  if (auto l = dyn_cast<DenseI32ArrayAttr>(a)) {
    v.kind = SlotValue::Ints;
    v.list.assign(l.asArrayRef().begin(), l.asArrayRef().end());
  }
  return v;
}

bool Instr::writes(int i) const { return isWritten(d->slots[i].kind) && access(i); }

bool Instr::reads(int i) const {
  if (!access(i))
    return false;
  const SlotKind k = d->slots[i].kind;
  if (k != SlotKind::Out && k != SlotKind::OptOut)
    return true;
  return i == 0 && !d->accumulateFlag.empty() && integer(d->slot(d->accumulateFlag)) != 0;
}

std::optional<Engine> Instr::engine() const {
  auto a = op->getAttrOfType<IntegerAttr>("engine");
  return a ? std::optional<Engine>(static_cast<Engine>(a.getInt())) : std::nullopt;
}

std::optional<int32_t> Instr::attribute(StringRef name) const {
  auto a = op->getAttrOfType<IntegerAttr>(name);
  return a ? std::optional<int32_t>(static_cast<int32_t>(a.getInt())) : std::nullopt;
}

void Instr::setEngine(Engine e) { op->setAttr("engine", Builder(op->getContext()).getI32IntegerAttr(static_cast<int>(e))); }

void Instr::setSlot(int i, Attribute a) {
  SmallVector<Attribute> all(slots().getValue());
  all[i] = a;
  op->setAttr("slots", ArrayAttr::get(op->getContext(), all));
}

void Instr::setInteger(std::string_view name, int32_t v) {
  setSlot(d->slot(name), Builder(op->getContext()).getI32IntegerAttr(v));
}

// ---- making -----------------------------------------------------------------------------------------------------------------

Attribute absentSlot(Builder &b, const Slot &s) {
  switch (s.kind) {
  case SlotKind::Enum:
  case SlotKind::Flag:
  case SlotKind::Small:
  case SlotKind::Int:
  case SlotKind::RegOrInt: return b.getI32IntegerAttr(s.defaultInt);
  case SlotKind::Float: return b.getF32FloatAttr(s.defaultFloat);
  case SlotKind::Scalar: return s.hasDefault ? Attribute(b.getF32FloatAttr(s.defaultFloat)) : Attribute(b.getUnitAttr());
  case SlotKind::Text: return b.getStringAttr("");
  case SlotKind::Ints: return b.getDenseI32ArrayAttr({});
  default: return b.getUnitAttr();
  }
}

static Attribute slotAttribute(Builder &b, const Slot &s, const SlotValue &v, SmallVectorImpl<Value> &operands) {
  auto number = [&](Value x) {
    for (size_t i = 0; i < operands.size(); ++i)
      if (operands[i] == x)
        return static_cast<uint32_t>(i);
    operands.push_back(x);
    return static_cast<uint32_t>(operands.size() - 1);
  };
  switch (v.kind) {
  case SlotValue::Tensor: {
    const TensorOperand &t = v.tensor;
    const uint32_t base = number(t.tensor);
    SmallVector<int64_t> terms;
    for (const TensorOperand::Term &x : t.terms)
      terms.append({static_cast<int64_t>(number(x.reg)), x.scale, x.partition});
    return AccessAttr::get(b.getContext(), base, t.dtype, t.partition, t.partitions, t.byteOffset, t.dims, terms);
  }
  case SlotValue::Float: return b.getF32FloatAttr(v.number);
  case SlotValue::Int: return b.getI32IntegerAttr(v.integer);
  case SlotValue::Register: return RegisterSlotAttr::get(b.getContext(), number(v.reg));
  case SlotValue::Ints: return b.getDenseI32ArrayAttr(v.list);
  case SlotValue::Text: return b.getStringAttr(v.text);
  case SlotValue::Absent: break;
  }
  return absentSlot(b, s);
}

void fillInstruction(Builder &b, OperationState &state, const InstrDef &def, ArrayRef<SlotValue> values,
                     std::optional<Engine> engine) {
  SmallVector<Value> operands;
  SmallVector<Attribute> slots;
  const SlotValue absent;
  for (size_t i = 0; i < def.slots.size(); ++i)
    slots.push_back(slotAttribute(b, def.slots[i], i < values.size() ? values[i] : absent, operands));
  state.addOperands(operands);
  state.addAttribute("slots", b.getArrayAttr(slots));
  if (engine)
    state.addAttribute("engine", b.getI32IntegerAttr(static_cast<int>(*engine)));
}

Instr createInstruction(OpBuilder &b, Location loc, const InstrDef &def, ArrayRef<SlotValue> values,
                        std::optional<Engine> engine) {
  OperationState state(loc, ("nisa." + text(def.name)).str());
  fillInstruction(b, state, def, values, engine);
  return Instr(b.create(state));
}

TensorOperand wholeTensor(Value tensor) {
  const auto type = cast<TensorType>(tensor.getType());
  const bool onChip = type.getSpace() != Space::Hbm;
  TensorOperand t;
  t.tensor = tensor;
  t.dtype = type.getDtype();
  int64_t free = 1;
  for (size_t i = onChip ? 1 : 0; i < type.getShape().size(); ++i)
    free *= type.getShape()[i];
  if (onChip)
    t.partitions = static_cast<int32_t>(type.getShape()[0]);
  t.dims = {1, free};
  return t;
}

// ---- places -----------------------------------------------------------------------------------------------------------------

// The innermost place: of a call the place in the callee, of several the first that has one.
static bool findPlace(Location loc, Origin &o) {
  if (auto named = dyn_cast<NameLoc>(loc)) {
    if (o.operation.empty())
      o.operation = named.getName().str();
    return findPlace(named.getChildLoc(), o);
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return findPlace(call.getCallee(), o) || findPlace(call.getCaller(), o);
  if (auto fused = dyn_cast<FusedLoc>(loc))
    return llvm::any_of(fused.getLocations(), [&](Location l) { return findPlace(l, o); });
  auto file = dyn_cast<FileLineColRange>(loc);
  if (!file)
    return false;
  o.file = file.getFilename().str();
  o.line = file.getStartLine();
  return true;
}

Origin originOf(Location loc) {
  Origin o;
  findPlace(loc, o);
  return o;
}

Location makeLocation(MLIRContext *context, StringRef file, uint32_t line, StringRef operation) {
  const Location place = FileLineColLoc::get(context, file, line, 0);
  return operation.empty() ? place : NameLoc::get(StringAttr::get(context, operation), place);
}

} // namespace glia::nisa
