// Does what a device is told, one thing after the other, on a thread of its own.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace glia::pjrt {

using StopFlag = std::shared_ptr<const std::atomic<bool>>;

class Worker {
public:
  Worker() : state(std::make_shared<State>()) {}
  Worker(const Worker &) = delete;
  ~Worker(); // asks what runs, and what has not begun, to stop, and waits for it

  void add(std::function<void()> task); // throws Failure PJRT-FORK in a forked child
  void stop();                          // asks, and does not wait
  StopFlag stopFlag() const { return {state, &state->stopping}; }

private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> tasks;
    std::atomic<bool> stopping = false;
    void loop();
  };
  std::shared_ptr<State> state; // the thread's too
  std::thread thread;           // begins with the first task
};

// Runs `f` on a thread whose stack is deep enough for the compiler, and waits for it; what `f` throws is thrown.
void onDeepStack(const std::function<void()> &f);

} // namespace glia::pjrt
