#include "MergeSums.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "Rule.h"

using namespace mlir;

namespace glia::partition {

// A sum over ranks that nobody else reads; null if it is none.
static graph::AllReduceOp sumBehind(Value v, Block *block) {
  auto op = v.getDefiningOp<graph::AllReduceOp>();
  const bool is = op && op->getBlock() == block && v.hasOneUse() && op->getNumOperands() == 1 &&
                  combinerOf(op.getComputation()) == "add";
  return is ? op : graph::AllReduceOp();
}

void mergeSums(func::FuncOp main) {
  main.walk([](graph::AddOp add) { // in program order, so that sums of sums are found too
    graph::AllReduceOp a = sumBehind(add.getLhs(), add->getBlock()), b = sumBehind(add.getRhs(), add->getBlock());
    if (!a || !b || a->getAttrs() != b->getAttrs() || a.getOperation() == b.getOperation())
      return;
    emit::GraphBuilder g(add);
    const Value sum = g.add(a->getOperand(0), b->getOperand(0));
    Operation *whole = g.b.clone(*a);
    whole->setOperand(0, sum);
    add->replaceAllUsesWith(whole);
    add->erase();
    a->erase();
    b->erase();
  });
}

} // namespace glia::partition
