#include "TupleCalls.h"
#include "glia/Graph/Graph.h"

using namespace mlir;

namespace glia::graph {

void splitTupleCalls(ModuleOp module) {
  std::vector<CustomCallOp> calls;
  module.walk([&](CustomCallOp call) {
    const auto tuple = call.getNumResults() == 1 ? dyn_cast<TupleType>(call.getResult(0).getType()) : TupleType();
    if (tuple && llvm::all_of(call->getUsers(), [](Operation *user) { return isa<GetTupleElementOp>(user); }))
      calls.push_back(call);
  });
  for (CustomCallOp call : calls) {
    OperationState state(call.getLoc(), call->getName(), call.getOperands(),
                         cast<TupleType>(call.getResult(0).getType()).getTypes(), call->getAttrs());
    Operation *const made = OpBuilder(call).create(state);
    for (Operation *user : llvm::make_early_inc_range(call->getUsers())) {
      auto part = cast<GetTupleElementOp>(user);
      part.replaceAllUsesWith(made->getResult(part.getIndex()));
      part.erase();
    }
    call.erase();
  }
}

} // namespace glia::graph
