// The rules of operations that look up, contract, reduce or order elements.
#pragma once
#include "Rule.h"

namespace glia::partition {

Rule gatherRule(mlir::Operation *op);
Rule scatterRule(mlir::Operation *op);
Rule dotGeneralRule(mlir::Operation *op);
Rule dotRule(mlir::Operation *op);
Rule convolutionRule(mlir::Operation *op);
Rule reduceRule(mlir::Operation *op);
Rule sortRule(mlir::Operation *op);
Rule topKRule(mlir::Operation *op);
Rule reduceWindowRule(mlir::Operation *op);
Rule selectAndScatterRule(mlir::Operation *op);
Rule matricesRule(mlir::Operation *op);
Rule fftRule(mlir::Operation *op);

} // namespace glia::partition
