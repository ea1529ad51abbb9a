// The dialects `stablehlo` and `chlo`: types, attributes, enums.
#include "Format.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "glia/Graph/BaseDialect.cpp.inc"
#include "glia/Graph/BaseEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "glia/Graph/BaseTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "glia/Graph/BaseAttrs.cpp.inc"

namespace glia::graph {

void GraphDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "glia/Graph/BaseTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "glia/Graph/BaseAttrs.cpp.inc"
      >();
  addElementwiseOps();
  addMovementOps();
  addComputeOps();
  addControlOps();
  addCommunicationOps();
  addDynamicOps();
}

Operation *GraphDialect::materializeConstant(OpBuilder &b, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  return elements && elements.getType() == type ? ConstantOp::create(b, loc, elements) : nullptr;
}

// ---- ops with interfaces ----------------------------------------------------------------------------------------------------

void ConstantOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getOutput(), isa<IntegerType>(getOutput().getType().getElementType()) ? "c" : "cst");
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

void CustomCallOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  // JAX's mark of a value that its own simplifications keep does nothing.
  if (getHasSideEffect() && getCallTargetName() != "dce_sink")
    effects.emplace_back(MemoryEffects::Write::get());
}

} // namespace glia::graph
