#include "SimplifyGraph.h"
#include "Graph/Decompose/DecomposeBatchNorm.h"
#include "Graph/Decompose/DecomposeConvolution.h"
#include "Graph/Decompose/DecomposeChlo.h"
#include "Graph/Decompose/DecomposeDot.h"
#include "Graph/Decompose/DecomposeFourier.h"
#include "Graph/Decompose/DecomposeIntegerDot.h"
#include "Graph/Decompose/DecomposeLinalg.h"
#include "Graph/Decompose/DecomposeRandom.h"
#include "Graph/Decompose/DecomposeReduce.h"
#include "Graph/Decompose/DecomposeScatter.h"
#include "Graph/Decompose/DecomposeSort.h"
#include "Graph/Decompose/DecomposeWide.h"
#include "Graph/Decompose/DecomposeWindows.h"
#include "FactorCubes.h"
#include "FoldConstants.h"
#include "FoldDevices.h"
#include "FoldDynamic.h"
#include "FoldLogistic.h"
#include "FoldReverse.h"
#include "FoldScans.h"
#include "FoldTranspose.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "NarrowTypes.h"
#include "OwnConstants.h"
#include "SimplifyIdentities.h"
#include "Graph/Analysis/SmallAngles.h"
#include "RemoveEmpty.h"
#include "ScanLoops.h"
#include "Graph/Decompose/SplitComplex.h"
#include "Graph/Decompose/SplitWords.h"
#include "UnrollLoops.h"
#include "glia/Lower/Family.h"
#include "glia/Support/Diagnostic.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace glia::emit {

namespace {

[[noreturn]] void fail(mlir::Operation *op, const char *code, std::string message, std::string advice) {
  const nisa::Origin o = nisa::originOf(op->getLoc());
  throw Error(code, std::move(message), std::move(advice), {o.file, o.line, 0});
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
  if (opName(op) == "composite")
    if (auto symbol = op->getAttrOfType<mlir::FlatSymbolRefAttr>("decomposition"))
      return symbol.getValue();
  return {};
}

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

void eraseUnused(mlir::func::FuncOp main) {
  std::vector<mlir::Operation *> all = programOps(main); // users stand behind
  for (mlir::Operation *op : llvm::reverse(all))
    if (op->use_empty() && mlir::isMemoryEffectFree(op))
      op->erase();
}

void mergeEqual(mlir::func::FuncOp main) {
  mlir::PassManager passes(main.getContext(), main.getOperationName());
  passes.addPass(mlir::createCSEPass());
  if (mlir::failed(passes.run(main)))
    throw std::runtime_error("simplification left an invalid graph");
}

struct Rewrite {
  std::string_view name;
  void (*run)(mlir::func::FuncOp main);
};
constexpr Rewrite kRewrites[] = {
    {kInlined, inlineCalls},
    {"own constants", ownConstants},
    {"fold devices", foldDevices},
    {"fold dynamic", foldDynamic},
    {"decompose linear algebra", decomposeLinalg},
    {"decompose Fourier transforms", decomposeFourier},
    {"split complex", splitComplex},
    {"scan loops", scanLoops},
    {"unroll loops", unrollLoops},
    {"remove empty", removeEmpty},
    {"fold scans", foldScans},
    {"decompose reductions", decomposeReductions},
    {"decompose windows", decomposeWindows},
    {"decompose scatters", decomposeScatters},
    {"decompose batch norms", decomposeBatchNorms},
    {"decompose dots", decomposeDots},
    {"fold kernel reverses", foldKernelReverses},
    {"decompose convolutions", decomposeConvolutions},
    {"decompose random", decomposeRandom},
    {"decompose functions", decomposeFunctions},
    {"decompose bits", decomposeBits},
    {"fold constants", foldConstants},
    {"simplify identities", simplifyIdentities},
    {"erase unused", eraseUnused}, // what nobody uses may have any type
    {"decompose wide sorts", decomposeWideSorts},
    {"decompose wide integers", decomposeWide},
    {"split words", splitWords},
    {"narrow types", narrowTypes},
    {"decompose sorts", decomposeSorts},
    {"decompose narrowed reductions", decomposeReductions}, // of what was too wide before
    {"decompose narrowed bits", decomposeBits},
    {"decompose integer dots", decomposeIntegerDots},
    {"fold narrowed constants", foldConstants},
    {"simplify narrowed identities", simplifyIdentities},
    {"fold logistics", foldLogistics},
    {"factor cubes", factorCubes},
    {kRewritten, foldTransposes},
    {"merge equal", mergeEqual},
    {"erase unused at the end", eraseUnused},
};

} // namespace

mlir::func::FuncOp simplifyGraph(mlir::ModuleOp module, const RewriteHook &after) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  if (!main || main.isExternal())
    throw Error("GRAPH-MAIN", "the module has no function `main`", "Name the function to compile `main`.");
  for (const Rewrite &r : kRewrites) {
    r.run(main);
    if (after)
      after(r.name, main);
  }
  markSmallAngles(main);
  return main;
}

} // namespace glia::emit

std::vector<std::string_view> glia::graphRewrites() {
  std::vector<std::string_view> out;
  for (const emit::Rewrite &r : emit::kRewrites)
    out.push_back(r.name);
  return out;
}
