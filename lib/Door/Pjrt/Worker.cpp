#include "Worker.h"
#include "Failure.h"
#include "Fork.h"

#include <exception>
#include <pthread.h>

namespace glia::pjrt {

Worker::~Worker() {
  if (isForked()) { // its thread is not in this process
    if (thread.joinable())
      thread.detach();
    return;
  }
  stop();
  if (!thread.joinable())
    return;
  if (thread.get_id() == std::this_thread::get_id()) // the last one to let go of the platform was a task
    thread.detach();
  else
    thread.join();
}

void Worker::stop() {
  {
    const std::lock_guard lock(state->mutex);
    state->stopping = true;
  }
  state->changed.notify_all();
}

void Worker::add(std::function<void()> task) {
  requireOwnProcess();
  {
    const std::lock_guard lock(state->mutex);
    state->tasks.push_back(std::move(task));
    if (!thread.joinable())
      thread = std::thread([s = state] { s->loop(); });
  }
  state->changed.notify_one();
}

void Worker::State::loop() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return stopping || !tasks.empty(); });
      if (tasks.empty())
        return;
      task = std::move(tasks.front());
      tasks.pop_front();
    }
    task();
  }
}

namespace {

struct DeepCall {
  const std::function<void()> &f;
  std::exception_ptr thrown;
};

void *runDeep(void *argument) {
  auto &call = *static_cast<DeepCall *>(argument);
  try {
    call.f();
  } catch (...) {
    call.thrown = std::current_exception();
  }
  return nullptr;
}

} // namespace

void onDeepStack(const std::function<void()> &f) {
  requireOwnProcess();
  constexpr size_t kStack = size_t{256} << 20; // address space; memory only as far as it is used
  DeepCall call{f, nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_t thread;
  const int refused = pthread_create(&thread, &attributes, runDeep, &call);
  pthread_attr_destroy(&attributes);
  if (refused)
    throw failure(Code::ResourceExhausted, "MEMORY", "the host has no room for a thread to compile on");
  pthread_join(thread, nullptr);
  if (call.thrown)
    std::rethrow_exception(call.thrown);
}

} // namespace glia::pjrt
