#include "PeelLoop.h"

using namespace mlir;

namespace glia::nisa {

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

// Replaces the iterator `from` in the ops of `block` by `to` + `shift` (`to` null: by the number `shift`).
static void substitute(Block &block, mlir::Value from, mlir::Value to, int32_t shift) {
  mlir::Value whole; // a register with the value, for uses that are no addresses
  auto asRegister = [&]() -> mlir::Value {
    if (to && shift == 0)
      return to;
    if (!whole) {
      OpBuilder b(&block, block.begin());
      const Location loc = from.getLoc();
      whole = RegisterOp::create(b, loc, RegType::get(b.getContext())).getReg();
      if (to) {
        const InstrDef &def = *findInstruction("reg_alu");
        const int add = def.slots[def.slot("op")].names->find("add");
        createInstruction(b, loc, def, {SlotValue::of(whole), SlotValue::of(add), SlotValue::of(to), SlotValue::of(shift)},
                          Engine::Sync);
      } else {
        createInstruction(b, loc, *findInstruction("reg_move"), {SlotValue::of(whole), SlotValue::of(shift)}, Engine::Sync);
      }
    }
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
        if (t.reg == from) {
          if (t.partition)
            v.tensor.partition += static_cast<int32_t>(t.scale * shift);
          else
            v.tensor.byteOffset += t.scale * shift;
          t.reg = to;
        }
        if (t.reg)
          terms.push_back(t);
      }
      v.tensor.terms = terms;
      values.push_back(std::move(v));
    }
    rebuilt(i, values);
  }
}

// Numbers that name instructions are unique: the copy gets new ones.
static void renumber(Operation *copy, Operation *top) {
  int32_t next = 0;
  top->walk([&](Operation *op) {
    if (auto id = op->getAttrOfType<IntegerAttr>("id"))
      next = std::max(next, static_cast<int32_t>(id.getInt()) + 1);
  });
  llvm::DenseMap<int32_t, int32_t> renamed;
  Builder b(copy->getContext());
  copy->walk([&](Operation *op) {
    if (auto id = op->getAttrOfType<IntegerAttr>("id")) {
      renamed[static_cast<int32_t>(id.getInt())] = next;
      op->setAttr("id", b.getI32IntegerAttr(next++));
    }
  });
  if (renamed.empty())
    return;
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

static mlir::Value makeRegister(OpBuilder &b, Location loc) {
  return RegisterOp::create(b, loc, RegType::get(b.getContext())).getReg();
}

static void compute(OpBuilder &b, Location loc, mlir::Value dst, std::string_view op, mlir::Value a, SlotValue with) {
  const InstrDef &def = *findInstruction("reg_alu");
  const int index = def.slots[def.slot("op")].names->find(op);
  createInstruction(b, loc, def, {SlotValue::of(dst), SlotValue::of(index), SlotValue::of(a), with}, Engine::Sync);
}

Peeled peelFirst(Operation *op) {
  const Location loc = op->getLoc();
  OpBuilder b(op);
  Peeled out;
  out.rest = op;
  out.block = op->getBlock();
  auto loop = dyn_cast<LoopOp>(op);
  mlir::Value iterator = loop ? loop.iterator() : mlir::Value();
  if (!loop || loop.getCountRegister()) {
    const mlir::Value count = loop ? loop.getCountRegister() : cast<WhileOp>(op).getCondition();
    const mlir::Value trips = makeRegister(b, loc);
    if (loop) {
      compute(b, loc, trips, "min", count, SlotValue::of(int32_t{1}));
    } else { // 1 if the register is not 0: the sign of x or of -x
      compute(b, loc, trips, "multiply", count, SlotValue::of(int32_t{-1}));
      compute(b, loc, trips, "or", trips, SlotValue::of(count));
      compute(b, loc, trips, "shift_right", trips, SlotValue::of(int32_t{31}));
    }
    mlir::Value others;
    if (loop) { // the guard's body runs only if the count is 1 or more; said so that what is 1 less has bounds
      others = makeRegister(b, loc);
      compute(b, loc, others, "max", count, SlotValue::of(int32_t{1}));
      compute(b, loc, others, "subtract", others, SlotValue::of(int32_t{1}));
    }
    auto guard = LoopOp::create(b, loc, trips, IntegerAttr());
    Block &body = guard.getBody().emplaceBlock();
    body.addArgument(RegType::get(b.getContext()), loc);
    out.guard = guard;
    out.block = &body;
    op->moveBefore(&body, body.end());
    if (loop)
      loop.getCountRegisterMutable().assign(others);
  } else {
    loop.setCount(static_cast<uint32_t>(static_cast<int32_t>(*loop.getCount()) - 1));
  }
  Operation *copy = op->clone();
  b.setInsertionPoint(op);
  b.insert(copy);
  Operation *top = op;
  while (top->getParentOp() && !isa<KernelOp>(top))
    top = top->getParentOp();
  renumber(copy, top);
  Block &body = copy->getRegion(0).front();
  if (loop) {
    substitute(body, cast<LoopOp>(copy).iterator(), {}, 0);
    substitute(loop.getBody().front(), iterator, iterator, 1);
  }
  if (!body.empty()) {
    out.first = &body.front();
    out.last = &body.back();
    op->getBlock()->getOperations().splice(copy->getIterator(), body.getOperations());
  }
  copy->erase();
  return out;
}

} // namespace glia::nisa
