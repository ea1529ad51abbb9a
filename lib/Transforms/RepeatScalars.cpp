#include "RepeatScalars.h"
#include "CombineFacts.h"

namespace glia {

using nisa::Instr;
using nisa::SlotValue;

namespace {

// Whether the reader can do what `from` does, besides what it does.
bool takesOver(Instr from, Instr reader) {
  const mlir::Value tensor = from.tensor(0);
  if (!reader || reader.engine() || reader->getBlock() != from->getBlock() || !from->isBeforeInBlock(reader.operation()) ||
      reader.tensor(0) == from.tensor(1) || !staysUntil(from, 1, reader) ||
      !staysUntil(from, from.def().slot("operand0"), reader))
    return false;
  for (int k = 0; k < static_cast<int>(reader.def().slots.size()); ++k)
    if ((reader.tensor(k) == tensor) != (k == 1)) // the data, and nothing else
      return false;
  if (!sameElements(from.access(0), reader.access(1)))
    return false;
  const bool isBias = aluOf(from, "op0") != AluOp::Multiply;
  if (reader.is("activation"))
    return !(isBias && slotOf(from, "operand0").kind != SlotValue::Tensor) &&
           slotOf(reader, "scale").kind == SlotValue::Float && slotOf(reader, "scale").number == 1 &&
           slotOf(reader, "bias").kind == SlotValue::Absent;
  return isOneScalar(reader) && isFloatAccess(reader.access(0));
}

void repeat(Instr from) {
  constexpr size_t kMost = 3;
  const AluOp op = aluOf(from, "op0");
  const mlir::Value tensor = from.tensor(0);
  if (from.engine() || !isOneScalar(from) || !isFloatAccess(from.access(0)) || from.access(0).getDtype() != DType::F32 ||
      (op != AluOp::Multiply && op != AluOp::Add && op != AluOp::Subtract) || from.tensor(1) == tensor ||
      !tensor.getDefiningOp<nisa::AllocOp>())
    return;
  llvm::SmallVector<Instr> readers;
  for (mlir::Operation *user : tensor.getUsers())
    if (user != from.operation())
      readers.push_back(Instr(user));
  if (readers.size() < 2 || readers.size() > kMost || !llvm::all_of(readers, [&](Instr r) { return takesOver(from, r); }))
    return;
  for (Instr reader : llvm::ArrayRef<Instr>(readers).drop_front()) {
    mlir::OpBuilder b(tensor.getDefiningOp());
    const mlir::Value own = b.clone(*tensor.getDefiningOp())->getResult(0);
    b.setInsertionPoint(from.operation());
    b.clone(*from.operation())->replaceUsesOfWith(tensor, own);
    reader->replaceUsesOfWith(tensor, own);
  }
}

} // namespace

void repeatScalars(nisa::KernelOp kernel) {
  std::vector<Instr> all;
  kernel.walk([&](mlir::Operation *op) {
    if (const Instr i(op); i && i.is("tensor_scalar"))
      all.push_back(i);
  });
  for (Instr i : all)
    repeat(i);
}

} // namespace glia
