#include "LoopBody.h"

using namespace mlir;

namespace glia::nisa {

mlir::Value makeRegister(OpBuilder &b, Location loc) {
  return RegisterOp::create(b, loc, RegType::get(b.getContext())).getReg();
}

void computeRegister(OpBuilder &b, Location loc, mlir::Value dst, std::string_view op, mlir::Value a, SlotValue with) {
  const InstrDef &def = *findInstruction("reg_alu");
  const int index = def.slots[def.slot("op")].names->find(op);
  createInstruction(b, loc, def, {SlotValue::of(dst), SlotValue::of(index), SlotValue::of(a), with}, Engine::Sync);
}

// A fresh copy of an instruction with other operands; everything else is kept.
static Instr rebuilt(Instr i, ArrayRef<SlotValue> values) {
  OpBuilder b(i.operation());
  Instr out = createInstruction(b, i->getLoc(), i.def(), values);
  for (const NamedAttribute &a : i->getAttrs())
    if (a.getName() != "slots")
      out->setAttr(a.getName(), a.getValue());
  i->erase();
  return out;
}

void replaceIterator(Block &block, mlir::Value from, const Iteration &to) {
  mlir::Value whole; // a register with the value, for uses that are no addresses
  auto asRegister = [&]() -> mlir::Value {
    if (to.counter && to.scale == 1 && !to.start && to.shift == 0)
      return to.counter;
    if (whole)
      return whole;
    OpBuilder b(&block, block.begin());
    const Location loc = from.getLoc();
    whole = makeRegister(b, loc);
    mlir::Value sum = to.counter; // of what comes before the shift
    if (to.counter && to.scale != 1)
      computeRegister(b, loc, sum = whole, "multiply", to.counter, SlotValue::of(to.scale));
    if (sum && to.start)
      computeRegister(b, loc, whole, "add", sum, SlotValue::of(to.start)), sum = whole;
    else if (to.start)
      sum = to.start;
    if (!sum)
      createInstruction(b, loc, *findInstruction("reg_move"), {SlotValue::of(whole), SlotValue::of(to.shift)}, Engine::Sync);
    else if (to.shift != 0 || sum != whole)
      computeRegister(b, loc, whole, "add", sum, SlotValue::of(to.shift));
    return whole;
  };
  SmallVector<Operation *> users;
  block.walk([&](Operation *op) {
    if (llvm::is_contained(op->getOperands(), from))
      users.push_back(op);
  });
  for (Operation *op : users) {
    Instr i(op);
    if (!i) {
      for (OpOperand &o : op->getOpOperands())
        if (o.get() == from)
          o.set(asRegister());
      continue;
    }
    SmallVector<SlotValue> values;
    for (size_t k = 0; k < i.def().slots.size(); ++k) {
      SlotValue v = i.value(static_cast<int>(k));
      if (v.kind == SlotValue::Register && v.reg == from)
        v.reg = asRegister();
      SmallVector<TensorOperand::Term, 1> terms;
      for (TensorOperand::Term t : v.tensor.terms) {
        if (t.reg != from) {
          terms.push_back(t);
          continue;
        }
        if (t.partition)
          v.tensor.partition += static_cast<int32_t>(t.scale * to.shift);
        else
          v.tensor.byteOffset += t.scale * to.shift;
        if (to.counter)
          terms.push_back({to.counter, t.scale * to.scale, t.partition});
        if (to.start)
          terms.push_back({to.start, t.scale, t.partition});
      }
      v.tensor.terms = terms;
      values.push_back(std::move(v));
    }
    rebuilt(i, values);
  }
}

void renumber(Operation *copy) {
  SmallVector<Operation *> named;
  copy->walk([&](Operation *op) {
    if (op->hasAttr("id"))
      named.push_back(op);
  });
  if (named.empty())
    return;
  Operation *top = copy;
  while (top->getParentOp() && !isa<KernelOp>(top))
    top = top->getParentOp();
  int32_t next = 0;
  top->walk([&](Operation *op) {
    if (auto id = op->getAttrOfType<IntegerAttr>("id"))
      next = std::max(next, static_cast<int32_t>(id.getInt()) + 1);
  });
  llvm::DenseMap<int32_t, int32_t> renamed;
  Builder b(copy->getContext());
  for (Operation *op : named) {
    renamed[static_cast<int32_t>(op->getAttrOfType<IntegerAttr>("id").getInt())] = next;
    op->setAttr("id", b.getI32IntegerAttr(next++));
  }
  copy->walk([&](Operation *op) {
    if (auto after = op->getAttrOfType<DenseI32ArrayAttr>("after")) {
      SmallVector<int32_t> ids(after.asArrayRef());
      for (int32_t &id : ids)
        if (auto it = renamed.find(id); it != renamed.end())
          id = it->second;
      op->setAttr("after", b.getDenseI32ArrayAttr(ids));
    }
  });
}

} // namespace glia::nisa
