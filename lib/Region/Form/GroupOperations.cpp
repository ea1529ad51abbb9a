// Forms groups: walks the operations in order and lets each join the group of one of its producers if the family agrees and no
// cycle of groups comes of it; otherwise it starts a group of its own. The group's family is asked, which need not be the operation's: a
// contraction takes what comes behind it. Groups of one family that meet in an operation become one.
// Reshapes, broadcasts and what is computed again belong to whoever reads them. Local and deterministic.
#include "ComputeAgain.h"
#include "Graph/Analysis/GraphFacts.h"
#include "GroupOrder.h"
#include "Graph/Analysis/Refusal.h"
#include "glia/Lower/Family.h"
#include "glia/Support/Diagnostic.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/IR/BuiltinTypes.h"

#include <algorithm>

namespace glia::emit {

bool Group::contains(mlir::Operation *op) const { return std::find(ops.begin(), ops.end(), op) != ops.end(); }

namespace {

// A group further from the end than this takes no more operations: what it made is no longer at hand, and the decision stays local.
constexpr size_t kReach = 256;

class Grouping {
public:
  std::vector<Group> run(mlir::Block &block, const Target *target) {
    body = &block;
    again = computedAgain(block);
    if (target)
      findSeeds(*target);
    for (mlir::Operation &op : body->without_terminator())
      place(&op);
    for (mlir::Value v : body->getTerminator()->getOperands())
      needInHbm(v);
    if (!refused.empty())
      throw Error(std::move(refused));
    return inOrder();
  }

private:
  using Ops = llvm::SetVector<mlir::Operation *>;

  mlir::Block *body = nullptr;
  llvm::DenseSet<mlir::Operation *> again;
  std::vector<Group> groups;
  GroupOrder order;
  llvm::DenseMap<mlir::Operation *, size_t> groupOf;                       // the group that gives an operation's results
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<size_t, 2>> writers; // every group that has the operation
  std::vector<Diagnostic> refused;
  llvm::DenseMap<mlir::Operation *, std::pair<const Family *, Seed>> seeds; // by the first result
  llvm::DenseSet<mlir::Operation *> inSeeds;                                // and nowhere else

  // Groups that families know as a whole.
  void findSeeds(const Target &target) {
    llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 2>>
        members; // and the first results of their seeds
    for (mlir::Operation &op : body->without_terminator()) {
      if (inSeeds.contains(&op)) // another result
        continue;
      for (const Family *f : families())
        if (Seed seed = f->seeds(&op, target); !seed.ops.empty()) {
          for (mlir::Operation *m : seed.ops)
            members[m].push_back(&op);
          for (mlir::Operation *r : seed.results)
            if (r != &op)
              inSeeds.insert(r);
          seeds[&op] = {f, std::move(seed)};
          break;
        }
    }
    if (seeds.empty())
      return;
    for (mlir::Operation &op : llvm::reverse(*body)) {
      const auto own = members.find(&op);
      if (own != members.end() && !seeds.contains(&op) && llvm::all_of(op.getUsers(), [&](mlir::Operation *u) {
            const auto theirs = members.find(u);
            return theirs != members.end() && isGiven(u) && llvm::all_of(theirs->second, [&](mlir::Operation *first) {
                     return llvm::is_contained(own->second, first);
                   });
          }))
        inSeeds.insert(&op);
    }
  }
  bool isGiven(mlir::Operation *op) const { return inSeeds.contains(op) || seeds.contains(op); }

  void put(const Family *family, const Seed &seed) {
    Ops all(seed.ops.begin(), seed.ops.end());
    llvm::SmallSetVector<size_t, 4> producers;
    for (mlir::Operation *op : seed.ops)
      for (mlir::Value v : readBy(op))
        if ((!v.getDefiningOp() || !all.contains(v.getDefiningOp())) && !(family->takesSplats(op) && splatOf(v))) {
          needInHbm(v);
          sources(v, producers);
        }
    const size_t g = order.add();
    groups.push_back(inProgramOrder(family, seed.ops, {}));
    own(g, {}, nullptr, producers.getArrayRef());
    for (mlir::Operation *op : seed.ops) {
      writers[op].push_back(g);
      if (isGiven(op))
        groupOf[op] = g;
    }
  }

