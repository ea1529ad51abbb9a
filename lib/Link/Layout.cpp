#include "Layout.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <utility>

namespace glia::link {

namespace {

using Counts = std::map<SemaphoreClass, int>;

Counts countsOf(const Object &o) {
  Counts out;
  for (const SemaphoreClass &s : o.facts.semaphores)
    ++out[s];
  return out;
}

std::string engineOf(uint32_t mask) {
  for (int e = 0; e < kNumEngines; ++e)
    if (mask == 1u << e)
      return std::string(name(static_cast<Engine>(e)));
  return mask ? "several" : "dma";
}

} // namespace

Layout::Layout(Composition &c, Builder &b) : c(c), b(b) {
  for (const Tensor &t : c.tensors) {
    b.tensor(t);
    names.insert(t.name);
  }
  shareSemaphores();
  shareQueues();
  sharePipes();
  takeTurns();
}

std::string Layout::fresh(const std::string &stem) {
  std::string name = stem;
  for (int n = 2; !names.insert(name).second; ++n)
    name = stem + "_" + std::to_string(n);
  return name;
}

// Two sets of semaphores, for the two calls that can be under way at a time. Objects that ask for too much go alone, the largest first.
void Layout::shareSemaphores() {
  std::vector<bool> present(c.cores * kNumEngines);
  for (const Object &o : c.objects)
    for (uint32_t core = 0; core < o.program->cores; ++core)
      for (int e = 0; e < kNumEngines; ++e)
        if (o.facts.engines[core][e].size)
          present[core * kNumEngines + e] = true;
  own.resize(c.cores);
  std::vector<int> taken(c.cores, 0);
  for (uint32_t core = 0; core < c.cores; ++core) {
    const int n = static_cast<int>(core);
    for (int e = 0; e < kNumEngines; ++e)
      if (present[core * kNumEngines + e] && e != static_cast<int>(Engine::Sync)) {
        const std::string engine(name(static_cast<Engine>(e)));
        own[core].toSync[e] = b.semaphore("link." + engine + ".sync", 0, n);
        own[core].fromSync[e] = b.semaphore("link.sync." + engine, 0, n);
        taken[core] += 2;
      }
    own[core].completed[0] = b.semaphore("link.completed.a", 0, n);
    own[core].completed[1] = b.semaphore("link.completed.b", 0, n);
    taken[core] += 2;
    if (core == 0 && std::any_of(c.objects.begin(), c.objects.end(), [](const Object &o) { return o.aside; })) {
      for (int stream = 0; stream < kStreams; ++stream)
        own[core].exchanged[stream] = b.semaphore(stream ? "link.exchanged.b" : "link.exchanged.a", 0, n);
      taken[core] += kStreams;
    }
  }

  std::vector<Counts> counts;
  for (const Object &o : c.objects)
    counts.push_back(countsOf(o));
  Counts half, total;
  auto add = [&] {
    half.clear(), total.clear();
    for (size_t o = 0; o < c.objects.size(); ++o)
      for (const auto &[kind, n] : counts[o]) {
        if (!c.objects[o].whole)
          half[kind] = std::max(half[kind], n);
        total[kind] = std::max({total[kind], c.objects[o].whole ? n : 0, 2 * half[kind]});
      }
    std::vector<int> sum = taken;
    for (const auto &[kind, n] : total)
      sum[kind.core] += n;
    return *std::max_element(sum.begin(), sum.end());
  };
  for (int need; (need = add()) > c.target->semaphores;) {
    int largest = -1;
    for (size_t o = 0; o < c.objects.size(); ++o)
      if (!c.objects[o].whole &&
          (largest < 0 || c.objects[o].facts.semaphores.size() > c.objects[largest].facts.semaphores.size()))
        largest = static_cast<int>(o);
    if (largest < 0) {
      const Object *most = nullptr, *second = nullptr;
      for (const Object &o : c.objects) {
        const Object *x = &o;
        if (!most || x->facts.semaphores.size() > most->facts.semaphores.size())
          std::swap(x, most);
        if (x && (!second || x->facts.semaphores.size() > second->facts.semaphores.size()))
          second = x;
      }
      if (!second)
        second = most;
      throw Error(
          "LINK-SEMAPHORES",
          format(
              "kernels `%s` (%zu semaphores) and `%s` (%zu) cannot be in one program: %d semaphores of a core are needed, "
              "and %s has %d",
              most->facts.kernel.c_str(), most->facts.semaphores.size(), second->facts.kernel.c_str(),
              second->facts.semaphores.size(), need, c.target->name.c_str(), c.target->semaphores),
          "Link them into separate programs, or make the kernels smaller.");
    }
    c.objects[largest].whole = true;
  }

  std::map<SemaphoreClass, std::vector<int>> pool;
  for (const auto &[kind, n] : total)
    for (int i = 0; i < n; ++i)
      pool[kind].push_back(b.semaphore(format("%s.%s.%s%d", engineOf(kind.producer).c_str(), engineOf(kind.waiters).c_str(),
                                              kind.initial ? ("from" + std::to_string(kind.initial) + ".").c_str() : "", i),
                                       kind.initial, kind.core));
  for (uint32_t o = 0; o < c.objects.size(); ++o)
    for (int slot = 0; slot < (c.objects[o].whole ? 1 : 2); ++slot) {
      Counts next;
      std::vector<int> &mine = semaphores[{o, slot}];
      for (const SemaphoreClass &kind : c.objects[o].facts.semaphores)
        mine.push_back(pool[kind][slot * half[kind] + next[kind]++]);
    }
}

// Each engine has queues of its own (D3b), which all calls share. Queues of an object may fall together: a queue promises no order of
// data, so that takes away time and no proof.
void Layout::shareQueues() {
  std::vector<std::array<int, kNumEngines>> need(c.cores);
  for (auto &n : need)
    n.fill(0);
  auto forEach = [](const Object &o, auto f) {
    std::map<std::pair<int, int>, int> seen;
    for (size_t q = 0; q < o.facts.queueOwner.size(); ++q)
      if (o.facts.queueOwner[q] >= 0) {
        const std::pair<int, int> who{o.program->queues[q].core, o.facts.queueOwner[q]};
        f(q, who.first, who.second, seen[who]++);
      }
  };
  bool aside = false;
  for (const Object &o : c.objects) {
    aside |= o.aside;
    if (!o.aside)
      forEach(o, [&](size_t, int core, int engine, int n) { need[core][engine] = std::max(need[core][engine], n + 1); });
  }
  std::vector<std::array<std::vector<int>, kNumEngines>> made(c.cores);
  for (uint32_t core = 0; core < c.cores; ++core) {
    auto &n = need[core];
    while (n[0] + n[1] + n[2] + n[3] + n[4] + (aside && core == 0 ? kStreams : 0) > c.target->dmaQueues)
      --*std::max_element(n.begin(), n.end());
    for (int e = 0; e < kNumEngines; ++e)
      for (int i = 0; i < n[e]; ++i)
        made[core][e].push_back(
            b.queue(std::string(name(static_cast<Engine>(e))) + std::to_string(i), static_cast<int>(core)));
  }
  if (aside)
    for (int stream = 0; stream < kStreams; ++stream)
      streams.push_back(b.queue(stream ? "exchange_b" : "exchange_a", 0));
  for (const Object &o : c.objects) {
    std::vector<int> mine(o.facts.queueOwner.size(), 0);
    if (!o.aside)
      forEach(o, [&](size_t q, int core, int engine, int n) {
        mine[q] = made[core][engine][n % static_cast<int>(made[core][engine].size())];
      });
    queues.push_back(std::move(mine));
  }
}

void Layout::sharePipes() {
  std::map<std::array<int, 2>, std::vector<int>> made;
  int next = 0;
  for (const Object &o : c.objects) {
    std::map<int, int> mine;
    std::map<std::array<int, 2>, size_t> seen;
    for (const auto &[pipe, owner] : o.facts.pipeOwner) {
      std::vector<int> &list = made[owner];
      const size_t n = seen[owner]++;
      if (n == list.size())
        list.push_back(next++);
      if (next > 256)
        throw Error("LINK-PIPES",
                    format("kernel `%s` and those before it exchange on more than 256 pipes", o.facts.kernel.c_str()));
      mine[pipe] = list[n];
    }
    pipes.push_back(std::move(mine));
  }
}

void Layout::takeTurns() {
  int turn = 0, stream = 0;
  for (Call &call : c.calls) {
    const Object &o = c.objects[call.object];
    if (o.aside)
      call.slot = std::exchange(stream, (stream + 1) % kStreams);
    else
      call.slot = o.whole ? 0 : std::exchange(turn, 1 - turn);
  }
}

uint32_t Layout::constant(const Object &o, const Tensor &t) {
  std::string key = std::string(name(t.dtype)) + ":";
  for (int64_t n : t.shape)
    key += std::to_string(n) + ",";
  key.append(reinterpret_cast<const char *>(t.data.data()), t.data.size());
  const auto it = constants.find(key);
  if (it != constants.end())
    return it->second;
  Tensor x = t;
  x.name = fresh(o.name + "." + t.name);
  return constants[key] = b.tensor(std::move(x)).index;
}

const Layout::Place &Layout::place(uint32_t object, int slot) {
  const auto [it, isNew] = places.try_emplace({object, slot});
  Place &out = it->second;
  if (!isNew)
    return out;
  const Object &o = c.objects[object];
  const Program &p = *o.program;
  const char *suffix = o.whole ? "." : slot ? ".b." : ".a.";
  const Target &t = *c.target;
  const int64_t shift[2] = {slot * (t.sbufBytes / 2 / 64 * 64),
                            slot * (t.psumBytes / 2 / t.psumBankBytes * t.psumBankBytes)};
  std::map<std::string, std::string> named; // the same name on both cores
  for (const Allocation &a : p.allocations) {
    Allocation x = a;
    std::string &name = named[a.name];
    if (name.empty())
      name = fresh(o.name + suffix + a.name);
    x.name = name;
    x.byteOffset += shift[a.space == Space::Psum];
    x.liveFrom += tick;
    x.liveTo = a.liveTo == UINT32_MAX ? tick + o.facts.ticks : a.liveTo + tick;
    out.allocations.push_back(b.allocation(std::move(x)).index);
  }
  tick += o.facts.ticks;
  for (const Tensor &x : p.tensors) {
    if (x.kind == TensorKind::Constant) {
      out.tensors.push_back(constant(o, x));
    } else if (x.kind == TensorKind::Scratch) {
      Tensor y = x;
      y.name = fresh(o.name + suffix + x.name);
      out.tensors.push_back(b.tensor(std::move(y)).index);
    } else {
      out.tensors.push_back(kUnbound);
    }
  }
  return out;
}

Access Layout::fenceTo(int slot, int queue) {
  if (fence < 0) {
    Tensor t;
    t.name = fresh("link.fence");
    t.shape = {2, static_cast<int64_t>(b.program().queues.size())};
    t.shared = false;
    fence = static_cast<int>(b.tensor(std::move(t)).index);
  }
  return b.view({ObjectKind::Tensor, static_cast<uint32_t>(fence)}, {{slot, slot + 1, 1}, {queue, queue + 1, 1}});
}

Access Layout::fenceFrom() {
  if (zero < 0) {
    const float nothing = 0;
    zero = static_cast<int>(b.constant(fresh("link.zero"), DType::F32, {1, 1}, std::as_bytes(std::span(&nothing, 1))).index);
  }
  return b.view({ObjectKind::Tensor, static_cast<uint32_t>(zero)});
}

} // namespace glia::link
