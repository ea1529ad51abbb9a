#include "FoldReverse.h"
#include "Graph/Analysis/GraphBuilder.h"

namespace glia::emit {

void foldKernelReverses(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main)) {
    auto convolution = llvm::dyn_cast<graph::ConvolutionOp>(op);
    auto reverse = convolution ? op->getOperand(1).getDefiningOp<graph::ReverseOp>() : graph::ReverseOp();
    if (!reverse)
      continue;
    const llvm::ArrayRef<int64_t> spatial = convolution.getDimensionNumbers().getKernelSpatialDimensions();
    llvm::SmallVector<bool> windows(spatial.size(), false);
    if (convolution.getWindowReversal())
      windows.assign(convolution.getWindowReversal()->begin(), convolution.getWindowReversal()->end());
    bool only = true; // spatial dimensions
    for (int64_t d : reverse.getDimensions()) {
      const auto *at = llvm::find(spatial, d);
      only = only && at != spatial.end();
      if (at != spatial.end())
        windows[static_cast<size_t>(at - spatial.begin())] ^= true;
    }
    if (!only)
      continue;
    op->setOperand(1, reverse->getOperand(0));
    convolution.setWindowReversal(windows);
  }
}

} // namespace glia::emit
