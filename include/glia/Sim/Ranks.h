// Programs of several ranks: each rank runs in a thread of its own, and ranks meet where their programs say so (docs/ordering.md, "Ranks").
#pragma once
#include "glia/Support/RawBytes.h"
#include "glia/ISA/Collective.h"
#include "glia/Sim/Simulator.h"

#include <chrono>
#include <memory>

namespace glia {

namespace sim {
class RankRoom;
class Lifetimes;
} // namespace sim

// Where one rank meets the others. The bytes that come out depend on neither threads nor processes.
class RankLink {
public:
  virtual ~RankLink() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  // Gives `source`, which stays as it is meanwhile, waits for the other members, and returns what this rank gets; several may get the same
  // bytes. `who` is the instruction, for messages of other ranks.
  // Throws Error if the ranks do not agree (RANK-MISMATCH), if one of them will never come (RANK-DEADLOCK) or has failed (RANK-ENDED).
  virtual std::shared_ptr<const RawBytes> meet(const Collective &c, std::span<const std::byte> source,
                                               const std::string &who) = 0;
  // How many ranks of this process do not run while others do: what one of them does not need meanwhile, it should not keep.
  virtual int waiting() const = 0;
  virtual const sim::Lifetimes &lifetimes(const Program &p) = 0;
};

struct RanksResult {
  std::vector<RunResult> ranks;
  // The rank whose fault or trap ended the run; the others were stopped by it, as all were if it is in another process. -1: none.
  int failed = -1;
  bool ok() const { return failed < 0; }
};

struct RankJob {
  const Program *program = nullptr; // ranks that are equal share one
  TensorViews inputs;               // without the input that holds the rank's number
  const TensorBuffers *outputs = nullptr;
};

// How long a rank waits for ranks of other processes, 0: for ever. What is said, else GLIA_TIMEOUT, else 60 seconds. Throws Error RUN-TIMEOUT.
std::chrono::seconds rankTimeout(std::optional<int> seconds = std::nullopt);

// One run of several ranks whose threads are the caller's.
class RankSession {
public:
  // `atOnce`: how many ranks run at the same time, on however
  // many threads; the others wait for their turn. 0 leaves it to GLIA_THREADS or the host.
  explicit RankSession(int ranks, std::chrono::seconds timeout, int atOnce = 0);
  ~RankSession();
  // Runs a rank on this thread; one that falls to another process (RankNetwork.h) is waited for, until its outputs are here. Throws Error RANK-COUNT if its program is
  // for another number of ranks, RANK-MPI, and what `run` throws.
  RunResult run(int rank, const RankJob &job, const RunOptions &options);
  // The rank will not run: whoever waits for it is told why.
  void giveUp(int rank, const std::string &why);

private:
  const int ranks;
  std::unique_ptr<sim::RankRoom> room;
  RunResult runHere(int rank, const RankJob &job, const RunOptions &options);
};

// Runs as many ranks as there are jobs, each in a thread. Throws what RankSession::run throws.
RanksResult runRanks(std::span<const RankJob> jobs, const RunOptions &options = {});

} // namespace glia
