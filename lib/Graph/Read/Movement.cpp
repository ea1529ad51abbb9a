// The generated classes of include/glia/Graph/Movement.td, compiled on their own.
#include "Format.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "glia/Graph/Movement.cpp.inc"

namespace glia::graph {

void GraphDialect::addMovementOps() {
  addOperations<
#define GET_OP_LIST
#include "glia/Graph/Movement.cpp.inc"
      >();
}

} // namespace glia::graph
