#include "Interpret/Ranks.h"

#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <system_error>
#include <thread>

namespace glia::interp {

namespace {
struct Abandoned {}; // thrown in the ranks that wait when another one has failed
} // namespace

void Ranks::run(const std::function<void(int64_t rank)> &body) {
  members.assign(static_cast<size_t>(count()), {});
  left.clear();
  turn = 0;
  error = nullptr;
  if (count() == 1) {
    body(0);
    return;
  }
  std::vector<std::thread> threads;
  const auto one = [&](int64_t rank) {
    std::unique_lock lock(mutex);
    try {
      waitForTurn(lock, rank);
      lock.unlock();
      body(rank);
      lock.lock();
    } catch (const Abandoned &) { // the lock is held: it is thrown by waitForTurn
      if (!lock.owns_lock())
        lock.lock();
    } catch (...) {
      if (!lock.owns_lock())
        lock.lock();
      if (!error)
        error = std::current_exception();
    }
    members[static_cast<size_t>(rank)].state = State::Ended;
    pass();
  };
  {
    const std::lock_guard lock(mutex); // none begins before all are there
    try {
      for (int64_t rank = 0; rank < count(); ++rank)
        threads.emplace_back(one, rank);
    } catch (const std::system_error &) {
      error = std::make_exception_ptr(Error("GRAPH-INTERPRET",
                                            "the system has no threads for " + std::to_string(count()) + " ranks",
                                            "Interpret fewer ranks at a time."));
    }
  }
  for (std::thread &t : threads)
    t.join();
  if (error)
    std::rethrow_exception(error);
}

// The next rank that can go on. If none can, the first that waits is told that it waits in vain.
void Ranks::pass() {
  const auto next = [&](State state) {
    for (int64_t i = 1; i <= count(); ++i)
      if (const int64_t rank = (turn + i) % count(); members[static_cast<size_t>(rank)].state == state) {
        turn = rank;
        return true;
      }
    return false;
  };
  if (!next(State::Ready) && !next(State::Stuck)) {
    turn = count() - 1; // so that the lowest is found
    if (next(State::Waiting))
      members[static_cast<size_t>(turn)].state = State::Stuck;
  }
  changed.notify_all();
}

void Ranks::waitForTurn(std::unique_lock<std::mutex> &lock, int64_t rank) {
  changed.wait(lock, [&] { return error || turn == rank; });
  if (error)
    throw Abandoned();
}

// Whether all of the rank's group wait at its place; if so, they get what was given and can go on.
bool Ranks::complete(int64_t rank) {
  const Member &self = members[static_cast<size_t>(rank)];
  const auto came = [&](int64_t r) {
    const Member &m = members[static_cast<size_t>(r)];
    return m.state == State::Waiting && m.place == self.place && m.group == self.group;
  };
  if (!std::all_of(self.group.begin(), self.group.end(), came))
    return false;
  const std::vector<int64_t> group = self.group;
  std::vector<std::vector<Datum>> all;
  for (const int64_t r : group)
    all.push_back(std::move(members[static_cast<size_t>(r)].values));
  for (const int64_t r : group) {
    members[static_cast<size_t>(r)].all = all;
    members[static_cast<size_t>(r)].state = State::Ready;
  }
  return true;
}

std::string Ranks::meet(int64_t rank, const void *place, const std::vector<int64_t> &group, std::vector<Datum> values,
                        std::vector<std::vector<Datum>> &all) {
  if (group.size() == 1) {
    all.assign(1, values);
    return {};
  }
  std::unique_lock lock(mutex);
  Member &self = members[static_cast<size_t>(rank)];
  self = {State::Waiting, place, group, std::move(values), {}};
  if (!complete(rank)) {
    pass();
    waitForTurn(lock, rank);
  }
  if (self.state == State::Stuck) {
    for (const int64_t r : group) {
      const Member &m = members[static_cast<size_t>(r)];
      if (m.state == State::Ended)
        return "rank " + std::to_string(rank) + " waits for rank " + std::to_string(r) + ", which has ended";
      if (m.state == State::Waiting && (m.place != place || m.group != group))
        return "rank " + std::to_string(rank) + " waits for rank " + std::to_string(r) + ", which waits elsewhere";
    }
    return "rank " + std::to_string(rank) + " waits for a rank that does not come";
  }
  all = std::move(self.all);
  return {};
}

void Ranks::give(int64_t to, int64_t channel, std::vector<Datum> values) {
  const std::lock_guard lock(mutex);
  left[{to, channel}].push_back(std::move(values));
  if (Member &m = members[static_cast<size_t>(to)]; m.state == State::Waiting && m.place == &left)
    m.state = State::Ready;
}

std::string Ranks::take(int64_t rank, int64_t channel, std::vector<Datum> &values) {
  std::unique_lock lock(mutex);
  Member &self = members[static_cast<size_t>(rank)];
  std::deque<std::vector<Datum>> &mine = left[{rank, channel}];
  while (mine.empty()) {
    self = {State::Waiting, &left, {}, {}, {}};
    pass();
    waitForTurn(lock, rank);
    if (self.state == State::Stuck)
      return "rank " + std::to_string(rank) + " waits for channel " + std::to_string(channel) + ", to which nobody sends";
  }
  values = std::move(mine.front());
  mine.pop_front();
  return {};
}

} // namespace glia::interp
