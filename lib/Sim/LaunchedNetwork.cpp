// MPI as a network: one thread talks to it, others leave their messages with that thread.
#include "Mpi/MpiTable.h"
#include "glia/Sim/RankNetwork.h"
#include "glia/Support/Diagnostic.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <dlfcn.h>
#include <filesystem>
#include <future>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace glia {

namespace {

class MpiNetwork final : public RankNetwork {
public:
  explicit MpiNetwork(const MpiTable &table) : table(table), thread([this] { loop(); }) {
    if (!begun.get_future().get()) {
      thread.join();
      throw Error("RANK-MPI", "MPI cannot be initialised",
                  "Look at what it printed; run the program without mpirun to use one process.");
    }
  }
  ~MpiNetwork() override {
    {
      const std::lock_guard lock(mutex);
      closing = true;
    }
    wake.notify_one();
    thread.join();
  }
  int process() const override { return mine; }
  int processes() const override { return all; }
  void send(int process, std::shared_ptr<const Message> message) override {
    {
      const std::lock_guard lock(mutex);
      outbox.push_back({process, std::move(message)});
    }
    wake.notify_one();
  }
  void expect(int more) override {
    {
      const std::lock_guard lock(mutex);
      expecting += more;
    }
    if (more > 0)
      wake.notify_one();
  }
  void abandon() override { abandoned = true; }
  void listen(std::function<void(int, Message)> l) override {
    const std::lock_guard lock(mutex);
    listener = std::move(l);
  }

private:
  struct Outgoing {
    int to;
    std::shared_ptr<const Message> message;
    void *sending = nullptr;
  };
  struct Incoming {
    int from;
    Message message;
    std::function<void(int, Message)> to;
    void *receiving;
  };
  const MpiTable &table;
  int mine = 0, all = 1;
  std::promise<bool> begun;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Outgoing> outbox;
  int expecting = 0;
  std::function<void(int, Message)> listener;
  std::atomic<bool> closing = false, abandoned = false;
  // Of the thread: a process that has said goodbye hears the others until they have said it too, so that what they send does arrive.
  std::optional<Incoming> incoming;
  bool saidGoodbye = false;
  int goodbyes = 0;
  std::chrono::steady_clock::time_point closedAt;
  static constexpr std::chrono::minutes kLongestGoodbye{5};
  static constexpr int kLooks = 200, kLooksAtOnce = 64; // for something to do, before it sleeps; before it yields
  static constexpr std::chrono::microseconds kNap{20}, kSleep{500};
  std::thread thread; // last: it uses what is above

  void loop() {
    const bool fine = table.begin(&mine, &all) == 0;
    begun.set_value(fine);
    if (!fine)
      return;
    std::list<Outgoing> under; // way
    for (int idle = 0;;) {
      bool moved = false;
      {
        const std::lock_guard lock(mutex);
        for (; !outbox.empty(); outbox.pop_front(), moved = true)
          under.push_back(std::move(outbox.front()));
      }
      for (auto it = under.begin(); it != under.end();) {
        if (!it->sending)
          it->sending = table.send(it->to, it->message->data(), static_cast<int64_t>(it->message->size()));
        const bool sent = table.done(it->sending);
        moved |= sent;
        it = sent ? under.erase(it) : std::next(it);
      }
      moved |= receive();
      if (closing && (abandoned || takesTooLong()))
        return table.abort();
      if (closing && !saidGoodbye) { // behind everything else
        saidGoodbye = true;
        for (int p = 0; p < all; ++p)
          if (p != mine)
            send(p, std::make_shared<const Message>());
      } else if (saidGoodbye && under.empty() && !incoming && goodbyes == all - 1) {
        const std::lock_guard lock(mutex);
        if (outbox.empty())
          break;
      }
      idle = moved ? 0 : idle + 1;
      rest(idle, !under.empty() || incoming);
    }
    table.end();
  }

  // MPI moves what is under way while it is asked; now and then whoever computes, here or there, may have the processor. Where nobody waits for a
  // message it may be late: whoever computes has the processor until there is something to send.
  void rest(int &idle, bool isUnderWay) {
    std::unique_lock lock(mutex);
    const bool isAwaited = expecting > 0 || saidGoodbye;
    if (isUnderWay || (isAwaited && idle <= kLooks)) {
      lock.unlock();
      if (idle % kLooksAtOnce == kLooksAtOnce - 1)
        std::this_thread::yield();
    } else {
      const bool before = expecting > 0;
      wake.wait_for(lock, isAwaited && idle <= 10 * kLooks ? kNap : kSleep,
                    [&] { return !outbox.empty() || (closing && !saidGoodbye) || (expecting > 0 && !before); });
      if (expecting > 0 && !before)
        idle = 0;
    }
  }

