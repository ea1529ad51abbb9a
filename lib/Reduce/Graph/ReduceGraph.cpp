#include "glia/Reduce/ReduceGraph.h"
#include "EditBodies.h"
#include "ShrinkDimensions.h"
#include "glia/Graph/Parse.h"

#include "mlir/IR/Verifier.h"

#include <algorithm>
#include <optional>
#include <set>

namespace glia::reduce {

namespace {

class GraphReducer {
public:
  GraphReducer(Search &search, Bodies bodies)
      : search(search), g(graph::parseGraph(search.current(), "graph.mlir")),
        allowed(bodies == Bodies::Kept ? std::optional(bodiesOf(*g.module)) : std::nullopt) {}

  void run() {
    attempt([](mlir::ModuleOp) { return true; }); // without what nothing uses
    attempt(dropAttributes);
    attempt(inlineAll);
    each(takeRegion, kMostChoices); // while all of their results are read
    firstPart();
    rounds();
    dropsArguments = false; // a command may count them
    rounds();
  }

private:
  using Change = std::function<bool(mlir::ModuleOp)>;
  Search &search;
  graph::Graph g; // search.current()
  bool dropsArguments = true;
  static constexpr size_t kMostChoices = 8;     // operands, branches
  std::optional<std::set<std::string>> allowed; // bodies; nullopt: any

  void rounds() {
    for (bool changed = true; changed && !search.spent();) {
      changed = results();
      changed |= cuts(Where::Main);
      changed |= cuts(Where::Inner);
      changed |= singles();
      changed |= sizes();
    }
  }

  bool attempt(const Change &change) {
    if (search.spent())
      return false;
    try {
      const std::string text = changed(change);
      if (text.empty())
        return false;
      graph::Graph next = graph::parseGraph(text, "graph.mlir");
      if (!search.offer(text))
        return false;
      g.module = {}; // before its context
      g = std::move(next);
      return true;
    } catch (const Error &) { // the reader does not take it
      return false;
    }
  }

  // The text of the graph with the change; empty if there is nothing to change, or it is no longer legal.
  std::string changed(const Change &change) {
    const mlir::OwningOpRef<mlir::ModuleOp> work(g.module->clone());
    const mlir::ScopedDiagnosticHandler quiet(g.context.get(), [](mlir::Diagnostic &) { return mlir::success(); });
    if (!change(*work))
      return {};
    tidy(*work, dropsArguments);
    if (mlir::failed(mlir::verify(*work)))
      return {};
    if (allowed && !std::ranges::includes(*allowed, bodiesOf(*work)))
      return {};
    std::string text;
    llvm::raw_string_ostream(text) << *work;
    return text + "\n";
  }

  size_t operations() { return operationsOf(*g.module).size(); }
  size_t inMain() { return operationsIn(*g.module, Where::Main).size(); }

  // The shortest beginning that fails, with all that nothing in it reads as its results: a mistake is often in one place.
  void firstPart() {
    size_t low = 0;
    for (size_t high = inMain(); low + 1 < high && !search.spent();) {
      const size_t middle = (low + high) / 2;
      if (attempt([&](mlir::ModuleOp m) { return cut(m, Where::Main, middle, SIZE_MAX, true); }))
        high = std::min(middle, inMain());
      else
        low = middle;
    }
  }

  bool results() {
    return leaveOut(
        search, [&] { return g.main().getNumResults(); },
        [&](size_t from, size_t to) { return attempt([&](mlir::ModuleOp m) { return dropResults(m, from, to); }); });
  }

  bool cuts(Where where) {
    return leaveOut(
        search, [&] { return operationsIn(*g.module, where).size(); },
        [&](size_t from, size_t to) { return attempt([&](mlir::ModuleOp m) { return cut(m, where, from, to, false); }); });
  }

  // A change at each operation, from the last to the first, and each of the choices that it has there.
  bool each(bool (*change)(mlir::ModuleOp, size_t, size_t), size_t choices) {
    bool any = false;
    for (size_t i = operations(); i-- > 0 && !search.spent();)
      for (size_t c = 0; c < choices && i < operations(); ++c)
        any |= attempt([&](mlir::ModuleOp m) { return change(m, i, c); });
    return any;
  }

  bool singles() {
    bool any = each(takeRegion, kMostChoices);
    any |= each(dropCarried, 64);
    any |= each(reduceByOne, 3);
    any |= each([](mlir::ModuleOp m, size_t i, size_t) { return takeBody(m, i); }, 1);
    any |= each(replaceByOperand, kMostChoices);
    any |= each([](mlir::ModuleOp m, size_t i, size_t) { return constantToArgument(m, i); }, 1);
    any |= each([](mlir::ModuleOp m, size_t i, size_t) { return constantToSplat(m, i); }, 1);
    for (size_t i = g.main().getNumArguments(); i-- > 1;)
      for (size_t k = 0; k < i && i < g.main().getNumArguments(); ++k)
        any |= attempt([&](mlir::ModuleOp m) { return mergeArguments(m, i, k); });
    return any;
  }

  // The smallest size of each group of dimensions: 1, else 2, else 4 ...
  bool sizes() {
    bool any = false;
    for (size_t i = 0; i < dimensionGroups(*g.module).size() && !search.spent(); ++i)
      for (int64_t size = 1; size < dimensionGroups(*g.module)[i]; size *= 2)
        if (attempt([&](mlir::ModuleOp m) {
              resizeGroup(m, i, size);
              return true;
            })) {
          any = true;
          break;
        }
    return any;
  }
};

} // namespace

void reduceGraph(Search &search, Bodies bodies) { GraphReducer(search, bodies).run(); }

Size sizeOfGraph(const std::string &text) {
  graph::Graph g = graph::parseGraph(text, "graph.mlir");
  Size out{0, g.main().getNumArguments() + g.main().getNumResults(), text.size()};
  const auto count = [&](mlir::Value v) {
    if (const auto type = llvm::dyn_cast<mlir::RankedTensorType>(v.getType()))
      out.elements += static_cast<size_t>(type.getNumElements());
  };
  llvm::for_each(g.main().getArguments(), count);
  for (mlir::Operation *op : operationsOf(*g.module)) {
    ++out.parts;
    llvm::for_each(op->getResults(), count);
  }
  return out;
}

} // namespace glia::reduce
