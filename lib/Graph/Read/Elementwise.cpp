// The generated classes of include/glia/Graph/Elementwise.td, compiled on their own.
#include "Format.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "glia/Graph/Elementwise.cpp.inc"

namespace glia::graph {

void GraphDialect::addElementwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "glia/Graph/Elementwise.cpp.inc"
      >();
}

} // namespace glia::graph
