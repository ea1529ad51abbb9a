#include "Checks.h"
#include "Sharding.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace glia::graph {

// ---- types ------------------------------------------------------------------------------------------------------------------

static constexpr uint64_t kMostBytes = uint64_t(1) << 40;
static constexpr unsigned kMostReports = 20; // of one code: a dynamic graph has one per operation

static bool isTooLarge(ShapedType type) {
  const Type e = type.getElementType();
  auto c = dyn_cast<ComplexType>(e);
  uint64_t bytes = c ? 16 : e.isIntOrFloat() ? (e.getIntOrFloatBitWidth() + 7) / 8 : 8;
  if (llvm::is_contained(type.getShape(), 0))
    return false;
  for (int64_t d : type.getShape())
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(d), &bytes) || bytes > kMostBytes)
      return true;
  return false;
}

// The code under which a type is refused; empty when it is not.
static StringRef refusal(Type type) {
  if (auto tuple = dyn_cast<TupleType>(type)) {
    for (Type t : tuple.getTypes())
      if (StringRef code = refusal(t); !code.empty())
        return code;
    return {};
  }
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped)
    return {};
  if (!shaped.hasStaticShape())
    return "GRAPH-DYNAMIC";
  return isTooLarge(shaped) ? "GRAPH-SIZE" : "";
}

namespace {
class TypeWalk {
public:
  explicit TypeWalk(Report r) : report(r) {}
  // The first of these types that is refused is reported.
  void look(TypeRange types, Location at, const Twine &what) {
    for (Type t : types) {
      const StringRef code = refusal(t);
      if (code.empty())
        continue;
      const unsigned n = ++count[code];
      std::string text;
      llvm::raw_string_ostream(text) << t;
      const Twine why = code == "GRAPH-SIZE" ? " needs more than 2^40 bytes"
                                             : " has a dynamic shape, and only static shapes are supported";
      if (n <= kMostReports)
        report(code, at, what + ": " + text + why);
      return;
    }
  }
  void rest(Location at) {
    for (auto &[code, n] : count)
      if (n > kMostReports)
        report(code, at, "and " + Twine(n - kMostReports) + " more");
  }

private:
  Report report;
  llvm::MapVector<StringRef, unsigned> count;
};
} // namespace

// What ends a computation for parts ends nothing else.
static bool isAtItsPlace(Operation *op) {
  Operation *around = op->getParentOp();
  return op->getName().getStringRef() != "sdy.return" ||
         (around && around->getName().getStringRef() == "sdy.manual_computation");
}

void refuseByName(ModuleOp module, Report report) {
  TypeWalk walk(report);
  const bool partitions = hasPartitions(module);
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto f = dyn_cast<func::FuncOp>(op)) {
      if (auto type = f->getAttrOfType<TypeAttr>("function_type"))
        if (auto function = dyn_cast<FunctionType>(type.getValue())) {
          walk.look(function.getInputs(), f.getLoc(), "argument of a function");
          walk.look(function.getResults(), f.getLoc(), "result of a function");
        }
      return;
    }
    if (op->getName().getStringRef() == "sdy.manual_computation" && !partitions)
      report("GRAPH-DEVICES", op->getLoc(),
             "the operation 'sdy.manual_computation' divides the graph among several devices");
    else if (!op->isRegistered() && !(isShardingOperation(op) && partitions && isAtItsPlace(op)))
      report("GRAPH-OPERATION", op->getLoc(), "unknown operation '" + op->getName().getStringRef() + "'");
    walk.look(op->getResultTypes(), op->getLoc(), "result of " + op->getName().getStringRef());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        walk.look(block.getArgumentTypes(), op->getLoc(), "argument in a region of " + op->getName().getStringRef());
  });
  walk.rest(module.getLoc());
}

// ---- calls ------------------------------------------------------------------------------------------------------------------

