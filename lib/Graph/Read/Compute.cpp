// The generated classes of include/glia/Graph/Compute.td, compiled on their own.
#include "Format.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "glia/Graph/Compute.cpp.inc"

namespace glia::graph {

void GraphDialect::addComputeOps() {
  addOperations<
#define GET_OP_LIST
#include "glia/Graph/Compute.cpp.inc"
      >();
}

} // namespace glia::graph
