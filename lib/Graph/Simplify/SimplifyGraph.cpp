#include "SimplifyGraph.h"
#include "Graph/Decompose/DecomposeBatchNorm.h"
#include "Graph/Decompose/DecomposeCollectives.h"
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
#include "FoldSigns.h"
#include "FoldTables.h"
#include "FoldTranspose.h"
#include "InlineCalls.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "Graph/Decompose/NumberRanks.h"
#include "Graph/Decompose/PairSends.h"
#include "NarrowTypes.h"
#include "OwnConstants.h"
#include "SimplifyIdentities.h"
#include "Graph/Analysis/SmallAngles.h"
#include "RemoveEmpty.h"
#include "ScanLoops.h"
#include "Graph/Decompose/SplitComplex.h"
#include "Graph/Decompose/SplitWords.h"
#include "UnrollLoops.h"
#include "WidenSmallIntegers.h"
#include "glia/Lower/Family.h"
#include "glia/Support/Diagnostic.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace glia::emit {

namespace {

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
    {"widen small integers", widenSmallIntegers},
    {"pair sends", pairSends},
    {"fold devices", foldDevices},
    {"number ranks", numberRanks},
    {"decompose collectives", decomposeCollectives},
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
    {"fold gelus", foldGelus},
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
    {"start windows apart", startWindowsApart},
    {"fold logistics", foldLogistics},
    {"fold softplus", foldSoftplus},
    {"fold signs", foldSigns},
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
