#include "Shrink.h"
#include "glia/Graph/Parse.h"
#include "glia/Support/Diagnostic.h"

#include "mlir/IR/Verifier.h"

#include <algorithm>

namespace glia::graphs {

namespace {

mlir::Block &bodyOf(graph::Graph &g) { return g.main().getBody().front(); }

void setType(mlir::func::FuncOp main) {
  mlir::Block &b = main.getBody().front();
  main.setType(mlir::FunctionType::get(main.getContext(), b.getArgumentTypes(), b.getTerminator()->getOperandTypes()));
  main.setAllArgAttrs(llvm::ArrayRef<mlir::DictionaryAttr>{});
  main.setAllResultAttrs(llvm::ArrayRef<mlir::DictionaryAttr>{});
}

void dropDead(graph::Graph &g) {
  mlir::Block &b = bodyOf(g);
  for (auto it = b.rbegin(); it != b.rend();) {
    mlir::Operation *op = &*it++;
    if (op->use_empty() && !op->hasTrait<mlir::OpTrait::IsTerminator>())
      op->erase();
  }
  std::vector<mlir::func::FuncOp> functions(g.module->getOps<mlir::func::FuncOp>().begin(),
                                            g.module->getOps<mlir::func::FuncOp>().end());
  for (mlir::func::FuncOp f : functions)
    if (f != g.main() && mlir::SymbolTable::symbolKnownUseEmpty(f, *g.module))
      f.erase();
}

class Shrinker {
public:
  Shrinker(std::string text, std::string target, const Verdict &verdict, int attempts)
      : best(std::move(text)), target(std::move(target)), verdict(verdict), attempts(attempts) {}

  std::string run() {
    for (bool changed = true; changed && attempts > 0;) {
      changed = each([](graph::Graph &g) { return bodyOf(g).getTerminator()->getNumOperands(); }, dropResult);
      changed |= each([](graph::Graph &g) { return operationsOf(g).size(); }, replaceByArgument);
      changed |= each([](graph::Graph &g) { return operationsOf(g).size(); }, replaceByOperand);
      changed |= each([](graph::Graph &g) { return bodyOf(g).getNumArguments(); }, dropArgument);
    }
    return best;
  }

private:
  std::string best, target;
  const Verdict &verdict;
  int attempts;

  static std::vector<mlir::Operation *> operationsOf(graph::Graph &g) {
    std::vector<mlir::Operation *> out;
    for (mlir::Operation &op : bodyOf(g).without_terminator())
      out.push_back(&op);
    return out;
  }

  // Tries a change at each place, from the last to the first.
  template <class Count, class Change> bool each(Count count, Change change) {
    bool changed = false;
    graph::Graph first = graph::parseGraph(best, "graph.mlir");
    for (size_t i = count(first); i-- > 0 && attempts > 0;) {
      graph::Graph g = graph::parseGraph(best, "graph.mlir");
      if (i >= count(g) || !change(g, i))
        continue;
      dropDead(g);
      setType(g.main());
      if (mlir::failed(mlir::verify(*g.module)))
        continue;
      --attempts;
      const std::string text = g.text();
      if (check(text, target).same(verdict)) {
        best = text;
        changed = true;
      }
    }
    return changed;
  }

  static bool dropResult(graph::Graph &g, size_t i) {
    mlir::Operation *end = bodyOf(g).getTerminator();
    if (end->getNumOperands() < 2)
      return false;
    end->eraseOperand(static_cast<unsigned>(i));
    return true;
  }

  static bool replaceByArgument(graph::Graph &g, size_t i) {
    mlir::Operation *op = operationsOf(g)[i];
    if (op->getName().getStringRef() == "stablehlo.constant")
      return false;
    const bool returned =
        llvm::any_of(op->getUsers(), [](mlir::Operation *u) { return u->hasTrait<mlir::OpTrait::IsTerminator>(); });
    if (returned && bodyOf(g).getTerminator()->getNumOperands() == 1)
      return false;
    for (mlir::Value v : op->getResults())
      if (!v.use_empty())
        v.replaceAllUsesWith(bodyOf(g).addArgument(v.getType(), op->getLoc()));
    return true;
  }

  static bool replaceByOperand(graph::Graph &g, size_t i) {
    mlir::Operation *op = operationsOf(g)[i];
    if (op->getNumResults() != 1)
      return false;
    for (mlir::Value v : op->getOperands())
      if (v.getType() == op->getResult(0).getType()) {
        op->getResult(0).replaceAllUsesWith(v);
        return true;
      }
    return false;
  }

  static bool dropArgument(graph::Graph &g, size_t i) {
    mlir::Block &b = bodyOf(g);
    if (!b.getArgument(static_cast<unsigned>(i)).use_empty())
      return false;
    b.eraseArgument(static_cast<unsigned>(i));
    return true;
  }
};

} // namespace

std::string shrink(const std::string &text, const std::string &target, const Verdict &verdict, int attempts) {
  return Shrinker(text, target, verdict, attempts).run();
}

} // namespace glia::graphs
