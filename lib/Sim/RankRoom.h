// Where the ranks of a run meet. A rank that comes leaves what it gives and waits; when all members of its group are there, each makes its own result. Ranks of
// other processes come by message. Whoever can never be joined is told so: nothing hangs.
#pragma once
#include "RankMessages.h"
#include "glia/Sim/Ranks.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

namespace glia::sim {

class RankRoom {
public:
  // `network`: may be null. `timeout`: how long a rank waits for those of other processes.
  RankRoom(int ranks, RankNetwork *network, std::chrono::seconds timeout);
  ~RankRoom();

  bool isHere(int rank) const { return !network || network->processOf(rank, ranks) == network->process(); }
  // Asks `stop` every now and then, on the rank's own thread; true: Interrupted.
  std::vector<std::byte> meet(int rank, const Collective &c, std::vector<std::byte> source, const std::string &who,
                              const StopQuestion &stop);
  // The rank's run is over. With a failure, those that wait or come later are told of it.
  void leave(int rank, const std::string &failure = {});
  // Of a rank of this process: gives its results to the others. Of another one: waits for them.
  // `inputs` is a checksum of what the rank was given, in this process: the same in all.
  void giveOutputs(int rank, const TensorBuffers &outputs, uint64_t inputs);
  void takeOutputs(int rank, const TensorBuffers &outputs, uint64_t inputs, const StopQuestion &stop);

  void hear(RankMessage m); // on the network's thread

private:
  struct Arrival {
    Collective what;
    std::string who;
    std::vector<std::byte> source;
  };
  struct Meeting { // the n-th of one group
    std::map<int, std::shared_ptr<const Arrival>> here;
    size_t taken = 0; // members of this process that have their result
  };
  using Key = std::pair<std::vector<int>, uint64_t>; // members, and how often they met before
  const int ranks;
  RankNetwork *const network;
  const std::chrono::seconds timeout;
  uint64_t run = 0; // its number among those of the network
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Key, Meeting> meetings;
  std::vector<std::map<std::vector<int>, uint64_t>> visits; // by rank: how often it came, by members
  enum class State : uint8_t { Running, Waiting, Ended };
  std::vector<State> states;
  std::vector<std::string> waitingAt; // by rank
  struct Given {
    std::map<std::string, std::vector<std::byte>> outputs;
    uint64_t inputs = 0;
  };
  std::map<int, Given> given; // by ranks of other processes
  int failed = -1;            // the first rank that did
  std::string failure;
  bool stuck = false;

  bool isStuck() const;
  void findStuck();
  void end(int rank, const std::string &why);
  void tell(const RankMessage &m, const std::vector<int> &toRanks);
  void tellAll(const RankMessage &m); // processes without a rank, too
  void checkAlike(const Arrival &mine, int rank, const Meeting &m) const;
  [[noreturn]] void tellStuck(int rank, const std::vector<int> &members, const Meeting &m, const char *code) const;
  bool isBusy() const; // a rank of this process has not ended
  template <class Ready>
  void wait(std::unique_lock<std::mutex> &lock, int rank, const StopQuestion &stop, bool whileBusy, Ready ready);
};

} // namespace glia::sim
