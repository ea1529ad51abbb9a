// Contractions and convolutions read and write any order of dimensions: transposes next to them become part of their dimension numbers.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

void foldTransposes(mlir::func::FuncOp main);

} // namespace glia::emit
