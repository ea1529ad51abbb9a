// The kernel IR: dialect `nisa`. One op per machine instruction (Instruction.h) and the few ops that hold them together.
#pragma once
#include "glia/ISA/Instruction.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ExtensibleDialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/RegionKindInterface.h"

#include "glia/Dialect/NisaDialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "glia/Dialect/NisaTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "glia/Dialect/NisaAttrs.h.inc"
namespace glia::nisa {
class CoreOp;
class LoopOp;
class WhileOp;
} // namespace glia::nisa
#define GET_OP_CLASSES
#include "glia/Dialect/NisaOps.h.inc"