namespace {
class CallGraph {
public:
  CallGraph(ModuleOp m, Report r) : module(m), symbols(m), report(r) {}
  void build();
  void findCycles();

private:
  void visit(Operation *op, SmallVectorImpl<func::FuncOp> &callees);
  void reportCycle(ArrayRef<func::FuncOp> path, func::FuncOp again);

  ModuleOp module;
  SymbolTable symbols;
  Report report;
  llvm::MapVector<Operation *, SmallVector<func::FuncOp>> calls;
};
} // namespace

void CallGraph::visit(Operation *op, SmallVectorImpl<func::FuncOp> &callees) {
  auto add = [&](FlatSymbolRefAttr name) {
    auto f = symbols.lookup<func::FuncOp>(name.getAttr());
    if (f)
      callees.push_back(f);
    return f;
  };
  if (auto call = dyn_cast<func::CallOp>(op)) {
    add(call.getCalleeAttr());
  } else if (auto custom = dyn_cast<CustomCallOp>(op)) {
    for (auto name : custom.getCalledComputations().getAsRange<FlatSymbolRefAttr>())
      add(name);
  } else if (auto composite = dyn_cast<CompositeOp>(op)) {
    auto f = add(composite.getDecompositionAttr());
    if (!f)
      report("GRAPH-SYNTAX", op->getLoc(), "there is no function @" + composite.getDecomposition());
    else if (f.getArgumentTypes() != op->getOperandTypes() || f.getResultTypes() != op->getResultTypes())
      report("GRAPH-SYNTAX", op->getLoc(), "the function @" + composite.getDecomposition() + " has another type");
  }
}

void CallGraph::build() {
  for (Operation &op : *module.getBody()) {
    auto f = dyn_cast<func::FuncOp>(op);
    if (op.getName().getStringRef() == "sdy.mesh" && !op.getNumRegions())
      continue;
    if (!f) {
      report("GRAPH-SYNTAX", op.getLoc(), "a graph consists of functions, found " + op.getName().getStringRef());
      continue;
    }
    if (f.isExternal())
      report("GRAPH-SYNTAX", op.getLoc(), "the function @" + f.getName() + " has no body");
    else if (!f.getBody().hasOneBlock())
      report("GRAPH-SYNTAX", op.getLoc(), "the function @" + f.getName() + " has several blocks");
    auto &callees = calls[f];
    f.walk([&](Operation *inner) {
      if (inner != f && isa<func::FuncOp, ModuleOp>(inner))
        report("GRAPH-SYNTAX", inner->getLoc(), "functions must not be nested");
      visit(inner, callees);
    });
  }
}

void CallGraph::reportCycle(ArrayRef<func::FuncOp> path, func::FuncOp again) {
  std::string names;
  const auto *from = llvm::find(path, again);
  for (func::FuncOp f : llvm::make_range(from, path.end()))
    names += "@" + f.getName().str() + " calls ";
  report("GRAPH-RECURSION", again.getLoc(), "recursion is not supported: " + names + "@" + again.getName());
}

// Depth first, without recursion of our own: chains of calls can be long.
void CallGraph::findCycles() {
  llvm::DenseMap<Operation *, bool> open; // true while on the path, false when done
  for (auto &[root, unused] : calls) {
    if (open.contains(root))
      continue;
    SmallVector<func::FuncOp> path{cast<func::FuncOp>(root)};
    SmallVector<size_t> next{0};
    open[root] = true;
    while (!path.empty()) {
      const auto found = calls.find(path.back());
      if (found == calls.end() || next.back() == found->second.size()) {
        open[path.back()] = false;
        path.pop_back();
        next.pop_back();
        continue;
      }
      func::FuncOp callee = found->second[next.back()++];
      auto [state, fresh] = open.try_emplace(callee, true);
      if (fresh) {
        path.push_back(callee);
        next.push_back(0);
      } else if (state->second) {
        reportCycle(path, callee);
      }
    }
  }
}

void checkCalls(ModuleOp module, Report report) {
  CallGraph graph(module, report);
  graph.build();
  graph.findCycles();
}

} // namespace glia::graph
