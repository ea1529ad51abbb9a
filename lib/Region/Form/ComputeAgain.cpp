#include "ComputeAgain.h"
#include "Graph/Analysis/GraphFacts.h"
#include "Lower/Rows/RowsLanes.h"
#include "glia/Lower/Family.h"

#include "llvm/ADT/DenseMap.h"

namespace glia::emit {

namespace {

constexpr int64_t kLarge = int64_t{1} << 18; // elements: what is smaller may stay on chip between groups
constexpr int64_t kFew = 64;                 // what is spread has at most one element for so many
constexpr int64_t kMostSteps = 2;            // operations that take engines about as long as the value takes to be loaded

class Finder {
public:
  explicit Finder(mlir::Block &body) : body(body) {}

  llvm::DenseSet<mlir::Operation *> run() {
    for (mlir::Operation &op : body.without_terminator())
      if (const mlir::Value from = largeOperand(&op))
        if (const Made made = madeOf(from); made.base && made.steps < kMostSteps && onlyRowsRead(op.getResult(0)))
          bases[&op] = {made.base, made.steps + 1};
    llvm::DenseSet<mlir::Operation *> out;
    for (mlir::Operation &op : llvm::reverse(body))
      if (const auto it = bases.find(&op); it != bases.end() && isReadOtherwise(it->second.base) && isWanted(&op, out))
        out.insert(&op);
    return out;
  }

private:
  mlir::Block &body;
  struct Made { // of a tensor in HBM, by so many operations
    mlir::Value base;
    int64_t steps = 0;
  };
  llvm::DenseMap<mlir::Operation *, Made> bases; // of what could be computed again

  static bool isSpread(mlir::Value v, int64_t elements) {
    if (splatOf(v))
      return true;
    mlir::Operation *op = v.getDefiningOp();
    return op && opName(op) == "broadcast_in_dim" && keepsOrder(op) && elementsOf(op->getOperand(0)) * kFew <= elements;
  }

  // The operand of its result's size, if all others are spread over that; null if the operation is another one.
  static mlir::Value largeOperand(mlir::Operation *op) {
    const llvm::StringRef name = opName(op);
    if (name != "add" && name != "subtract" && name != "multiply")
      return {};
    const mlir::Value result = op->getResult(0);
    const int64_t elements = elementsOf(result);
    if (elements < kLarge || splatOf(result) || !refusalOf(op).empty())
      return {};
    const bool spread[] = {isSpread(op->getOperand(0), elements), isSpread(op->getOperand(1), elements)};
    return spread[0] == spread[1] ? mlir::Value() : op->getOperand(spread[0]);
  }

  Made madeOf(mlir::Value v) const {
    mlir::Operation *op = v.getDefiningOp();
    if (!op)
      return {v};
    if (const auto it = bases.find(op); it != bases.end())
      return it->second;
    // What rows make would perhaps not be stored; other kernels store what they make.
    const llvm::StringRef name = opName(op);
    return name == "convolution" || name == "dot_general" ? Made{v} : Made{};
  }

  static bool onlyRowsRead(mlir::Value v) {
    return llvm::all_of(v.getUsers(), [](mlir::Operation *user) {
      return isAlias(user) ? llvm::all_of(user->getResults(), onlyRowsRead)
                           : isPointwise(opName(user)) || opName(user) == "reduce";
    });
  }

  // Then it is stored as it is, not with operations behind it.
  bool isReadOtherwise(mlir::Value base) const {
    return !base.getDefiningOp() ||
           llvm::any_of(base.getUsers(), [&](mlir::Operation *user) { return !bases.contains(user); });
  }

  // By more than one, or for another one.
  static bool isWanted(mlir::Operation *op, const llvm::DenseSet<mlir::Operation *> &again) {
    const auto users = op->getUsers();
    return !op->use_empty() &&
           (llvm::any_of(users, [&](mlir::Operation *u) { return u != *users.begin(); }) || again.contains(*users.begin()));
  }
};

} // namespace

llvm::DenseSet<mlir::Operation *> computedAgain(mlir::Block &body) { return Finder(body).run(); }

} // namespace glia::emit
