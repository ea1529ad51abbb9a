// Where the ranks of a run meet. A rank that comes leaves what it gives and waits; when all members of its group are there, one makes what each gets. Ranks of
// other processes come by message. Whoever can never be joined is told so: nothing hangs.
#pragma once
#include "Lifetimes.h"
#include "Memory.h"
#include "RankMessages.h"
#include "glia/Sim/Ranks.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

namespace glia::sim {

class RankRoom {
public:
  // `network`: may be null. `timeout`: how long a rank waits for those of other processes.
  // `atOnce`: how many ranks of this process run at the same time.
  RankRoom(int ranks, RankNetwork *network, std::chrono::seconds timeout, int atOnce);
  ~RankRoom();

  bool isHere(int rank) const { return !network || network->processOf(rank, ranks) == network->process(); }
  // A rank runs when it is its turn; while it waits for others it is theirs. Asks `stop` every now and then, on the rank's own thread;
  // true: Interrupted.
  void takeTurn(int rank, const StopQuestion &stop);
  // Likewise. `source` is read until it returns, and no longer.
  SharedBytes meet(int rank, const Collective &c, std::span<const std::byte> source, const std::string &who,
                   const StopQuestion &stop);
  int waiting() const; // ranks of this process that cannot run at once with the others
  const Lifetimes &lifetimes(const Program &p);
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
    std::span<const std::byte> source;
    RawBytes kept; // what the source lies in, if it came by message
  };
  struct Meeting { // the n-th of one group
    std::map<int, Arrival> here;
    bool isCombining = false, isDone = false;
    std::map<int, SharedBytes> results; // for members of this process, when it is done
    size_t taken = 0;                   // of them
  };
  using Key = std::pair<std::vector<int>, uint64_t>; // members, and how often they met before
  const int ranks;
  RankNetwork *const network;
  const std::chrono::seconds timeout;
  uint64_t run = 0; // its number among those of the network
  const int atOnce;
  int running = 0;           // ranks whose turn it is
  std::vector<bool> hasTurn; // by rank
  std::mutex mutex;
  std::condition_variable changed, turns;
  std::atomic<uint64_t> changes = 0; // of meetings
  std::map<const Program *, std::unique_ptr<const Lifetimes>> analysed;
  std::map<Key, Meeting> meetings;
  std::vector<std::map<std::vector<int>, uint64_t>> visits; // by rank: how often it came, by members
  enum class State : uint8_t { Running, Waiting, Ended };
  std::vector<State> states;
  std::vector<std::string> waitingAt; // by rank
  struct Given {
    std::map<std::string, RankMessage> outputs;
    uint64_t inputs = 0;
  };
  std::map<int, Given> given; // by ranks of other processes
  int failed = -1;            // the first rank that did
  std::string failure;
  bool stuck = false;

  bool isStuck() const;
  void findStuck();
  void tellChange(std::unique_lock<std::mutex> &lock);
  void awaitChange(std::unique_lock<std::mutex> &lock);
  void end(int rank, const std::string &why);
  void tell(const RankMessage &m, const std::vector<int> &toRanks);
  void tellAll(const RankMessage &m); // processes without a rank, too
  void checkAlike(const Arrival &mine, int rank, const Meeting &m) const;
  [[noreturn]] void tellStuck(int rank, const std::vector<int> &members, const Meeting &m, const char *code) const;
  bool isAnyHere(State atMost) const; // a rank of this process that is in that state or an earlier one
  void awaitTurn(std::unique_lock<std::mutex> &lock, int rank, const StopQuestion &stop);
  void passTurn(int rank);
  template <class Ready>
  void wait(std::unique_lock<std::mutex> &lock, int rank, const StopQuestion &stop, State busy, Ready ready);
  bool goOnIfComplete(const std::vector<int> &members, const Meeting &m);
  void awaitOthers(std::unique_lock<std::mutex> &lock, int rank, const Arrival &mine, Meeting &m,
                   const std::vector<int> &members, const StopQuestion &stop);
  void makeResults(std::unique_lock<std::mutex> &lock, int rank, Meeting &m, const std::vector<int> &members);
};

} // namespace glia::sim
