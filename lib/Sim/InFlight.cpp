#include "InFlight.h"
#include "Rects.h"

#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace glia::sim {

// A run shorter than this is over before a second thread has begun.
static constexpr auto kAlone = std::chrono::microseconds(200);
// What a thread does before it sleeps: instructions are short, and waking up takes longer than most of them.
static constexpr int kYields = 50;
static constexpr int kMostThreads = 256;

int threadsOf(const RunOptions &options) {
  if (options.threads > 0)
    return std::min(options.threads, kMostThreads);
  if (const char *text = std::getenv("GLIA_THREADS"); text && *text) {
    int n = 0;
    const char *end = text + std::strlen(text);
    if (const auto [at, bad] = std::from_chars(text, end, n); bad != std::errc() || at != end || n < 1)
      throw Error("RUN-THREADS", format("GLIA_THREADS is `%s`, which is no number of threads", text),
                  "Set it to 1 or more, or leave it out: then there is one for each processor.");
    return std::min(n, kMostThreads);
  }
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads);
}

Box boxOf(const Region &r, bool write, bool anywhere) {
  const ByteSet set = byteSet(r);
  if (r.space != Space::Hbm) {
    const auto base = reinterpret_cast<uintptr_t>(r.base) - static_cast<uintptr_t>(r.firstPartition * r.pitch + r.start);
    if (anywhere)
      return {base, 0, INT64_MAX, 0, INT32_MAX, write};
    return {base, set.start, set.last, r.firstPartition, r.firstPartition + r.partitions, write};
  }
  const int64_t tensor = reinterpret_cast<intptr_t>(r.base) - r.start;
  const int64_t lo = anywhere ? 0 : set.start, hi = anywhere ? r.objectBytes : set.last;
  return {0, tensor + lo, tensor + hi, 0, 1, write};
}

InFlight::InFlight(int threads, bool lazy, const Target &target, Run run)
    : threads(threads), lazy(lazy), target(target), run(std::move(run)), exec(target) {
  for (int place = 0; place < kPlaces; ++place)
    tasks[place].place = place;
}

InFlight::~InFlight() {
  drain();
  {
    std::unique_lock lock(mutex);
    stopping = true;
    note();
  }
  for (std::thread &t : workers)
    t.join();
}

bool InFlight::alone() {
  if (!workers.empty())
    return false;
  if (threads > 1 && (!lazy || std::chrono::steady_clock::now() - start > kAlone))
    startWorkers();
  return workers.empty();
}

void InFlight::startWorkers() {
  try {
    while (static_cast<int>(workers.size()) + 1 < threads)
      workers.emplace_back([this] { work(); });
  } catch (const std::system_error &) {
    threads = static_cast<int>(workers.size()) + 1; // the host gives no more
  }
}

Task &InFlight::claim() {
  if (workers.empty())
    return tasks[0];
  std::unique_lock lock(mutex);
  helpUntil(lock, [&] { return ~used != 0; });
  return tasks[std::countr_one(used)];
}

InFlight::Mask InFlight::sharing(const Task &t, Mask among) const {
  Mask out = 0;
  for (; among; among &= among - 1) {
    const int place = std::countr_zero(among);
    for (const Box &b : tasks[place].boxes)
      if (std::any_of(t.boxes.begin(), t.boxes.end(), [&](const Box &a) { return a.meets(b); })) {
        out |= bit(place);
        break;
      }
  }
  return out;
}

void InFlight::issue(Task &t) {
  const int place = t.place;
  Mask before;
  {
    std::unique_lock lock(mutex);
    before = used;
  }
  // Only this thread makes places used: those that become free meanwhile are taken out below.
  const Mask on = sharing(t, before);
  std::unique_lock lock(mutex);
  waitsFor[place] = on & used;
  used |= bit(place);
  (waitsFor[place] ? waiting : ready) |= bit(place);
  note();
}

void InFlight::await(const Task &t) {
  std::unique_lock lock(mutex);
  const Mask on = sharing(t, used);
  helpUntil(lock, [&] { return !(used & on); });
}

void InFlight::drain() {
  std::unique_lock lock(mutex);
  helpUntil(lock, [&] { return !used; });
}

int InFlight::oldestReady() const {
  int best = -1;
  for (Mask m = ready; m; m &= m - 1) {
    const int place = std::countr_zero(m);
    if (best < 0 || tasks[place].number < tasks[best].number)
      best = place;
  }
  return best;
}

void InFlight::runAt(int place, Exec &on, std::unique_lock<std::mutex> &lock) {
  ready &= ~bit(place);
  lock.unlock();
  Task &t = tasks[place];
  std::exception_ptr error;
  try {
    run(on, t);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  if (error && (!failed || t.number < failed->number)) {
    failed = std::make_unique<Failure>(Failure{t.number, t.label, error});
    failing = true;
  }
  used &= ~bit(place);
  for (Mask m = waiting; m; m &= m - 1) {
    const int other = std::countr_zero(m);
    waitsFor[other] &= ~bit(place);
    if (!waitsFor[other]) {
      waiting &= ~bit(other);
      ready |= bit(other);
    }
  }
  note();
}

void InFlight::note() {
  changes.fetch_add(1, std::memory_order_release);
  if (sleepers)
    changed.notify_all();
}

void InFlight::sleep(std::unique_lock<std::mutex> &lock) {
  const uint64_t seen = changes.load(std::memory_order_relaxed);
  lock.unlock();
  for (int i = 0; i < kYields && changes.load(std::memory_order_acquire) == seen; ++i)
    std::this_thread::yield();
  lock.lock();
  ++sleepers;
  changed.wait(lock, [&] { return changes.load(std::memory_order_relaxed) != seen; });
  --sleepers;
}

template <class Done> void InFlight::helpUntil(std::unique_lock<std::mutex> &lock, Done &&done) {
  while (!done()) {
    if (const int place = oldestReady(); place >= 0)
      runAt(place, exec, lock);
    else
      sleep(lock);
  }
}

void InFlight::work() {
  Exec own(target);
  std::unique_lock lock(mutex);
  while (!stopping) {
    if (const int place = oldestReady(); place >= 0)
      runAt(place, own, lock);
    else
      sleep(lock);
  }
}

} // namespace glia::sim
