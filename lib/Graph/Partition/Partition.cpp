#include "glia/Graph/Partition.h"
#include "Graph/Read/Sharding.h"
#include "Graph/Simplify/InlineCalls.h"
#include "MergeSums.h"
#include "Partitioner.h"
#include "StringShardings.h"
#include "glia/Support/Diagnostic.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace glia {

using namespace partition;

namespace {

std::vector<int64_t> shapeOf(Type type) {
  const auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? std::vector<int64_t>(tensor.getShape()) : std::vector<int64_t>();
}

// Of a graph that says nothing of shardings: each rank has its own. But partitions that do not even exchange anything all do the same.
Placement unsaidPlacement(Type type, const Mesh &mesh, bool same) {
  Placement p{shapeOf(type), shapeOf(type), {}, {}};
  if (same) {
    p.start.assign(static_cast<size_t>(mesh.partitions), std::vector<int64_t>(p.globalShape.size(), 0));
    p.hlo = "{replicated}";
  }
  return p;
}

Placement placementOf(Type type, const Layout &layout, const Mesh &mesh) {
  Placement p{shapeOf(type), shapeOf(mesh.localType(type, layout)), {}, mesh.hlo(layout)};
  for (int64_t rank = 0; rank < mesh.replicas * mesh.partitions; ++rank) {
    std::vector<int64_t> &start = p.start.emplace_back();
    for (size_t d = 0; d < p.localShape.size(); ++d)
      start.push_back(mesh.indexOf(rank % mesh.partitions, layout.dims[d]) * p.localShape[d]);
  }
  return p;
}

bool isSharded(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        auto f = dyn_cast<func::FuncOp>(op);
        const auto says = [](ArrayAttr lists) {
          return lists && llvm::any_of(lists.getAsRange<DictionaryAttr>(),
                                       [](DictionaryAttr d) { return d.contains("sdy.sharding"); });
        };
        const bool found = graph::isShardingOperation(op) || op->hasAttr("sdy.sharding") ||
                           (f && (says(f.getArgAttrsAttr()) || says(f.getResAttrsAttr())));
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

// What `main` does not reach, and what only said where values are.
void eraseRest(ModuleOp module, func::FuncOp main) {
  for (bool again = true; again;) {
    again = false;
    for (Operation &op : llvm::make_early_inc_range(module.getOps())) {
      auto f = dyn_cast<func::FuncOp>(op);
      if (!f || f == main || !SymbolTable::symbolKnownUseEmpty(f, module))
        continue;
      op.erase();
      again = true;
    }
  }
  graph::dropShardings(module);
}

// An argument is given away for a result of its own type only.
void dropUnlikeAliases(func::FuncOp main) {
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (const auto to = main.getArgAttrOfType<IntegerAttr>(i, "tf.aliasing_output"))
      if (to.getInt() < 0 || to.getInt() >= main.getNumResults() ||
          main.getResultTypes()[static_cast<unsigned>(to.getInt())] != main.getArgumentTypes()[i])
        main.removeArgAttr(i, "tf.aliasing_output");
}

} // namespace

PartitionedGraph partitionGraph(ModuleOp module, const PartitionOptions &options) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal())
    throw Error("GRAPH-MAIN", "the module has no function `main`", "Name the function to compile `main`.");
  readStringShardings(module);
  const Mesh mesh(module);
  PartitionedGraph out;
  out.ranks = static_cast<int>(mesh.replicas * mesh.partitions);
  emit::inlineCalls(main);
  if (!isSharded(module)) {
    eraseRest(module, main);
    const bool exchanges =
        main.walk([](Operation *op) { return speaksOfDevices(op) ? WalkResult::interrupt() : WalkResult::advance(); })
            .wasInterrupted();
    const bool same = mesh.replicas == 1 && !exchanges;
    for (const Type t : main.getArgumentTypes())
      out.arguments.push_back(unsaidPlacement(t, mesh, same));
    for (const Type t : main.getResultTypes())
      out.results.push_back(unsaidPlacement(t, mesh, same));
    return out;
  }
  const Layouts layouts(main, mesh);
  for (const BlockArgument a : main.getArguments())
    out.arguments.push_back(placementOf(a.getType(), layouts.of(a), mesh));
  for (const auto [i, t] : llvm::enumerate(main.getResultTypes()))
    out.results.push_back(placementOf(t, layouts.result(static_cast<unsigned>(i)), mesh));
  Partitioner(main, mesh, layouts, options, out.warnings).run();
  mergeSums(main);
  eraseRest(module, main);
  dropUnlikeAliases(main);
  if (failed(verify(module)))
    throw std::runtime_error("partitioning left an invalid graph");
  return out;
}

void insertShardingDialect(DialectRegistry &registry) { registry.insert<graph::ShardingDialect>(); }

} // namespace glia
