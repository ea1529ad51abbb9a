// Walks functions and regions, binds values, and runs the rule of each operation.
#pragma once
#include "Interpret/Follow.h"
#include "Interpret/Pointwise.h"
#include "Interpret/Ranks.h"
#include "Interpret/Rules.h"
#include "Interpret/View.h"
#include "glia/Interpret/Interpret.h"
#include "glia/Support/Random.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"

#include <unordered_map>

namespace glia::interp {

HostTensor hostTensor(const Datum &d, bool inDouble);
Tensor fromHost(const HostTensor &h);

class Evaluator {
public:
  Evaluator(mlir::Operation *module, const InterpretOptions &options, Ranks &ranks, int64_t rank)
      : module(module), options(options), ranks(ranks), rank(rank), random(options.shaken) {}

  using Frame = interp::Frame;
  std::vector<Datum> callFunction(mlir::Operation *from, const std::string &name, std::vector<Datum> arguments);
  std::vector<Datum> runBlock(mlir::Block &block, std::vector<Datum> arguments, Frame &frame, bool show);
  std::unique_ptr<Body> makeBody(mlir::Region &region, Frame &frame);
  void countIteration(mlir::Operation *op);

  Caches caches;
  mlir::Operation *module;
  const InterpretOptions &options;
  Ranks &ranks; // all of them, of which this evaluates one
  const int64_t rank;

private:
  // How an operation is evaluated; one of the two.
  struct Plan {
    const Rule *rule = nullptr;
    std::optional<Pointwise> pointwise;
  };
  const Plan &planOf(mlir::Operation *op);
  void run(mlir::Operation &op, Frame &frame, bool show);
  const std::vector<mlir::Value> &dyingAt(mlir::Operation *op); // values whose last use in their block is here
  bool runOutside(mlir::Operation &op, Call &call);             // a custom call that the caller of the interpreter knows
  void findLastUses(mlir::Block &block);
  void shake(mlir::Operation &op, Datum &d); // as InterpretOptions::shaken says

  llvm::DenseMap<mlir::Operation *, Plan> plans;
  std::unordered_map<mlir::Operation *, std::vector<mlir::Value>>
      lastUses; // entries stay in place while regions are prepared
  llvm::DenseMap<mlir::Block *, bool> prepared;
  Random random; // of `shaken`
  int64_t iterations = 0;
  int depth = 0;
};

} // namespace glia::interp
