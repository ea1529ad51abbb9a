#include "Fork.h"
#include "Failure.h"

#include <atomic>
#include <mutex>
#include <pthread.h>

namespace glia::pjrt {

static std::atomic<bool> forked = false;

void watchForks() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { forked = true; }); });
}

bool isForked() { return forked.load(std::memory_order_relaxed); }

void requireOwnProcess() {
  if (isForked())
    throw failure(Code::FailedPrecondition, "PJRT-FORK",
                  "this process was forked from one that uses the platform glia, whose devices stayed behind",
                  "Start processes with multiprocessing's `spawn`, or use the platform only in the children.");
}

} // namespace glia::pjrt
