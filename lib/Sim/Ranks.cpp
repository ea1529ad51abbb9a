#include "glia/Program/RankContract.h"
#include "glia/Sim/Ranks.h"
#include "InFlight.h"
#include "RankRoom.h"
#include "glia/Sim/RankNetwork.h"
#include "glia/Support/Checksum.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace glia {

namespace {

class RoomLink final : public RankLink {
public:
  RoomLink(sim::RankRoom &room, int rank, int ranks, StopQuestion stop)
      : room(room), mine(rank), all(ranks), stop(std::move(stop)) {}
  int rank() const override { return mine; }
  int ranks() const override { return all; }
  sim::SharedBytes meet(const Collective &c, std::span<const std::byte> source, const std::string &who) override {
    return room.meet(mine, c, source, who, stop);
  }
  int waiting() const override { return room.waiting(); }
  const sim::Lifetimes &lifetimes(const Program &p) override { return room.lifetimes(p); }

private:
  sim::RankRoom &room;
  const int mine, all;
  const StopQuestion stop;
};

// Of what a rank is given: all processes have the same.
uint64_t checksumOf(const TensorViews &inputs) {
  uint64_t sum = 0;
  for (const auto &[name, bytes] : inputs)
    sum = checksum64(bytes, checksum64(std::as_bytes(std::span(name)), sum));
  return sum;
}

// The rank whose own fault ended the run: the others say that they were stopped.
bool isCause(const RunResult &r) { return r.trap || (r.fault && r.fault->code != "RANK-ENDED"); }

} // namespace

std::chrono::seconds rankTimeout(std::optional<int> seconds) {
  static constexpr int kUsual = 60;
  const char *text = std::getenv("GLIA_TIMEOUT");
  if (seconds || !text || !*text)
    return std::chrono::seconds(seconds.value_or(kUsual));
  int n = 0;
  const char *end = text + std::strlen(text);
  if (const auto [at, bad] = std::from_chars(text, end, n); bad != std::errc() || at != end || n < 0)
    throw Error("RUN-TIMEOUT", format("GLIA_TIMEOUT is `%s`, which is no number of seconds", text),
                "Set it to 1 or more, to 0 for no limit, or leave it out: then it is 60.");
  return std::chrono::seconds(n);
}

RankSession::RankSession(int ranks, std::chrono::seconds timeout, int atOnce)
    : ranks(ranks),
      room(std::make_unique<sim::RankRoom>(ranks, launchedNetwork(), timeout, sim::threadsOf({.threads = atOnce}))) {}
RankSession::~RankSession() = default;

void RankSession::giveUp(int rank, const std::string &why) { room->leave(rank, why); }

RunResult RankSession::runHere(int rank, const RankJob &job, const RunOptions &options) {
  RoomLink link(*room, rank, ranks, options.stop);
  RunOptions mine = options;
  mine.link = &link;
  mine.outputs = job.outputs;
  if (options.seed)
    mine.seed = options.seed + static_cast<uint64_t>(rank) * 0x9E3779B97F4A7C15u;
  const int32_t number = rank;
  if (const int n = ranksOf(*job.program); n != ranks)
    throw Error("RANK-COUNT", format("a program for %d ranks is run by %d", n, ranks), format("Run it with %d ranks.", n));
  TensorViews inputs = job.inputs;
  if (const std::string name = rankInputOf(*job.program); !name.empty())
    inputs[name] = std::as_bytes(std::span(&number, 1));
  return runInPlace(*job.program, inputs, mine);
}

RunResult RankSession::run(int rank, const RankJob &job, const RunOptions &options) {
  static const TensorBuffers kNone;
  const TensorBuffers &outputs = job.outputs ? *job.outputs : kNone;
  const uint64_t given = launchedNetwork() ? checksumOf(job.inputs) : 0; // before results take their places
  if (!room->isHere(rank)) {
    RunResult out;
    try {
      room->takeOutputs(rank, outputs, given, options.stop);
    } catch (const Error &e) {
      out.fault = e.diagnostics().front();
    }
    return out;
  }
  try {
    room->takeTurn(rank, options.stop);
    RunResult out = runHere(rank, job, options);
    const Diagnostic *bad = out.fault ? &*out.fault : out.trap ? &*out.trap : nullptr;
    if (!bad && launchedNetwork())
      room->giveOutputs(rank, outputs, given);
    room->leave(rank, bad ? bad->code + ": " + bad->message : std::string());
    return out;
  } catch (const std::exception &e) {
    room->leave(rank, e.what());
    throw;
  }
}

RanksResult runRanks(std::span<const RankJob> jobs, const RunOptions &options) {
  const auto count = static_cast<int>(jobs.size());
  RankSession session(count, rankTimeout(options.rankTimeout), options.threads);
  RanksResult out;
  out.ranks.resize(jobs.size());
  std::vector<std::exception_ptr> thrown(jobs.size());
  std::mutex touching;
  std::atomic<bool> over = false;  // somebody failed, or the caller wants it to stop
  std::atomic<bool> asked = false; // the caller wants it
  const auto runOne = [&](int rank) {
    const auto r = static_cast<size_t>(rank);
    RunOptions mine = options;
    mine.threads = count > 1 ? 1 : options.threads;
    if (options.onTouch) // one rank at a time
      mine.onTouch = [&](const Decoded &d, int slot, int partition, int64_t byte, int64_t bytes, bool write) {
        const std::lock_guard lock(touching);
        options.onTouch(d, slot, partition, byte, bytes, write);
      };
    mine.stop = [&, rank] {
      if (rank == 0 && options.stop && options.stop()) // the caller's thread
        over = asked = true;
      return over.load(std::memory_order_relaxed);
    };
    try {
      out.ranks[r] = session.run(rank, jobs[r], mine);
    } catch (...) {
      thrown[r] = std::current_exception();
    }
    if (thrown[r] || !out.ranks[r].ok())
      over = true;
  };
  std::mutex ending;
  std::condition_variable ended;
  int running = count - 1; // on other threads
  std::vector<std::thread> threads;
  for (int rank = 1; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      runOne(rank);
      const std::lock_guard lock(ending);
      --running;
      ended.notify_one();
    });
  runOne(0);
  constexpr std::chrono::milliseconds kBetweenQuestions{50}; // the caller's thread, still
  for (std::unique_lock lock(ending); !ended.wait_for(lock, kBetweenQuestions, [&] { return running == 0; });)
    if (options.stop && options.stop())
      over = asked = true;
  for (std::thread &t : threads)
    t.join();
  const auto failedWith = [&](auto question) {
    const auto it = std::find_if(out.ranks.begin(), out.ranks.end(), question);
    out.failed = it == out.ranks.end() ? -1 : static_cast<int>(it - out.ranks.begin());
    return out.failed >= 0;
  };
  if (failedWith(isCause))
    return out;
  std::exception_ptr interrupted;
  for (const std::exception_ptr &e : thrown)
    if (e)
      try {
        std::rethrow_exception(e);
      } catch (const Interrupted &) { // only stopped: that says less
        interrupted = e;
      }
  if (!asked && failedWith([](const RunResult &r) { return !r.ok(); })) // the cause is in another process
    return out;
  if (interrupted)
    std::rethrow_exception(interrupted);
  return out;
}

} // namespace glia
