#include "NumberRanks.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "glia/ISA/Collective.h"
#include "glia/Lower/Family.h"
#include "glia/Support/Diagnostic.h"

namespace glia::emit {

RankCounts rankCounts(mlir::ModuleOp module) {
  const auto count = [&](llvm::StringRef name) {
    const auto n = module->getAttrOfType<mlir::IntegerAttr>(name);
    const int64_t out = n ? n.getInt() : 1;
    if (out < 1 || out > kMostRanks)
      throw Error("GRAPH-RANKS", format("the module says %s = %lld", name.str().c_str(), (long long)out),
                  format("There are 1 to %d ranks.", kMostRanks));
    return out;
  };
  RankCounts out{count("mhlo.num_replicas"), count("mhlo.num_partitions")};
  if (out.ranks() > kMostRanks)
    throw Error("GRAPH-RANKS",
                format("%lld replicas of %lld partitions", (long long)out.replicas, (long long)out.partitions),
                format("There are 1 to %d ranks.", kMostRanks));
  return out;
}

void numberRanks(mlir::func::FuncOp main) {
  const RankCounts counts = rankCounts(main->getParentOfType<mlir::ModuleOp>());
  if (counts.ranks() == 1)
    return;
  mlir::Value rank;
  for (mlir::Operation *op : programOps(main)) {
    const llvm::StringRef name = opName(op);
    if (name != "partition_id" && name != "replica_id")
      continue;
    if (!rank) {
      const unsigned last = main.getNumArguments();
      mlir::OpBuilder b(main);
      if (mlir::failed(main.insertArgument(last, op->getResult(0).getType(),
                                           b.getDictionaryAttr(b.getNamedAttr(kRankArgument, b.getUnitAttr())),
                                           main.getLoc())))
        throw std::runtime_error("the number of the rank cannot become an argument");
      rank = main.getArgument(last);
    }
    GraphBuilder g(op);
    const bool ofReplica = name == "replica_id";
    mlir::Value number = rank;
    if ((ofReplica ? counts.replicas : counts.partitions) == 1)
      number = g.number(0, op->getResult(0));
    else if (counts.replicas > 1 && counts.partitions > 1)
      number = g.binary(ofReplica ? "divide" : "remainder", rank, g.number(static_cast<double>(counts.partitions), rank));
    op->getResult(0).replaceAllUsesWith(number);
    op->erase();
  }
}

} // namespace glia::emit
