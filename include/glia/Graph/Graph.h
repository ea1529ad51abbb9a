// The graph IR: dialects `stablehlo` (glia::graph) and `chlo` (glia::graph::chlo), read and printed in their public text form;
// functions are MLIR's own `func`. Accessors have the names of the public specification: op.getDotDimensionNumbers().
#pragma once
#include "glia/Graph/Support.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "glia/Graph/BaseDialect.h.inc"
#include "glia/Graph/BaseEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "glia/Graph/BaseTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "glia/Graph/BaseAttrs.h.inc"
#define GET_OP_CLASSES
#include "glia/Graph/Elementwise.h.inc"
#define GET_OP_CLASSES
#include "glia/Graph/Movement.h.inc"
#define GET_OP_CLASSES
#include "glia/Graph/Compute.h.inc"
#define GET_OP_CLASSES
#include "glia/Graph/Control.h.inc"
#define GET_OP_CLASSES
#include "glia/Graph/Communication.h.inc"
#define GET_OP_CLASSES
#include "glia/Graph/Dynamic.h.inc"

#include "glia/Graph/ChloDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "glia/Graph/ChloAttrs.h.inc"
#define GET_OP_CLASSES
#include "glia/Graph/Chlo.h.inc"

namespace glia::graph {

// The elements of a constant in row-major order, little-endian, i1 and narrower integers one byte each; a splat is repeated.
// Throws Error GRAPH-CONSTANT when there are no bytes for it, or more than memory can hold.
std::vector<uint8_t> constantBytes(mlir::ElementsAttr value);

} // namespace glia::graph
