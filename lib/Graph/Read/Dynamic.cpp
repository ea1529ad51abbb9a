// The generated classes of include/glia/Graph/Dynamic.td, compiled on their own.
#include "Format.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "glia/Graph/Dynamic.cpp.inc"

namespace glia::graph {

void GraphDialect::addDynamicOps() {
  addOperations<
#define GET_OP_LIST
#include "glia/Graph/Dynamic.cpp.inc"
      >();
}

} // namespace glia::graph