  static const Family *familyOf(mlir::Operation *op, std::string &why) {
    for (const Family *f : families()) {
      const std::optional<std::string> answer = f->accepts(op);
      if (!answer)
        continue;
      if (answer->empty())
        return f;
      why = *answer;
    }
    return nullptr;
  }

  void refuse(mlir::Operation *op, const std::string &why) {
    const auto called = op->getAttrOfType<mlir::StringAttr>("call_target_name");
    refused.push_back(refusalAt(op->getLoc(), "GRAPH-UNSUPPORTED",
                                op->getName().getStringRef().str() + (called ? " @" + called.str() : "") +
                                    " cannot be lowered: " + (why.empty() ? "the operation is not supported" : why),
                                "docs/graph.md lists what can be lowered, and forms that work instead."));
  }

  static bool isEmpty(mlir::Operation *op) {
    return op->getNumResults() > 0 && llvm::all_of(op->getResults(), [](mlir::Value v) { return emit::isEmpty(v); });
  }
  static bool isSplat(mlir::Operation *op) { return op->getNumResults() == 1 && splatOf(op->getResult(0)); }

  bool repeats(mlir::Operation *op) const {
    if (again.contains(op))
      return true;
    std::string why;
    const Family *f = familyOf(op, why);
    return f && f->repeats(op);
  }

  // Written by whoever reads it.
  bool isLoose(mlir::Operation *op) const {
    return op && op->getBlock() == body && !groupOf.count(op) && !isSplat(op) && (isAlias(op) || repeats(op));
  }

  void place(mlir::Operation *op) {
    if (opName(op) == "constant" || isSplat(op) || isAlias(op))
      return; // part of whoever reads it
    if (isEmpty(op))
      return; // nothing to compute
    if (inSeeds.contains(op))
      return; // comes with the first result
    if (const auto it = seeds.find(op); it != seeds.end())
      return put(it->second.first, it->second.second);
    std::string why;
    const Family *family = familyOf(op, why);
    if (!family) {
      if (op->getNumResults() == 0 || !join(op))
        refuse(op, why);
    } else if (!repeats(op)) {
      put(op, family);
    }
  }

  // The value is read from HBM: something must have put it there.
  void needInHbm(mlir::Value v) {
    v = rootOf(v);
    mlir::Operation *op = v.getDefiningOp();
    if (!op || op->getBlock() != body || groupOf.count(op) || opName(op) == "constant" || isEmpty(op) ||
        !(isSplat(op) || repeats(op)))
      return;
    std::string why;
    if (const Family *family = familyOf(op, why))
      put(op, family);
    else
      refuse(op, why);
  }

  // Loose operations between values at hand and `v`: broadcasts, and the reshapes on the way from a group `g` or a broadcast.
  bool between(mlir::Value v, std::optional<size_t> g, Ops &out) const {
    mlir::Operation *op = v.getDefiningOp();
    if (!isLoose(op)) {
      const auto it = op ? groupOf.find(op) : groupOf.end();
      return g && it != groupOf.end() && it->second == *g;
    }
    bool wanted = !isAlias(op);
    for (mlir::Value o : op->getOperands())
      wanted |= between(isAlias(op) ? aliasOf(v) : o, g, out);
    if (wanted)
      out.insert(op);
    return wanted;
  }

  // The groups that values come from, through loose operations.
  void sources(mlir::Value v, llvm::SmallSetVector<size_t, 4> &out) const {
    mlir::Operation *op = v.getDefiningOp();
    if (!op)
      return;
    if (const auto it = groupOf.find(op); it != groupOf.end())
      out.insert(it->second);
    else if (isLoose(op))
      for (mlir::Value o : op->getOperands())
        sources(o, out);
  }

  static Group inProgramOrder(const Family *family, llvm::ArrayRef<mlir::Operation *> a,
                              llvm::ArrayRef<mlir::Operation *> b) {
    Ops all(a.begin(), a.end());
    all.insert(b.begin(), b.end());
    Group g{family, std::vector<mlir::Operation *>(all.begin(), all.end()), {}, {}};
    std::sort(g.ops.begin(), g.ops.end(), [](mlir::Operation *x, mlir::Operation *y) { return x->isBeforeInBlock(y); });
    return g;
  }

