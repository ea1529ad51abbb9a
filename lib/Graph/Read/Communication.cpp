// The generated classes of include/glia/Graph/Communication.td, compiled on their own.
#include "Format.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "glia/Graph/Communication.cpp.inc"

namespace glia::graph {

void GraphDialect::addCommunicationOps() {
  addOperations<
#define GET_OP_LIST
#include "glia/Graph/Communication.cpp.inc"
      >();
}

} // namespace glia::graph
