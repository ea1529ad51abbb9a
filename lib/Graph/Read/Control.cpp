// The generated classes of include/glia/Graph/Control.td, compiled on their own.
#include "Format.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "glia/Graph/Control.cpp.inc"

namespace glia::graph {

void GraphDialect::addControlOps() {
  addOperations<
#define GET_OP_LIST
#include "glia/Graph/Control.cpp.inc"
      >();
}

} // namespace glia::graph