  void own(size_t g, llvm::ArrayRef<mlir::Operation *> loose, mlir::Operation *op, llvm::ArrayRef<size_t> producers) {
    for (mlir::Operation *l : loose)
      writers[l].push_back(g);
    if (op) {
      writers[op].push_back(g);
      groupOf[op] = g;
    }
    for (size_t p : producers)
      order.connect(g, p);
  }

  // Everything the operation reads is in HBM before it; what puts it there is a producer too.
  void putInHbm(mlir::Operation *op, llvm::SmallSetVector<size_t, 4> &producers) {
    for (mlir::Value v : readBy(op))
      needInHbm(v);
    for (mlir::Value v : readBy(op))
      sources(v, producers);
  }

  // Counts and broadcasts that somebody wants in HBM: others read them there. In one group with their readers they would be outputs of
  // another shape than the rest.
  bool isStored(size_t g) const {
    return llvm::all_of(groups[g].ops, [&](mlir::Operation *op) { return repeats(op); });
  }

  // Into the group of one of its producers, if there is one that takes it.
  bool join(mlir::Operation *op) {
    llvm::SmallSetVector<size_t, 4> producers;
    for (mlir::Value v : readBy(op))
      sources(v, producers);
    // The latest group first: it is the one whose values are still at hand.
    std::vector<size_t> candidates(producers.begin(), producers.end());
    std::sort(candidates.begin(), candidates.end(), std::greater<>());
    for (size_t g : candidates) {
      if (order.age(g) > kReach)
        continue;
      if (isStored(g))
        continue;
      const Family *host = groups[g].family; // an anchor takes operations of other families behind it
      // Another producer that itself reads from g would have to run between the group's own operations.
      const bool cycle =
          std::any_of(producers.begin(), producers.end(), [&](size_t p) { return p != g && order.reads(p, g); });
      Ops loose;
      for (mlir::Value v : readBy(op))
        between(v, g, loose);
      const Group trial = inProgramOrder(host, groups[g].ops, loose.getArrayRef());
      if (cycle || !host->joins(trial, op))
        continue;
      if (!host->takesSplats(op))
        putInHbm(op, producers);
      llvm::SmallVector<mlir::Operation *> fresh;
      for (mlir::Operation *l : loose)
        if (!groups[g].contains(l))
          fresh.push_back(l);
      groups[g] = inProgramOrder(host, trial.ops, {op});
      own(g, fresh, op, producers.getArrayRef());
      for (size_t p : candidates)
        if (p != g)
          merge(g, p);
      return true;
    }
    return false;
  }

  void put(mlir::Operation *op, const Family *family) {
    if (join(op))
      return;
    llvm::SmallSetVector<size_t, 4> producers;
    for (mlir::Value v : readBy(op))
      sources(v, producers);
    Ops loose;
    for (mlir::Value v : readBy(op))
      between(v, std::nullopt, loose);
    if (!loose.empty() && !family->joins(inProgramOrder(family, loose.getArrayRef(), {}), op)) {
      loose.clear();
      putInHbm(op, producers);
    }
    if (!family->takesSplats(op))
      putInHbm(op, producers);
    const size_t g = order.add();
    groups.push_back(inProgramOrder(family, loose.getArrayRef(), {op}));
    own(g, loose.getArrayRef(), op, producers.getArrayRef());
  }

  // Two groups of a family become one if nothing has to run between them and the family agrees.
  void merge(size_t g, size_t p) {
    if (groups[p].family != groups[g].family || groups[p].ops.empty() || order.age(p) > kReach || isStored(p))
      return;
    if (order.readsAround(g, p) || order.readsAround(p, g))
      return;
    Group both = inProgramOrder(groups[g].family, groups[g].ops, groups[p].ops);
    Ops loose; // what one of them read of the other through reshapes is inside now
    for (mlir::Operation *op : both.ops)
      for (mlir::Value v : readBy(op))
        for (size_t side : {g, p})
          between(v, side, loose);
    llvm::SmallVector<mlir::Operation *> fresh;
    for (mlir::Operation *l : loose)
      if (!both.contains(l))
        fresh.push_back(l);
    both = inProgramOrder(both.family, both.ops, fresh);
    mlir::Operation *last = both.ops.back();
    both.ops.pop_back();
    if (!both.family->joins(both, last))
      return;
    both.ops.push_back(last);
    for (mlir::Operation *op : groups[p].ops) {
      llvm::SmallVector<size_t, 2> &all = writers[op];
      std::replace(all.begin(), all.end(), p, g);
      all.erase(std::unique(all.begin(), all.end()), all.end());
      if (const auto it = groupOf.find(op); it != groupOf.end() && it->second == p)
        it->second = g;
    }
    groups[g] = std::move(both);
    groups[p].ops.clear();
    order.merge(g, p);
    own(g, fresh, nullptr, {});
  }

