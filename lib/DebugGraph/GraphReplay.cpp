#include "GraphReplay.h"

#include <utility>

namespace glia::debug {

GraphReplay::GraphReplay(const GraphInput &input) : input(input) { start(); }

GraphReplay::~GraphReplay() { abandon(); }

void GraphReplay::start() {
  levels.clear();
  lastBegun.clear();
  entries.clear();
  made.clear();
  failed.reset();
  taken = 0;
  over = abandoned = false;
  until = [] { return true; };
  evaluating = true;
  thread = std::thread([this] { evaluate(); });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !evaluating; });
  lock.unlock();
  if (over)
    thread.join();
  if (std::exception_ptr e = std::exchange(thrown, nullptr))
    std::rethrow_exception(e);
}

// Both sides take turns: nothing is touched by two threads at once.
void GraphReplay::resume() {
  std::unique_lock lock(mutex);
  evaluating = true;
  changed.notify_all();
  changed.wait(lock, [&] { return !evaluating; });
  lock.unlock();
  if (over)
    thread.join();
}

void GraphReplay::abandon() {
  if (over)
    return;
  abandoned = true;
  resume();
}

void GraphReplay::evaluate() {
  InterpretOptions options;
  options.onCustomCall = input.onCustomCall;
  options.follower = this;
  try {
    made = interpret(input.module, input.function, input.arguments, options);
  } catch (const Abandoned &) {
    made.clear();
  } catch (const Error &e) {
    failed = e;
  } catch (...) {
    thrown = std::current_exception();
  }
  const std::unique_lock lock(mutex);
  over = true;
  evaluating = false;
  changed.notify_all();
}

void GraphReplay::entered(mlir::Block &block, const interp::Frame &frame) {
  mlir::Operation *around = block.getParentOp();
  const bool loop = around->getName().getStringRef() == "stablehlo.while";
  levels.push_back({&block, &frame, nullptr, loop ? entries[&block]++ : -1});
  if (onBlock)
    onBlock(block, frame);
}

void GraphReplay::before(mlir::Operation &op) {
  levels.back().at = &op;
  for (mlir::Region &r : op.getRegions())
    for (mlir::Block &b : r)
      entries[&b] = 0;
  bool stop = false;
  try {
    stop = until();
  } catch (...) {
    thrown = std::current_exception();
    stop = true;
  }
  if (stop) {
    std::unique_lock lock(mutex);
    evaluating = false;
    changed.notify_all();
    changed.wait(lock, [&] { return evaluating; });
    if (abandoned)
      throw Abandoned{};
  }
  lastBegun[&op] = taken++;
}

void GraphReplay::after(mlir::Operation &op, const std::vector<interp::Datum> &results) {
  if (onResults)
    onResults(op, results);
}

std::optional<uint64_t> GraphReplay::begun(mlir::Operation *op) const {
  const auto it = lastBegun.find(op);
  return it == lastBegun.end() ? std::nullopt : std::optional(it->second);
}

const interp::Datum *GraphReplay::live(mlir::Value v) const {
  for (auto level = levels.rbegin(); level != levels.rend(); ++level)
    if (const auto it = level->frame->find(v); it != level->frame->end())
      return &it->second;
  return nullptr;
}

bool GraphReplay::run(Until wanted) {
  if (over)
    return false;
  until = std::move(wanted);
  resume();
  until = {};
  if (std::exception_ptr e = std::exchange(thrown, nullptr))
    std::rethrow_exception(e);
  return !over;
}

void GraphReplay::goTo(uint64_t step, const Until &also) {
  if (step < taken || over) {
    abandon();
    start();
  }
  if (step > taken)
    run([&] { return (also && also()) || taken == step; });
}

} // namespace glia::debug
