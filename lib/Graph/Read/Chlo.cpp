// The dialect `chlo`.
#include "Format.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "glia/Graph/ChloDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "glia/Graph/ChloAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "glia/Graph/Chlo.cpp.inc"

namespace glia::graph::chlo {

void ChloDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "glia/Graph/ChloAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "glia/Graph/Chlo.cpp.inc"
      >();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

} // namespace glia::graph::chlo
