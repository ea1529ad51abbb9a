#include "OwnConstants.h"
#include "glia/Lower/Family.h"

#include "llvm/ADT/DenseMap.h"

namespace glia::emit {

namespace {

void ownConstants(mlir::Region &body) {
  llvm::DenseMap<mlir::Operation *, mlir::Value> own;
  mlir::OpBuilder b(&body.front(), body.front().begin());
  body.walk([&](mlir::Operation *op) {
    for (mlir::OpOperand &use : op->getOpOperands()) {
      mlir::Operation *made = use.get().getDefiningOp();
      if (!made || opName(made) != "constant" || body.isAncestor(made->getParentRegion()))
        continue;
      mlir::Value &mine = own[made];
      if (!mine)
        mine = b.clone(*made)->getResult(0);
      use.set(mine);
    }
  });
}

} // namespace

void ownConstants(mlir::func::FuncOp main) {
  main.walk([](mlir::Operation *op) {
    if (mlir::isa<graph::WhileOp, graph::IfOp, graph::CaseOp, mlir::func::FuncOp>(
            op)) // these are part of what is around them
      return;
    for (mlir::Region &r : op->getRegions())
      if (!r.empty())
        ownConstants(r);
  });
}

} // namespace glia::emit
