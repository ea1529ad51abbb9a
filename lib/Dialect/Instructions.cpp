// Registers one op per machine instruction, and the way to make and read them.
#include "InstructionText.h"
#include "glia/Dialect/Instruction.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

using namespace mlir;

namespace glia::nisa {

static StringRef text(std::string_view s) { return {s.data(), s.size()}; }

// Loops are regions here (nisa.loop); the machine's own control flow is made when programs are emitted.
static bool isKernelInstruction(const InstrDef &d) { return d.unit != Unit::Control; }

// `slots` has one entry per slot, each of a kind that the slot takes, and its operand numbers exist.
static LogicalResult verifyInstruction(Operation *op) {
  const InstrDef &d = *NisaDialect::definition(op);
  auto slots = op->getAttrOfType<ArrayAttr>("slots");
  if (!slots || slots.size() != d.slots.size())
    return op->emitOpError() << "needs the attribute `slots` with " << d.slots.size() << " entries";
  auto isOperand = [&](uint32_t n, bool reg) {
    return n < op->getNumOperands() &&
           (reg ? isa<RegType>(op->getOperand(n).getType()) : isa<TensorType>(op->getOperand(n).getType()));
  };
  for (size_t i = 0; i < d.slots.size(); ++i) {
    const Slot &s = d.slots[i];
    const Attribute a = slots[i];
    auto wrong = [&] { return op->emitOpError() << "slot `" << text(s.name) << "` does not take " << a; };
    if (auto access = dyn_cast<AccessAttr>(a)) {
      if (!(isTensorSlot(s.kind) || s.kind == SlotKind::Scalar || s.kind == SlotKind::OptScalar))
        return wrong();
      if (!isOperand(access.getBase(), false))
        return op->emitOpError() << "slot `" << text(s.name) << "` names operand " << access.getBase()
                                 << ", which is no tensor";
      const bool hbm = cast<TensorType>(op->getOperand(access.getBase()).getType()).getSpace() == Space::Hbm;
      if (hbm != (access.getPartitions() == 0))
        return op->emitOpError() << "slot `" << text(s.name) << "`: partitions are given on chip, and only there";
      for (size_t k = 0; k < access.getTerms().size(); k += 3)
        if (!isOperand(static_cast<uint32_t>(access.getTerms()[k]), true))
          return op->emitOpError() << "slot `" << text(s.name) << "` adds operand " << access.getTerms()[k]
                                   << ", which is no register";
      for (size_t k = 0; k < access.getDims().size(); k += 2)
        if (access.getDims()[k + 1] < 1 || access.getDims()[k + 1] > UINT32_MAX || std::abs(access.getDims()[k]) > INT32_MAX)
          return op->emitOpError() << "slot `" << text(s.name) << "` has a dimension of " << access.getDims()[k] << "x"
                                   << access.getDims()[k + 1];
      continue;
    }
    if (auto reg = dyn_cast<RegisterSlotAttr>(a)) {
      if (s.kind != SlotKind::RegIn && s.kind != SlotKind::RegOut && s.kind != SlotKind::RegOrInt)
        return wrong();
      if (!isOperand(reg.getOperand(), true))
        return op->emitOpError() << "slot `" << text(s.name) << "` names operand " << reg.getOperand()
                                 << ", which is no register";
      continue;
    }
    switch (s.kind) {
    case SlotKind::In:
    case SlotKind::Out:
    case SlotKind::InOut:
    case SlotKind::RegIn:
    case SlotKind::RegOut: return op->emitOpError() << "slot `" << text(s.name) << "` is missing";
    case SlotKind::OptIn:
    case SlotKind::OptOut:
      if (!isa<UnitAttr>(a))
        return wrong();
      break;
    case SlotKind::Scalar:
    case SlotKind::Float:
      if (!isa<FloatAttr>(a))
        return wrong();
      break;
    case SlotKind::OptScalar:
      if (!isa<FloatAttr, UnitAttr>(a))
        return wrong();
      break;
    case SlotKind::Enum: {
      auto v = dyn_cast<IntegerAttr>(a);
      if (!v || v.getInt() < 0 || v.getInt() >= static_cast<int64_t>(s.names->names.size()))
        return wrong();
      break;
    }
    case SlotKind::Int:
    case SlotKind::Flag:
    case SlotKind::Small:
    case SlotKind::RegOrInt:
      if (!isa<IntegerAttr>(a))
        return wrong();
      break;
    case SlotKind::Ints:
      if (!isa<DenseI32ArrayAttr>(a))
        return wrong();
      break;
    case SlotKind::Text:
      if (!isa<StringAttr>(a))
        return wrong();
      break;
    case SlotKind::Queue:
    case SlotKind::Label:
      if (!isa<IntegerAttr, UnitAttr>(a))
        return wrong();
      break;
    }
  }
  return success();
}

void NisaDialect::registerInstructions() {
  for (const InstrDef *d : allInstructions()) {
    if (!isKernelInstruction(*d))
      continue;
    auto op = DynamicOpDefinition::get(
        text(d->name), this, [](Operation *op) { return verifyInstruction(op); }, [](Operation *) { return success(); },
        [d](OpAsmParser &p, OperationState &s) { return parseInstruction(p, s, *d); },
        [](Operation *op, OpAsmPrinter &p, StringRef) { printInstruction(Instr(op), p); });
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
    return SlotValue::of(static_cast<float>(f.getValueAsDouble()));
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
  switch (s.kind) { // left out: the default
  case SlotKind::Enum:
  case SlotKind::Flag:
  case SlotKind::Small:
  case SlotKind::Int:
  case SlotKind::RegOrInt: return b.getI32IntegerAttr(s.defaultInt);
  case SlotKind::Float: return b.getF32FloatAttr(s.defaultFloat);
  case SlotKind::Scalar: return s.hasDefault ? Attribute(b.getF32FloatAttr(s.defaultFloat)) : Attribute(b.getUnitAttr());
  case SlotKind::Text: return b.getStringAttr("");
  default: return b.getUnitAttr();
  }
}

Instr createInstruction(OpBuilder &b, Location loc, const InstrDef &def, ArrayRef<SlotValue> values,
                        std::optional<Engine> engine) {
  SmallVector<Value> operands;
  SmallVector<Attribute> slots;
  const SlotValue absent;
  for (size_t i = 0; i < def.slots.size(); ++i)
    slots.push_back(slotAttribute(b, def.slots[i], i < values.size() ? values[i] : absent, operands));
  OperationState state(loc, ("nisa." + text(def.name)).str());
  state.addOperands(operands);
  state.addAttribute("slots", b.getArrayAttr(slots));
  if (engine)
    state.addAttribute("engine", b.getI32IntegerAttr(static_cast<int>(*engine)));
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

Origin originOf(Location loc) {
  Origin o;
  if (auto named = dyn_cast<NameLoc>(loc)) {
    o.operation = named.getName().str();
    loc = named.getChildLoc();
  }
  if (auto file = dyn_cast<FileLineColLoc>(loc)) {
    o.file = file.getFilename().str();
    o.line = file.getLine();
  }
  return o;
}

Location makeLocation(MLIRContext *context, StringRef file, uint32_t line, StringRef operation) {
  const Location place = FileLineColLoc::get(context, file, line, 0);
  return operation.empty() ? place : NameLoc::get(StringAttr::get(context, operation), place);
}

} // namespace glia::nisa
