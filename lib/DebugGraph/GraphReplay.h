// An evaluation of a graph that can be taken forwards, operation by operation, and, since every one is the same, back: by evaluating again
// from its start. It has a thread of its own, which stands still whenever somebody looks. What is no longer used is not kept.
#pragma once
#include "Interpret/Follow.h"
#include "glia/Interpret/Interpret.h"
#include "glia/Support/Diagnostic.h"

#include "mlir/IR/BuiltinOps.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace glia::debug {

struct GraphInput { // outlives what is made of it
  mlir::ModuleOp module;
  std::string function;
  std::vector<HostTensor> arguments;
  decltype(InterpretOptions::onCustomCall) onCustomCall;
};

class GraphReplay : interp::Follower {
public:
  struct Level { // a block under way
    mlir::Block *block = nullptr;
    const interp::Frame *frame = nullptr;
    mlir::Operation *at = nullptr; // about to be run, or, but for the innermost level, being run
    int64_t round = -1;            // of a loop's region: how often it was entered before; -1: of no loop
  };
  using Until = std::function<bool()>; // asked before each operation; true: stop there

  explicit GraphReplay(const GraphInput &input); // stands before the first operation
  ~GraphReplay() override;
  GraphReplay(const GraphReplay &) = delete;

  uint64_t steps() const { return taken; } // operations that have been begun
  bool ended() const { return over; }
  const std::optional<Error> &failure() const { return failed; } // why it ended before its end
  const std::vector<HostTensor> &results() const { return made; }
  mlir::Operation *at() const { return over ? nullptr : levels.back().at; }
  const std::vector<Level> &stack() const { return levels; } // from the outside in
  // The step at which an operation was begun last; none: it was not yet.
  std::optional<uint64_t> begun(mlir::Operation *op) const;
  // A value, if somebody will still use it.
  const interp::Datum *live(mlir::Value v) const;

  // Goes on until it is told to stop, or to the end: false. Throws what `until` throws, and then stands there.
  bool run(Until until);
  void goTo(uint64_t step, const Until &also = {}); // `also` is asked on the way, and may throw

  // Called on the way, with what operations give and blocks are given.
  std::function<void(mlir::Operation &, const std::vector<interp::Datum> &)> onResults;
  std::function<void(mlir::Block &, const interp::Frame &)> onBlock;

private:
  struct Abandoned {};
  const GraphInput &input;
  std::vector<Level> levels;
  uint64_t taken = 0;
  bool over = false;
  std::optional<Error> failed;
  std::vector<HostTensor> made;
  llvm::DenseMap<mlir::Operation *, uint64_t> lastBegun;
  llvm::DenseMap<mlir::Block *, int64_t> entries; // of the regions of operations under way

  Until until;
  std::exception_ptr thrown; // by `until`, or by the evaluation if it is no Error
  bool evaluating = false, abandoned = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::thread thread;

  void start();
  void abandon();
  void resume();
  void evaluate();
  void entered(mlir::Block &, const interp::Frame &) override;
  void left() override { levels.pop_back(); }
  void before(mlir::Operation &) override;
  void after(mlir::Operation &, const std::vector<interp::Datum> &) override;
};

} // namespace glia::debug
