// Processes that run the ranks of a program together: every process has all arguments, runs the ranks that fall to it, and gets the results of all.
#pragma once
#include "glia/Support/RawBytes.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace glia {

class RankNetwork {
public:
  using Message = RawBytes;
  virtual ~RankNetwork() = default;
  virtual int process() const = 0;
  virtual int processes() const = 0;
  // From any thread. Messages of one process come in their order.
  virtual void send(int process, std::shared_ptr<const Message> message) = 0;
  // Who hears messages, on a thread of the network's. Set once, before the first is sent.
  virtual void listen(std::function<void(int from, Message)> listener) = 0;
  // So many more, or fewer, wait for messages here: only then they have to come soon.
  virtual void expect(int more) = 0;
  // Somebody does not come any more: when this process ends it ends the others, too, instead of waiting for them.
  virtual void abandon() = 0;

  // The process that runs a rank: neighbours stay together.
  int processOf(int rank, int ranks) const { return static_cast<int>(int64_t{rank} * processes() / ranks); }
};

// The processes that an MPI launcher (mpirun, srun) has started this one among; null if it was started alone. Made when it is first asked for, and then the same one.
// Throws Error RANK-MPI if it was, and there is no plugin for that MPI.
RankNetwork *launchedNetwork();

} // namespace glia
