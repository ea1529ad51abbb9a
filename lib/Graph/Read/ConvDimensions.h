// The dimension numbers of convolutions as three lists.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::graph {

// Whether each side names every dimension once; only then the three lists can say it.
bool isPlainConv(ConvDimensionNumbersAttr attribute);
mlir::ParseResult parseConvLists(mlir::AsmParser &p, ConvDimensionNumbersAttr &attribute);
void printConvLists(mlir::AsmPrinter &p, ConvDimensionNumbersAttr attribute);

} // namespace glia::graph
