// What must hold for an instruction to be one: a value of the right kind in each slot, operand numbers that exist, attributes
// of the right form. Rules of the hardware are checked elsewhere, on the kernel as a whole.
#include "Slots.h"
#include "glia/Program/View.h"

#include <climits>

using namespace mlir;

namespace glia::nisa {

static StringRef text(std::string_view s) { return {s.data(), s.size()}; }

namespace {

class Verifier {
public:
  Verifier(Instr i, bool report) : i(i), report(report) {}
  LogicalResult run();

private:
  Instr i;
  bool report;

  InFlightDiagnostic fail() const {
    InFlightDiagnostic d = report ? i->emitOpError() : emitError(i->getLoc());
    if (!report)
      d.abandon();
    return d;
  }
  InFlightDiagnostic fail(const Slot &s) const {
    InFlightDiagnostic d = fail();
    d << "slot `" << text(s.name) << "` ";
    return d;
  }
  bool isOperand(int64_t n, bool reg) const {
    if (n < 0 || n >= i->getNumOperands())
      return false;
    const Type t = i->getOperand(static_cast<unsigned>(n)).getType();
    return reg ? isa<RegType>(t) : isa<TensorType>(t);
  }
  LogicalResult access(const Slot &s, AccessAttr a) const;
  LogicalResult integer(const Slot &s, Attribute a) const;
  LogicalResult slot(const Slot &s, Attribute a) const;
  LogicalResult attributes() const;
};

LogicalResult Verifier::access(const Slot &s, AccessAttr a) const {
  if (!(isTensorSlot(s.kind) || s.kind == SlotKind::Scalar || s.kind == SlotKind::OptScalar))
    return fail(s) << "does not take a tensor";
  if (!isOperand(a.getBase(), false))
    return fail(s) << "names operand " << a.getBase() << ", which is no tensor";
  const auto type = cast<TensorType>(i->getOperand(a.getBase()).getType());
  const bool onChip = type.getSpace() != Space::Hbm;
  if (onChip ? a.getPartitions() < 1 || a.getPartitions() > 128 : a.getPartitions() != 0 || a.getPartition() != 0)
    return fail(s) << "has " << a.getPartitions() << " partitions: 1 to 128 on chip, none in HBM";
  const ArrayRef<int64_t> dims = a.getDims(), terms = a.getTerms();
  const size_t most = onChip ? 4 : kMaxDims;
  if (dims.empty() || dims.size() % 2 || dims.size() > 2 * most)
    return fail(s) << "has " << dims.size() / 2 << " dimensions; 1 to " << most << " fit an operand";
  if (onChip ? a.getByteOffset() < INT_MIN || a.getByteOffset() > INT_MAX : a.getByteOffset() < 0)
    return fail(s) << "starts at byte " << a.getByteOffset() << ", outside any memory";
  int64_t total = 1;
  for (size_t k = 0; k < dims.size(); k += 2)
    if (dims[k] < -INT_MAX || dims[k] > INT_MAX || dims[k + 1] < 1 || dims[k + 1] > UINT32_MAX ||
        __builtin_mul_overflow(total, dims[k + 1], &total) || total > (int64_t{1} << 40))
      return fail(s) << "has a dimension of " << dims[k] << "x" << dims[k + 1] << ", which fits no operand";
  if (terms.size() % 3 || terms.size() > 3 * kMaxDynamicTerms)
    return fail(s) << "adds too many registers; at most " << kMaxDynamicTerms << " fit an operand";
  for (size_t k = 0; k < terms.size(); k += 3) {
    if (!isOperand(terms[k], true))
      return fail(s) << "adds operand " << terms[k] << ", which is no register";
    if (terms[k + 2] != 0 && (terms[k + 2] != 1 || !onChip))
      return fail(s) << "scales a register in partitions, which only operands on chip have";
  }
  return success();
}

LogicalResult Verifier::integer(const Slot &s, Attribute a) const {
  auto v = dyn_cast<IntegerAttr>(a);
  if (!v || !v.getType().isSignlessInteger(32))
    return fail(s) << "takes an i32, not " << a;
  int64_t lo = INT_MIN, hi = INT_MAX;
  if (s.kind == SlotKind::Enum)
    lo = 0, hi = static_cast<int64_t>(s.names->names.size()) - 1;
  else if (s.kind == SlotKind::Flag)
    lo = 0, hi = i.is("nc_matmul") && s.name == i.def().accumulateFlag ? kAccumulateAuto : 1;
  else if (s.kind == SlotKind::Small)
    lo = 0, hi = 255;
  else if (s.kind == SlotKind::Queue || s.kind == SlotKind::Label)
    lo = 0;
  if (v.getInt() < lo || v.getInt() > hi)
    return fail(s) << "is " << v.getInt() << " and must be " << lo << " to " << hi;
  return success();
}

LogicalResult Verifier::slot(const Slot &s, Attribute a) const {
  if (auto x = dyn_cast<AccessAttr>(a))
    return access(s, x);
  if (auto reg = dyn_cast<RegisterSlotAttr>(a)) {
    if (s.kind != SlotKind::RegIn && s.kind != SlotKind::RegOut && s.kind != SlotKind::RegOrInt)
      return fail(s) << "does not take a register";
    if (!isOperand(reg.getOperand(), true))
      return fail(s) << "names operand " << reg.getOperand() << ", which is no register";
    return success();
  }
  const bool absent = isa<UnitAttr>(a);
  switch (s.kind) {
  case SlotKind::In:
  case SlotKind::Out:
  case SlotKind::InOut:
  case SlotKind::RegIn:
  case SlotKind::RegOut: return fail(s) << "is missing";
  case SlotKind::OptIn:
  case SlotKind::OptOut: return absent ? success() : LogicalResult(fail(s) << "does not take " << a);
  case SlotKind::OptScalar:
    if (absent)
      return success();
    [[fallthrough]];
  case SlotKind::Scalar:
  case SlotKind::Float:
    if (auto f = dyn_cast<FloatAttr>(a); !f || !f.getType().isF32())
      return fail(s) << (absent ? "is missing" : "takes an f32");
    return success();
  case SlotKind::Queue:
  case SlotKind::Label:
    if (absent)
      return success();
    [[fallthrough]];
  case SlotKind::Enum:
  case SlotKind::Int:
  case SlotKind::Flag:
  case SlotKind::Small:
  case SlotKind::RegOrInt: return integer(s, a);
  case SlotKind::Ints: return isa<DenseI32ArrayAttr>(a) ? success() : LogicalResult(fail(s) << "takes an array<i32>");
  case SlotKind::Text: return isa<StringAttr>(a) ? success() : LogicalResult(fail(s) << "takes a string");
  }
  return success();
}

LogicalResult Verifier::attributes() const {
  for (StringRef key : {"engine", "id", "chain"})
    if (const Attribute a = i->getAttr(key)) {
      auto v = dyn_cast<IntegerAttr>(a);
      if (!v || !v.getType().isSignlessInteger(32))
        return fail() << "has an attribute `" << key << "` that is no i32";
      if (key != "engine")
        continue;
      if (v.getInt() < 0 || v.getInt() >= kNumEngines)
        return fail() << "has the engine " << v.getInt() << ", and engines are 0 to " << kNumEngines - 1;
    }
  for (auto [key, step] : {std::pair("after", 1), {"waits", 3}, {"updates", 2}})
    if (const Attribute a = i->getAttr(key)) {
      auto v = dyn_cast<DenseI32ArrayAttr>(a);
      if (!v || v.size() % step)
        return fail() << "has an attribute `" << key << "` that is no array<i32> with " << step << " for each entry";
      for (int64_t k = 0; step > 1 && k < v.size(); k += step)
        if (v[k] < 0 || (step == 3 && (v[k + 2] < 0 || v[k + 2] > 1)))
          return fail() << "has an attribute `" << key << "` with an entry out of range";
    }
  if (const Attribute a = i->getAttr("name"); a && !isa<StringAttr>(a))
    return fail() << "has an attribute `name` that is no string";
  return success();
}

LogicalResult Verifier::run() {
  const InstrDef &d = i.def();
  const ArrayAttr slots = i->getAttrOfType<ArrayAttr>("slots");
  if (!slots || slots.size() != d.slots.size())
    return fail() << "needs the attribute `slots` with " << d.slots.size() << " entries";
  if (i->getNumResults() || i->getNumRegions() || i->getNumSuccessors())
    return fail() << "has no results, regions or successors";
  for (size_t k = 0; k < d.slots.size(); ++k)
    if (failed(slot(d.slots[k], slots[k])))
      return failure();
  return attributes();
}

} // namespace

LogicalResult verifyInstruction(Instr i, bool report) { return Verifier(i, report).run(); }

} // namespace glia::nisa
