// The ops that hold instructions together: making them, and what must hold of them.
#include "glia/Dialect/Instruction.h"
#include "Literal.h"
#include "glia/Program/View.h"

#include <map>

using namespace mlir;

namespace glia::nisa {

void KernelOp::build(OpBuilder &b, OperationState &s, StringRef name, StringRef target) {
  s.addAttribute("sym_name", b.getStringAttr(name));
  s.addAttribute("target", b.getStringAttr(target));
  s.addRegion()->emplaceBlock();
}

void TensorOp::build(OpBuilder &b, OperationState &s, StringRef label, StringRef kind, TensorType type, bool isPrivate,
                     ArrayRef<int8_t> data) {
  s.addTypes(type);
  s.getOrAddProperties<Properties>().label = b.getStringAttr(label);
  s.getOrAddProperties<Properties>().kind = b.getStringAttr(kind);
  if (isPrivate)
    s.getOrAddProperties<Properties>().isPrivate = b.getUnitAttr();
  if (kind == "constant")
    s.getOrAddProperties<Properties>().data = b.getDenseI8ArrayAttr(data);
}

unsigned KernelOp::cores() {
  auto ops = getBody().getOps<CoreOp>();
  return static_cast<unsigned>(std::distance(ops.begin(), ops.end()));
}

CoreOp KernelOp::core(unsigned number) {
  for (CoreOp c : getBody().getOps<CoreOp>())
    if (c.getNumber() == number)
      return c;
  return {};
}

// ---- verifiers --------------------------------------------------------------------------------------------------------------

// An output that begins as an input is a tensor of the same type.
static LogicalResult verifyAlias(TensorOp t, std::map<StringRef, TensorOp> &named) {
  if (!t.getAlias())
    return success();
  if (t.getKind() != "output")
    return t.emitOpError() << "only outputs have an alias";
  const auto it = named.find(*t.getAlias());
  if (it == named.end() || it->second.getKind() != "input")
    return t.emitOpError() << "begins as \"" << *t.getAlias() << "\", and there is no input of that name above";
  if (it->second.getTensor().getType() != t.getTensor().getType())
    return t.emitOpError() << "begins as \"" << *t.getAlias() << "\", which has the type "
                           << it->second.getTensor().getType();
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  int32_t next = 0;
  std::map<StringRef, TensorOp> named;
  for (Operation &op : getBody().front()) {
    if (auto core = dyn_cast<CoreOp>(op)) {
      if (static_cast<int32_t>(core.getNumber()) != next)
        return core.emitOpError() << "cores are numbered 0, 1 ...; expected " << next;
      ++next;
    } else if (auto tensor = dyn_cast<TensorOp>(op)) {
      if (failed(verifyAlias(tensor, named)))
        return failure();
      if (!named.emplace(tensor.getLabel(), tensor).second)
        return tensor.emitOpError() << "a tensor named \"" << tensor.getLabel() << "\" exists already";
    } else {
      return op.emitOpError() << "stands in a kernel, which holds nisa.tensor and nisa.core only";
    }
  }
  if (next == 0)
    return emitOpError() << "has no nisa.core";
  if (getSchedule() && !asWritten())
    return emitOpError() << "has the schedule \"" << *getSchedule() << "\", and can only have \"as_written\", or none";
  return success();
}

static LogicalResult verifyType(Operation *op, TensorType t) {
  const std::string problem =
      shapeProblem({t.getShape().begin(), t.getShape().end()}, t.getDtype(), t.getSpace() != Space::Hbm);
  return problem.empty() ? success() : LogicalResult(op->emitOpError() << problem);
}

LogicalResult TensorOp::verify() {
  const TensorType t = getTensor().getType();
  if (t.getSpace() != Space::Hbm)
    return emitOpError() << "is in HBM, not in " << spaceName(t.getSpace()) << "; use nisa.alloc on chip";
  if (!llvm::is_contained({"input", "output", "constant", "scratch"}, getKind()))
    return emitOpError() << "has the unknown kind \"" << getKind() << "\": input, output, constant or scratch";
  if (getIsPrivate() && getKind() != "scratch")
    return emitOpError() << "only scratch tensors are private";
  if (failed(verifyType(*this, t)))
    return failure();
  int64_t bytes = sizeOf(t.getDtype());
  for (int64_t d : t.getShape())
    bytes *= d;
  if ((getKind() == "constant") != getData().has_value())
    return emitOpError() << "constants, and only constants, have data";
  if (getData() && static_cast<int64_t>(getData()->size()) != bytes)
    return emitOpError() << "has " << getData()->size() << " bytes of data and needs " << bytes;
  if ((getRange() || getUnique()) && getKind() != "input")
    return emitOpError() << "only inputs have a range or are unique";
  if (getRange() && (getRange()->size() != 2 || (*getRange())[0] > (*getRange())[1] || isFloat(t.getDtype())))
    return emitOpError() << "a range is the lowest and the highest of integers";
  return success();
}

LogicalResult AllocOp::verify() {
  const TensorType t = getTensor().getType();
  if (t.getSpace() == Space::Hbm)
    return emitOpError() << "is on chip; use nisa.tensor in HBM";
  if (getAt() && (getAt()->size() != 2 || (*getAt())[0] < 0 || (*getAt())[1] < 0))
    return emitOpError() << "`at` is a partition and a byte, both at least 0";
  if (getPinned() && !getAt())
    return emitOpError() << "is pinned, and has no place";
  if (getLive() && getLive()->size() != 2)
    return emitOpError() << "`live` is where the tensor begins and ends to live";
  return verifyType(*this, t);
}

// What one core does: instructions, allocations, registers and loops.
static LogicalResult verifyBody(Operation *op) {
  for (Operation &inner : op->getRegion(0).front())
    if (!isa<AllocOp, RegisterOp, LoopOp, WhileOp>(inner) && !Instr(&inner))
      return inner.emitOpError()
             << "is nothing that a core does: instructions, nisa.alloc, nisa.register, nisa.loop, nisa.while";
  return success();
}

LogicalResult CoreOp::verifyRegions() { return verifyBody(*this); }

LogicalResult WhileOp::verifyRegions() { return verifyBody(*this); }

LogicalResult LoopOp::verifyRegions() {
  if (static_cast<bool>(getCountRegister()) == getCount().has_value())
    return emitOpError() << "has either a count or a register with the count";
  if (getCount() && static_cast<int32_t>(*getCount()) < 0)
    return emitOpError() << "has the count " << static_cast<int32_t>(*getCount());
  if (getBody().getNumArguments() != 1 || !isa<RegType>(getBody().getArgument(0).getType()))
    return emitOpError() << "has one block argument, the register that counts";
  return verifyBody(*this);
}

} // namespace glia::nisa