  // A group may have grown after later ones were begun: order them by what they read.
  std::vector<Group> inOrder() {
    std::vector<Group> out;
    for (size_t g : order.sorted())
      if (!groups[g].ops.empty()) { // else merged into another one
        findTensors(g);
        if (groups[g].outputs.empty() &&
            llvm::any_of(groups[g].ops.back()->getResults(), [](mlir::Value v) { return elementsOf(v) == 0; }))
          continue; // a loop of which only tensors without elements are wanted
        out.push_back(std::move(groups[g]));
      }
    checkOrder(out);
    return out;
  }

  // A group may only read what the block is given, constants, and what a group before it writes.
  void checkOrder(const std::vector<Group> &sorted) const {
    llvm::DenseSet<mlir::Value> written;
    for (const Group &g : sorted) {
      for (mlir::Value v : g.inputs) {
        v = rootOf(v);
        mlir::Operation *op = v.getDefiningOp();
        if (!op || op->getBlock() != body || opName(op) == "constant" || written.contains(v) || elementsOf(v) == 0)
          continue;
        const nisa::Origin o = nisa::originOf(op->getLoc());
        throw Error("GRAPH-INTERNAL",
                    "a bug in glia's graph compiler: a group reads the result of " + op->getName().getStringRef().str() +
                        " before a group writes it",
                    "Please report it with the graph.", {o.file, o.line, 0});
      }
      written.insert(g.outputs.begin(), g.outputs.end());
    }
  }

  // Somebody reads the value from HBM, perhaps through reshapes: not a group that writes it itself.
  bool neededOutside(mlir::Value v, mlir::Operation *maker, size_t g) const {
    return llvm::any_of(v.getUsers(), [&](mlir::Operation *user) {
      mlir::Operation *u = maker->getBlock()->findAncestorOpInBlock(*user);
      if (u->hasTrait<mlir::OpTrait::IsTerminator>())
        return true;
      if (const auto it = writers.find(u); it != writers.end())
        for (size_t h : it->second)
          if (h != g && !llvm::is_contained(writers.lookup(maker), h))
            return true;
      return isAlias(u) && llvm::any_of(u->getResults(), [&](mlir::Value r) {
               if (aliasOf(r) != v)
                 return false;
               return neededOutside(r, maker, g);
             });
    });
  }

  void findTensors(size_t index) {
    Group &g = groups[index];
    llvm::SetVector<mlir::Value> inputs;
    llvm::DenseSet<mlir::Operation *> mine(g.ops.begin(), g.ops.end());
    for (mlir::Operation *op : g.ops) {
      const std::vector<mlir::Value> read = readBy(op); // the operands first
      for (unsigned i = 0; i < read.size(); ++i) {
        const mlir::Value v = read[i];
        if ((!v.getDefiningOp() || !mine.contains(v.getDefiningOp())) && !(g.family->takesSplats(op) && splatOf(v)) &&
            !(i < op->getNumOperands() && g.family->writesConstant(op, i)))
          inputs.insert(v);
      }
      const auto owner = groupOf.find(op);
      for (mlir::Value v : op->getResults())
        if (owner != groupOf.end() && owner->second == index && elementsOf(v) > 0 && neededOutside(v, op, index))
          g.outputs.push_back(v);
    }
    g.inputs.assign(inputs.begin(), inputs.end());
  }
};

} // namespace

std::vector<Group> groupOperations(mlir::Block &body, const Target *target) { return Grouping().run(body, target); }

} // namespace glia::emit
