#include "InlineCalls.h"
#include "Graph/Read/Place.h"

#include "mlir/IR/IRMapping.h"

namespace glia::emit {

namespace {

[[noreturn]] void fail(mlir::Operation *op, const char *code, std::string message, std::string advice) {
  throw Error(code, std::move(message), std::move(advice), graph::placeOf(op->getLoc()));
}

// Puts the body of `callee` where `call` stands.
void inlineInto(mlir::Operation *call, mlir::func::FuncOp callee) {
  mlir::IRMapping map;
  map.map(callee.getBody().getArguments(), call->getOperands());
  mlir::OpBuilder b(call);
  for (mlir::Operation &op : callee.getBody().front().without_terminator())
    b.clone(op, map)->walk([&](mlir::Operation *o) { // what says no line of its own is where the call is
      o->setLoc(mlir::CallSiteLoc::get(o->getLoc(), call->getLoc()));
    });
  mlir::Operation *end = callee.getBody().front().getTerminator();
  for (auto [result, value] : llvm::zip(call->getResults(), end->getOperands()))
    result.replaceAllUsesWith(map.lookupOrDefault(value));
  call->erase();
}

// The function behind a call or a composite; empty for other operations.
llvm::StringRef calleeOf(mlir::Operation *op) {
  if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op))
    return call.getCallee();
  if (llvm::isa<graph::CompositeOp>(op))
    if (auto symbol = op->getAttrOfType<mlir::FlatSymbolRefAttr>("decomposition"))
      return symbol.getValue();
  return {};
}

} // namespace

void inlineCalls(mlir::func::FuncOp main) {
  auto module = main->getParentOfType<mlir::ModuleOp>();
  constexpr size_t kMost = 1'000'000; // calls; beyond it something repeats for ever
  size_t inlined = 0;
  for (bool again = true; again;) {
    again = false;
    std::vector<mlir::Operation *> calls;
    main.walk([&](mlir::Operation *op) {
      if (!calleeOf(op).empty())
        calls.push_back(op);
    });
    for (mlir::Operation *op : calls) {
      auto callee = module.lookupSymbol<mlir::func::FuncOp>(calleeOf(op));
      if (!callee || callee.isExternal())
        fail(op, "GRAPH-CALL", "the function `" + calleeOf(op).str() + "` is not defined", "Define it in the same module.");
      if (callee == main || ++inlined > kMost)
        fail(op, "GRAPH-RECURSION", "the function `" + calleeOf(op).str() + "` calls itself",
             "Write the repetition as stablehlo.while.");
      inlineInto(op, callee);
      again = true;
    }
  }
}

} // namespace glia::emit
