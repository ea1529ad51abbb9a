#include "RankRoom.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace glia::sim {

namespace {

constexpr std::chrono::milliseconds kBetweenQuestions{50};
constexpr std::chrono::microseconds kLook{100};

// The rooms of this process, and messages for those that are not open yet.
struct Rooms {
  std::mutex mutex;
  uint64_t opened = 0;
  std::map<uint64_t, RankRoom *> open;
  std::map<uint64_t, std::vector<RankMessage>> early;
};
Rooms &rooms() {
  static Rooms &all = *new Rooms; // the network hears the others for longer than static objects live
  return all;
}

// Messages are looked for sooner while it lives.
class Expecting {
public:
  explicit Expecting(RankNetwork *network) : network(network) {
    if (network)
      network->expect(1);
  }
  ~Expecting() {
    if (network)
      network->expect(-1);
  }
  Expecting(const Expecting &) = delete;

private:
  RankNetwork *const network;
};

void hearAny(int /*from*/, RankNetwork::Message bytes) {
  std::optional<RankMessage> m = decode(std::move(bytes));
  if (!m)
    return;
  Rooms &all = rooms();
  const std::lock_guard lock(all.mutex);
  if (const auto it = all.open.find(m->run); it != all.open.end())
    it->second->hear(std::move(*m));
  else if (m->run >= all.opened)
    all.early[m->run].push_back(std::move(*m));
}

} // namespace

RankRoom::RankRoom(int ranks, RankNetwork *network, std::chrono::seconds timeout, int atOnce)
    : ranks(ranks), network(network), timeout(timeout), atOnce(atOnce), hasTurn(static_cast<size_t>(ranks)),
      visits(static_cast<size_t>(ranks)), states(static_cast<size_t>(ranks)), waitingAt(static_cast<size_t>(ranks)) {
  if (!network)
    return;
  Rooms &all = rooms();
  const std::lock_guard lock(all.mutex);
  if (all.opened == 0)
    network->listen(hearAny);
  run = all.opened++;
  all.open[run] = this;
  if (const auto it = all.early.find(run); it != all.early.end()) {
    for (RankMessage &m : it->second)
      hear(std::move(m));
    all.early.erase(it);
  }
}

RankRoom::~RankRoom() {
  if (!network)
    return;
  Rooms &all = rooms();
  const std::lock_guard lock(all.mutex);
  all.open.erase(run);
}

void RankRoom::tell(const RankMessage &m, const std::vector<int> &toRanks) {
  if (!network)
    return;
  const auto bytes = std::make_shared<const RankNetwork::Message>(encode(m));
  std::vector<bool> told(static_cast<size_t>(network->processes()));
  told[static_cast<size_t>(network->process())] = true;
  for (const int r : toRanks)
    if (const auto p = static_cast<size_t>(network->processOf(r, ranks)); !told[p]) {
      told[p] = true;
      network->send(static_cast<int>(p), bytes);
    }
}

void RankRoom::tellAll(const RankMessage &m) {
  if (!network)
    return;
  const auto bytes = std::make_shared<const RankNetwork::Message>(encode(m));
  for (int p = 0; p < network->processes(); ++p)
    if (p != network->process())
      network->send(p, bytes);
}

void RankRoom::hear(RankMessage m) {
  if (m.rank < 0 || m.rank >= ranks || isHere(m.rank))
    return;
  std::unique_lock lock(mutex);
  switch (m.kind) {
  case RankMessage::Arrived: {
    const Key key{m.what.members(m.rank), m.visit};
    Meeting &meeting = meetings[key];
    Arrival &a = meeting.here[m.rank];
    a = {std::move(m.what), std::move(m.text), m.data, std::move(m.held)};
    goOnIfComplete(key.first, meeting);
    break;
  }
  case RankMessage::Ended: end(m.rank, m.text); break;
  case RankMessage::Output:
    given[m.rank].inputs = m.visit;
    given[m.rank].outputs[m.text] = std::move(m);
    break;
  }
  tellChange(lock);
}