  // Of the others, once this process is through.
  bool takesTooLong() {
    const auto now = std::chrono::steady_clock::now();
    if (closedAt == std::chrono::steady_clock::time_point())
      closedAt = now;
    return now - closedAt > kLongestGoodbye;
  }

  // Whether something has begun to come, or has come. One message after the other.
  bool receive() {
    if (incoming) {
      if (!table.done(incoming->receiving))
        return false;
      Incoming m = std::move(*incoming);
      incoming.reset();
      if (m.message.empty())
        ++goodbyes;
      else if (!closing) // then nobody waits for it
        m.to(m.from, std::move(m.message));
      return true;
    }
    std::function<void(int, Message)> to;
    {
      const std::lock_guard lock(mutex);
      if (!listener && !closing)
        return false;
      to = listener ? listener : [](int, Message) {};
    }
    int from = 0;
    const int64_t bytes = table.probe(&from);
    if (bytes < 0)
      return false;
    incoming.emplace(Incoming{from, Message(static_cast<size_t>(bytes)), std::move(to), nullptr});
    incoming->receiving = table.receive(from, incoming->message.data(), bytes);
    return true;
  }
};

// Which MPI has started this process, or may have, the likeliest first; empty: none.
std::vector<std::string> launchedBy() {
  if (std::getenv("OMPI_COMM_WORLD_SIZE"))
    return {"openmpi"};
  if (std::getenv("PMI_SIZE") || std::getenv("MPI_LOCALNRANKS"))
    return {"mpich"};
  if (std::getenv("PMIX_RANK")) // srun --mpi=pmix, prterun: both can join
    return {"openmpi", "mpich"};
  return {};
}

// Beside the library or program that this code is in, in the build's own folder, or in that of a wheel.
std::vector<std::filesystem::path> folders() {
  std::vector<std::filesystem::path> out;
  std::error_code ignored;
  const auto around = [&](const std::filesystem::path &file) {
    for (const char *to : {"", "../python/glia", "../lib/glia", "../glia"})
      out.push_back(file.parent_path() / to);
  };
  Dl_info here;
  if (dladdr(reinterpret_cast<const void *>(&launchedBy), &here) && here.dli_fname)
    around(std::filesystem::absolute(here.dli_fname));
  around(std::filesystem::read_symlink("/proc/self/exe", ignored)); // of a program the name above is what it was called by
  return out;
}

// Null, and why, if the plugin is not here or its MPI is not.
std::unique_ptr<RankNetwork> connect(const std::string &mpi, std::string &why) {
  const std::string file = "libglia_" + mpi + ".so";
  for (const std::filesystem::path &folder : folders()) {
    std::error_code ignored;
    if (!std::filesystem::exists(folder / file, ignored))
      continue;
    void *library = dlopen((folder / file).c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
      why = std::string("the plugin for MPI cannot be loaded: ") + dlerror();
      return nullptr;
    }
    const auto find = reinterpret_cast<const MpiTable *(*)()>(dlsym(library, kMpiTableSymbol));
    if (!find || find()->version != kMpiTableVersion)
      throw Error("RANK-MPI", "the plugin " + file + " is of another version of glia", "Build glia again.");
    return std::make_unique<MpiNetwork>(*find());
  }
  if (why.empty())
    why = "the process was started by " + mpi + ", and glia was built without a plugin for it";
  return nullptr;
}

std::unique_ptr<RankNetwork> connect(const std::vector<std::string> &mpis) {
  std::string why;
  for (const std::string &mpi : mpis)
    if (auto network = connect(mpi, why))
      return network;
  throw Error("RANK-MPI", why,
              "Install that MPI; build glia where its development package is installed (libopenmpi-dev, libmpich-dev); or "
              "start the program with another one, or without.");
}

} // namespace

RankNetwork *launchedNetwork() {
  static const std::unique_ptr<RankNetwork> network = [] {
    const std::vector<std::string> mpis = launchedBy();
    return mpis.empty() ? nullptr : connect(mpis);
  }();
  return network && network->processes() > 1 ? network.get() : nullptr;
}

} // namespace glia
