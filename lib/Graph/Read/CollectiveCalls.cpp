#include "CollectiveCalls.h"
#include "glia/Graph/Graph.h"

#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;

namespace glia::graph {

static constexpr llvm::StringLiteral kTarget = "glia.collective";

static bool isCollective(StringRef name) {
  return llvm::is_contained({AllReduceOp::getOperationName(), AllGatherOp::getOperationName(),
                             ReduceScatterOp::getOperationName(), AllToAllOp::getOperationName(),
                             CollectiveBroadcastOp::getOperationName(), CollectivePermuteOp::getOperationName()},
                            name);
}

// The region of a reduction by the operation `name`.
static void addReducer(OperationState &state, StringRef name, Type input) {
  const auto scalar = RankedTensorType::get({}, cast<RankedTensorType>(input).getElementType());
  OpBuilder b(state.getContext());
  Block *const block = b.createBlock(state.addRegion());
  block->addArguments({scalar, scalar}, {state.location, state.location});
  OperationState inner(state.location, name, block->getArguments(), TypeRange(scalar));
  ReturnOp::create(b, state.location, b.create(inner)->getResults());
}

static void write(CustomCallOp call) {
  const auto text = dyn_cast_or_null<StringAttr>(call->getAttr("backend_config"));
  const auto said =
      text ? dyn_cast_or_null<DictionaryAttr>(parseAttribute(text.getValue(), call.getContext())) : DictionaryAttr();
  const auto name = said ? said.getAs<StringAttr>("op") : StringAttr();
  const auto applied = said ? said.getAs<StringAttr>("applies") : StringAttr();
  if (!name || !isCollective(name.getValue()) || call->getNumOperands() != 1 ||
      (applied && !OperationName(applied.getValue(), call.getContext()).isRegistered())) {
    call.emitError("a call of @glia.collective has one operand, and names a collective in its backend_config");
    return;
  }
  OperationState state(call.getLoc(), name.getValue(), call->getOperands(), call->getResultTypes());
  for (const NamedAttribute a : said)
    if (a.getName() != "op" && a.getName() != "applies")
      state.addAttribute(a.getName(), a.getValue());
  if (applied)
    addReducer(state, applied.getValue(), call->getOperand(0).getType());
  if (failed(state.name.verifyInherentAttrs(state.attributes, [&] { return call.emitError(); })))
    return;
  call->replaceAllUsesWith(OpBuilder(call).create(state));
  call.erase();
}

void writeCollectiveCalls(ModuleOp module) {
  std::vector<CustomCallOp> calls;
  module.walk([&](CustomCallOp call) {
    if (call.getCallTargetName() == kTarget)
      calls.push_back(call);
  });
  for (const CustomCallOp call : calls)
    write(call);
}

} // namespace glia::graph