// Without the lock, or whoever is woken waits for it.
void RankRoom::tellChange(std::unique_lock<std::mutex> &lock) {
  changes.fetch_add(1, std::memory_order_release);
  lock.unlock();
  changed.notify_all();
}

// Looks for a change before it sleeps, which takes longer than others often need; where ranks have a processor each.
void RankRoom::awaitChange(std::unique_lock<std::mutex> &lock) {
  if (network || atOnce < ranks || ranks > static_cast<int>(std::thread::hardware_concurrency()))
    return;
  const uint64_t before = changes.load(std::memory_order_relaxed);
  lock.unlock();
  const auto end = std::chrono::steady_clock::now() + kLook;
  while (changes.load(std::memory_order_acquire) == before && std::chrono::steady_clock::now() < end) {
  }
  lock.lock();
}

// Ranks of one group say the same at their n-th meeting.
void RankRoom::checkAlike(const Arrival &mine, int rank, const Meeting &m) const {
  for (const auto &[other, theirs] : m.here)
    if (theirs.what != mine.what) {
      const Arrival &first = rank < other ? mine : theirs, &second = rank < other ? theirs : mine;
      throw Error("RANK-MISMATCH",
                  format("rank %d comes with %s (%s) and rank %d with %s (%s)", std::min(rank, other),
                         first.what.text().c_str(), first.who.c_str(), std::max(rank, other), second.what.text().c_str(),
                         second.who.c_str()),
                  "The ranks of a group exchange the same in the same order.");
    }
}

// Nobody runs who could still come: whoever waits waits for ever.
bool RankRoom::isStuck() const {
  return std::none_of(states.begin(), states.end(), [](State s) { return s == State::Running; }) &&
         std::any_of(states.begin(), states.end(), [](State s) { return s == State::Waiting; });
}

void RankRoom::findStuck() {
  if (!isStuck())
    return;
  stuck = true;
  changed.notify_all();
}

void RankRoom::tellStuck(int rank, const std::vector<int> &members, const Meeting &m, const char *code) const {
  std::string missing;
  for (const int r : members) {
    if (m.here.contains(r))
      continue;
    const auto i = static_cast<size_t>(r);
    missing += (missing.empty() ? "rank " : "; rank ") + std::to_string(r) +
               (states[i] == State::Ended ? " has ended"
                : isHere(r)               ? " waits at " + waitingAt[i]
                                          : format(" of process %d has not come", network->processOf(r, ranks)));
  }
  throw Error(code, format("rank %d waits for ever at %s: ", rank, waitingAt[static_cast<size_t>(rank)].c_str()) + missing,
              "The ranks of a group exchange the same in the same order.");
}

bool RankRoom::isAnyHere(State atMost) const {
  for (int r = 0; r < ranks; ++r)
    if (isHere(r) && states[static_cast<size_t>(r)] <= atMost)
      return true;
  return false;
}

// Until `ready`, a failure, or, where others are in other processes, the time is up; it does not pass while a rank of this process is `busy`.
template <class Ready>
void RankRoom::wait(std::unique_lock<std::mutex> &lock, int rank, const StopQuestion &stop, State busy, Ready ready) {
  const Expecting expecting(network);
  auto begin = std::chrono::steady_clock::now();
  while (!changed.wait_for(lock, kBetweenQuestions, [&] { return ready() || failed >= 0 || stuck; })) {
    lock.unlock();
    const bool stopped = stop && stop();
    lock.lock();
    if (stopped && !ready())
      throw Interrupted();
    if (isAnyHere(busy))
      begin = std::chrono::steady_clock::now();
    if (network && timeout.count() > 0 && std::chrono::steady_clock::now() - begin > timeout) {
      network->abandon();
      break;
    }
  }
  if (!ready() && failed >= 0)
    throw Error("RANK-ENDED", format("rank %d was stopped because rank %d failed: %s", rank, failed, failure.c_str()));
}

void RankRoom::takeTurn(int rank, const StopQuestion &stop) {
  std::unique_lock lock(mutex);
  awaitTurn(lock, rank, stop);
}

