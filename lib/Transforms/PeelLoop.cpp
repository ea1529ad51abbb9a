#include "PeelLoop.h"
#include "LoopBody.h"

using namespace mlir;

namespace glia::nisa {

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
      computeRegister(b, loc, trips, "min", count, SlotValue::of(int32_t{1}));
    } else { // 1 if the register is not 0: the sign of x or of -x
      computeRegister(b, loc, trips, "multiply", count, SlotValue::of(int32_t{-1}));
      computeRegister(b, loc, trips, "or", trips, SlotValue::of(count));
      computeRegister(b, loc, trips, "shift_right", trips, SlotValue::of(int32_t{31}));
    }
    mlir::Value others;
    if (loop) { // the guard's body runs only if the count is 1 or more; said so that what is 1 less has bounds
      others = makeRegister(b, loc);
      computeRegister(b, loc, others, "max", count, SlotValue::of(int32_t{1}));
      computeRegister(b, loc, others, "subtract", others, SlotValue::of(int32_t{1}));
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
  renumber(copy);
  Block &body = copy->getRegion(0).front();
  if (loop) {
    replaceIterator(body, cast<LoopOp>(copy).iterator(), {});
    replaceIterator(loop.getBody().front(), iterator, {.counter = iterator, .shift = 1});
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
