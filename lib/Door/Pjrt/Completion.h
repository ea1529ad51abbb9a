// Something that will be done, or fail: what buffers and events wait for.
#pragma once
#include "Failure.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace glia::pjrt {

class Completion {
public:
  bool isDone() const { return done.load(std::memory_order_acquire); }
  void finish(std::optional<Failure> f = {}); // once; runs what was to happen then, without a lock
  void wait();                                // throws Failure PJRT-FORK where nobody can finish it
  const Failure *failure() const { return failed ? &*failed : nullptr; } // of what is done
  void whenDone(std::function<void()> f);                                // now, if it is done

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> done = false;
  std::optional<Failure> failed;
  std::vector<std::function<void()>> then;
};

using CompletionPtr = std::shared_ptr<Completion>;
CompletionPtr completed();          // already, well
CompletionPtr completed(Failure f); // already, badly

class Event {
public:
  explicit Event(CompletionPtr of) : completion(std::move(of)) {}
  CompletionPtr completion;
};

} // namespace glia::pjrt
