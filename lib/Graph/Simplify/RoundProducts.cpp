#include "glia/Graph/RoundProducts.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "glia/Support/Diagnostic.h"

namespace glia::graph {

void roundProducts(mlir::ModuleOp module, std::string_view type) {
  if (type.empty())
    return;
  if (type != "bf16" && type != "f16")
    throw Error("GRAPH-CAST", "operands of products cannot be rounded to `" + std::string(type) + "`",
                "Give bf16 or f16, or leave it out: products are then computed in the types of the graph.");
  mlir::Builder b(module.getContext());
  const mlir::Type narrow = type == "bf16" ? mlir::Type(b.getBF16Type()) : mlir::Type(b.getF16Type());
  module.walk([&](mlir::Operation *op) {
    if (!llvm::isa<DotOp, DotGeneralOp, ConvolutionOp>(op) || op->hasAttr("algorithm"))
      return;
    const auto isWhole = [](mlir::Value v) { return emit::elementOf(v).isF32(); };
    if (!llvm::all_of(op->getOperands(), isWhole) || !isWhole(op->getResult(0)))
      return;
    emit::GraphBuilder g(op);
    for (mlir::OpOperand &x : op->getOpOperands())
      x.set(g.convert(x.get(), narrow));
  });
}

} // namespace glia::graph
