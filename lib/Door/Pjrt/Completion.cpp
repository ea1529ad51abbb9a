#include "Completion.h"
#include "Fork.h"

namespace glia::pjrt {

void Completion::finish(std::optional<Failure> f) {
  std::vector<std::function<void()>> next;
  {
    const std::lock_guard lock(mutex);
    failed = std::move(f);
    done.store(true, std::memory_order_release);
    next.swap(then);
  }
  changed.notify_all();
  for (const auto &call : next)
    call();
}

void Completion::wait() {
  if (isDone())
    return;
  requireOwnProcess();
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return isDone(); });
}

void Completion::whenDone(std::function<void()> f) {
  if (!isDone()) {
    requireOwnProcess();
    const std::lock_guard lock(mutex);
    if (!isDone()) {
      then.push_back(std::move(f));
      return;
    }
  }
  f();
}

CompletionPtr completed() {
  static const CompletionPtr one = [] {
    auto c = std::make_shared<Completion>();
    c->finish();
    return c;
  }();
  return one;
}

CompletionPtr completed(Failure f) {
  auto c = std::make_shared<Completion>();
  c->finish(std::move(f));
  return c;
}

} // namespace glia::pjrt
