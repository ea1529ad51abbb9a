// The ranks of a program, each evaluated in a thread of its own, of which one runs at a time: they take turns where they meet. So nothing
// that they share needs a lock, and the same happens every time.
#pragma once
#include "Interpret/Tensor.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace glia::interp {

class Ranks {
public:
  Ranks(int64_t replicas, int64_t partitions) : replicas(replicas), partitions(partitions) {}

  const int64_t replicas, partitions;
  int64_t count() const { return replicas * partitions; } // rank = replica * partitions + partition

  // Calls body(rank) for each rank; the first error that one throws ends all of them.
  void run(const std::function<void(int64_t rank)> &body);

  // Called by a rank in `run`: gives `values` to the members of its group, waits until each of them has come to the same place, and sets
  // `all` to what they gave, in the order of the group. Else returns which member cannot come and why, in words; empty if all came.
  std::string meet(int64_t rank, const void *place, const std::vector<int64_t> &group, std::vector<Datum> values,
                   std::vector<std::vector<Datum>> &all);

  // Called by a rank in `run`: leaves values in another one's channel, and takes the first that were left in one of its own, for which it waits. Returns
  // why they do not come, in words; empty if they came.
  void give(int64_t to, int64_t channel, std::vector<Datum> values);
  std::string take(int64_t rank, int64_t channel, std::vector<Datum> &values);

private:
  enum class State : uint8_t { Ready, Waiting, Stuck, Ended };
  struct Member {
    State state = State::Ready;
    const void *place = nullptr;
    std::vector<int64_t> group;
    std::vector<Datum> values;
    std::vector<std::vector<Datum>> all;
  };
  void pass(); // gives the turn to another rank
  void waitForTurn(std::unique_lock<std::mutex> &lock, int64_t rank);
  bool complete(int64_t rank);

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Member> members;
  std::map<std::pair<int64_t, int64_t>, std::deque<std::vector<Datum>>> left; // by rank and channel
  int64_t turn = 0;
  std::exception_ptr error;
};

} // namespace glia::interp