void RankRoom::awaitTurn(std::unique_lock<std::mutex> &lock, int rank, const StopQuestion &stop) {
  while (!turns.wait_for(lock, kBetweenQuestions, [&] { return running < atOnce; })) {
    lock.unlock();
    const bool stopped = stop && stop();
    lock.lock();
    if (stopped)
      throw Interrupted();
  }
  ++running;
  hasTurn[static_cast<size_t>(rank)] = true;
}

void RankRoom::passTurn(int rank) {
  if (!hasTurn[static_cast<size_t>(rank)])
    return;
  hasTurn[static_cast<size_t>(rank)] = false;
  --running;
  turns.notify_one();
}

int RankRoom::waiting() const {
  int here = 0;
  for (int r = 0; r < ranks; ++r)
    here += isHere(r);
  return std::max(here - atOnce, 0);
}

const Lifetimes &RankRoom::lifetimes(const Program &p) {
  const std::lock_guard lock(mutex);
  std::unique_ptr<const Lifetimes> &found = analysed[&p];
  if (!found)
    found = std::make_unique<const Lifetimes>(p);
  return *found;
}

SharedBytes RankRoom::meet(int rank, const Collective &c, std::span<const std::byte> source, const std::string &who,
                           const StopQuestion &stop) {
  const std::vector<int> members = c.members(rank);
  const auto local = static_cast<size_t>(std::count_if(members.begin(), members.end(), [&](int r) { return isHere(r); }));
  std::unique_lock lock(mutex);
  const uint64_t visit = visits[static_cast<size_t>(rank)][members]++;
  const Key key{members, visit};
  if (local < members.size()) {
    lock.unlock();
    RankMessage m;
    m.kind = RankMessage::Arrived;
    m.run = run, m.rank = rank, m.visit = visit, m.what = c, m.text = who;
    m.data = source;
    tell(m, members);
    lock.lock();
  }
  Meeting &m = meetings[key];
  const Arrival mine{c, who, source, {}};
  checkAlike(mine, rank, m);
  m.here.emplace(rank, mine);
  if (!goOnIfComplete(members, m))
    awaitOthers(lock, rank, mine, m, members, stop);
  if (!m.isDone)
    makeResults(lock, rank, m, members);
  const auto made = m.results.find(rank);
  if (made == m.results.end())
    throw Error("RANK-ENDED", format("rank %d was stopped because rank %d failed: %s", rank, failed, failure.c_str()));
  SharedBytes out = std::move(made->second);
  if (++m.taken == local)
    meetings.erase(key);
  if (!hasTurn[static_cast<size_t>(rank)])
    awaitTurn(lock, rank, stop);
  return out;
}

// Those who wait for nobody any more are at work again, even if they have not noticed: when the others end, nobody is stuck.
bool RankRoom::goOnIfComplete(const std::vector<int> &members, const Meeting &m) {
  if (m.here.size() < members.size())
    return false;
  for (const int r : members)
    if (states[static_cast<size_t>(r)] == State::Waiting)
      states[static_cast<size_t>(r)] = State::Running;
  return true;
}

// Until the results are made or are to be made here. Throws, with nothing of this rank left behind, if that will never be.
void RankRoom::awaitOthers(std::unique_lock<std::mutex> &lock, int rank, const Arrival &mine, Meeting &m,
                           const std::vector<int> &members, const StopQuestion &stop) {
  const auto complete = [&] { return m.here.size() == members.size(); };
  waitingAt[static_cast<size_t>(rank)] = mine.what.text() + " (" + mine.who + ")";
  states[static_cast<size_t>(rank)] = State::Waiting;
  passTurn(rank);
  findStuck();
  awaitChange(lock);
  try {
    wait(lock, rank, stop, State::Running, [&] { return m.isDone || (complete() && !m.isCombining); });
    if (!m.isDone && !complete())
      tellStuck(rank, members, m, stuck ? "RANK-DEADLOCK" : "RANK-TIMEOUT");
    changed.wait(lock, [&] { return m.isDone || !m.isCombining; }); // one makes the results of all
    checkAlike(mine, rank, m);                                      // the last to come may be of another process
  } catch (...) {
    changed.wait(lock, [&] { return m.isDone || !m.isCombining; }); // somebody reads what this rank gave
    m.here.erase(rank);
    throw;
  }
  states[static_cast<size_t>(rank)] = State::Running;
}

// For all members of this process, while they wait: behind it nobody reads what they gave.
void RankRoom::makeResults(std::unique_lock<std::mutex> &lock, int rank, Meeting &m, const std::vector<int> &members) {
  m.isCombining = true;
  const Collective &c = m.here.at(rank).what;
  std::vector<std::span<const std::byte>> sources;
  for (const int r : members)
    sources.emplace_back(m.here.at(r).source);
  lock.unlock();
  std::map<int, SharedBytes> results;
  std::string wrong;
  try {
    const bool same =
        c.kind == CollectiveKind::AllReduce || c.kind == CollectiveKind::AllGather || c.kind == CollectiveKind::Broadcast;
    SharedBytes one;
    for (const int r : members) {
      if (!isHere(r))
        continue;
      if (!one || !same) {
        RawBytes bytes(static_cast<size_t>(c.resultElements(members.size()) * sizeOf(c.dtype)));
        combine(c, r, sources, bytes);
        one = std::make_shared<const RawBytes>(std::move(bytes));
      }
      results[r] = one;
    }
  } catch (const std::exception &e) { // no memory
    results.clear();
    wrong = e.what();
  }
  lock.lock();
  m.results = std::move(results);
  m.here.clear();
  m.isDone = true;
  if (!wrong.empty())
    end(rank, wrong);
  tellChange(lock);
  lock.lock();
}

void RankRoom::end(int rank, const std::string &why) {
  states[static_cast<size_t>(rank)] = State::Ended;
  if (!why.empty() && failed < 0) {
    failed = rank;
    failure = why;
    changed.notify_all();
  }
  findStuck();
}

void RankRoom::leave(int rank, const std::string &why) {
  if (isHere(rank)) {
    RankMessage m;
    m.kind = RankMessage::Ended;
    m.run = run, m.rank = rank, m.text = why;
    tellAll(m);
  }
  const std::lock_guard lock(mutex);
  passTurn(rank);
  end(rank, why);
}

void RankRoom::giveOutputs(int rank, const TensorBuffers &buffers, uint64_t inputs) {
  for (const auto &[name, bytes] : buffers) {
    if (!bytes.data())
      continue; // nobody wants it
    RankMessage m;
    m.kind = RankMessage::Output;
    m.run = run, m.rank = rank, m.visit = inputs, m.text = name;
    m.data = bytes;
    tellAll(m);
  }
}

void RankRoom::takeOutputs(int rank, const TensorBuffers &buffers, uint64_t inputs, const StopQuestion &stop) {
  const auto wanted = static_cast<size_t>(
      std::count_if(buffers.begin(), buffers.end(), [](const auto &b) { return b.second.data() != nullptr; }));
  std::unique_lock lock(mutex);
  const auto all = [&] {
    const auto it = given.find(rank);
    return wanted == 0 ? states[static_cast<size_t>(rank)] == State::Ended
                       : it != given.end() && it->second.outputs.size() == wanted;
  };
  wait(lock, rank, stop, State::Waiting, all);
  if (!all())
    throw Error("RANK-TIMEOUT",
                format("the results of rank %d do not come from process %d", rank, network->processOf(rank, ranks)));
  if (wanted > 0 && given[rank].inputs != inputs)
    throw Error("RANK-MISMATCH",
                format("process %d was given other inputs for rank %d than process %d", network->process(), rank,
                       network->processOf(rank, ranks)),
                "Start all of them with the same files and arguments, and run programs in one thread.");
  for (const auto &[name, bytes] : buffers) {
    if (!bytes.data())
      continue;
    const std::span<const std::byte> from = given[rank].outputs[name].data;
    if (from.size() != bytes.size())
      throw Error("RANK-MISMATCH", format("the processes run different programs: `%s` of rank %d", name.c_str(), rank),
                  "Start all of them with the same files and arguments, and run programs in one thread.");
    if (!from.empty())
      std::memcpy(bytes.data(), from.data(), from.size());
  }
}

} // namespace glia::sim
