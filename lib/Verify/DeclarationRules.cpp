// Rules on what a program declares: cores, tensors, allocations, semaphores and queues.
#include "StaticParts.h"

#include <algorithm>
#include <map>
#include <queue>

namespace glia {

namespace {

std::string text(int64_t v) { return std::to_string(v); }

class Declarations {
public:
  Declarations(const Program &p, Reporter &r) : p(p), t(*p.target), r(r) {}

  void run() {
    if (static_cast<int64_t>(p.cores) > t.maxCores)
      r.failProgram("CORE-COUNT",
                    format("the program uses %u cores and a logical core of %s has %d", p.cores, t.name.c_str(), t.maxCores),
                    text(p.cores), text(t.maxCores));
    tensors();
    allocations();
    counts();
  }

private:
  const Program &p;
  const Target &t;
  Reporter &r;

  void tensors() {
    __int128 total = 0;
    for (const Tensor &x : p.tensors) {
      total += static_cast<__int128>(x.bytes()) * (x.shared ? 1 : p.cores);
      if (x.hasRange)
        checkRange(x);
    }
    const int64_t limit = t.integer("memory.hbm_bytes");
    if (total > limit)
      r.failProgram(
          "HBM-CAPACITY",
          format("the tensors need %lld bytes of HBM and there are %lld", (long long)clampFar(total), (long long)limit),
          text(clampFar(total)), text(limit));
  }

  void checkRange(const Tensor &x) {
    const DTypeInfo &d = info(x.dtype);
    const int bits = 8 * d.bytes;
    const int64_t lo = d.isSigned ? (bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1))) : 0;
    const int64_t hi = bits == 64 ? INT64_MAX : (int64_t{1} << (d.isSigned ? bits - 1 : bits)) - 1;
    if (x.rangeLo < lo || x.rangeHi > hi)
      r.failProgram("INPUT-RANGE",
                    format("the range %lld to %lld of `%s` is larger than its type %s", (long long)x.rangeLo,
                           (long long)x.rangeHi, x.name.c_str(), std::string(d.name).c_str()),
                    format("%lld to %lld", (long long)x.rangeLo, (long long)x.rangeHi),
                    format("%lld to %lld", (long long)lo, (long long)hi));
  }

  void allocations() {
    const int64_t align[2] = {t.integer("memory.sbuf_align"), t.integer("memory.psum_align")};
    const int64_t bytes[2] = {t.sbufBytes, t.psumBytes};
    bool inside = true;
    for (const Allocation &a : p.allocations) {
      const int s = a.space == Space::Psum;
      const std::string where(name(a.space));
      const __int128 lastPartition = static_cast<__int128>(a.partition) + a.partitions();
      const __int128 lastByte = static_cast<__int128>(a.byteOffset) + a.bytesPerPartition();
      if (a.partition < 0 || lastPartition > t.partitions) {
        inside = false;
        r.failProgram("ALLOC-BOUNDS",
                      format("`%s` takes partitions %d to %lld of %s, which has %d", a.name.c_str(), a.partition,
                             (long long)clampFar(lastPartition - 1), where.c_str(), t.partitions),
                      text(clampFar(lastPartition)), text(t.partitions));
      } else if (a.byteOffset < 0 || lastByte > bytes[s]) {
        inside = false;
        r.failProgram("ALLOC-BOUNDS",
                      format("`%s` takes bytes %lld to %lld of a partition of %s, which has %lld usable bytes",
                             a.name.c_str(), (long long)a.byteOffset, (long long)clampFar(lastByte - 1), where.c_str(),
                             (long long)bytes[s]),
                      text(clampFar(lastByte)), text(bytes[s]));
      }
      const int64_t need = std::max<int64_t>(align[s], sizeOf(a.dtype));
      if (a.byteOffset % need)
        r.failProgram("ALLOC-ALIGN",
                      format("`%s` starts at byte %lld of a partition of %s; %s there starts at a multiple of %lld",
                             a.name.c_str(), (long long)a.byteOffset, where.c_str(), std::string(name(a.dtype)).c_str(),
                             (long long)need),
                      text(a.byteOffset), "a multiple of " + text(need));
    }
    if (inside)
      for (uint32_t core = 0; core < p.cores; ++core)
        for (Space s : {Space::Sbuf, Space::Psum})
          overlaps(core, s);
  }

  // Allocations in the order of their first tick, against those that are live then. Memory is cut into bands of
  // partitions that no allocation divides; in a band the live ones are disjoint intervals of bytes, ordered by start.
  void overlaps(uint32_t core, Space space) {
    std::vector<uint32_t> order;
    std::vector<int32_t> cuts;
    for (uint32_t i = 0; i < p.allocations.size(); ++i) {
      const Allocation &a = p.allocations[i];
      if (a.core != core || a.space != space)
        continue;
      order.push_back(i);
      cuts.push_back(a.partition);
      cuts.push_back(a.partition + static_cast<int32_t>(a.partitions()));
      if (cuts.size() > 4096)
        unique(cuts);
    }
    unique(cuts);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(p.allocations[a].liveFrom, a) < std::pair(p.allocations[b].liveFrom, b);
    });

    std::vector<std::map<int64_t, uint32_t>> bands(cuts.size());
    auto firstBand = [&](int64_t partition) {
      return static_cast<size_t>(std::lower_bound(cuts.begin(), cuts.end(), partition) - cuts.begin());
    };
    auto endOf = [](const Allocation &a) {
      return std::max(a.liveTo, a.liveFrom == UINT32_MAX ? UINT32_MAX : a.liveFrom + 1);
    };
    using Expiry = std::pair<uint32_t, uint32_t>; // last tick, allocation
    std::priority_queue<Expiry, std::vector<Expiry>, std::greater<>> expiries;

    for (uint32_t i : order) {
      const Allocation &a = p.allocations[i];
      for (; !expiries.empty() && expiries.top().first <= a.liveFrom; expiries.pop()) {
        const Allocation &old = p.allocations[expiries.top().second];
        for (size_t b = firstBand(old.partition); b < firstBand(old.partition + old.partitions()); ++b) {
          auto it = bands[b].find(old.byteOffset);
          if (it != bands[b].end() && it->second == expiries.top().second)
            bands[b].erase(it);
        }
      }
      const size_t first = firstBand(a.partition), last = firstBand(a.partition + a.partitions());
      const int64_t start = a.byteOffset, end = start + a.bytesPerPartition();
      bool told = false;
      for (size_t b = first; b < last; ++b) {
        auto next = bands[b].lower_bound(start);
        auto meet = next != bands[b].end() && next->first < end ? next : bands[b].end();
        if (meet == bands[b].end() && next != bands[b].begin()) {
          auto before = std::prev(next);
          if (before->first + p.allocations[before->second].bytesPerPartition() > start)
            meet = before;
        }
        if (meet == bands[b].end()) {
          bands[b].emplace(start, i);
        } else if (!told) {
          told = true;
          tellOverlap(p.allocations[meet->second], a);
        }
      }
      expiries.push({endOf(a), i});
      if (r.full())
        return;
    }
  }

  static void unique(std::vector<int32_t> &v) {
    std::sort(v.begin(), v.end());
    v.erase(std::unique(v.begin(), v.end()), v.end());
  }

  void tellOverlap(const Allocation &a, const Allocation &b) {
    auto place = [](const Allocation &x) {
      return format("`%s` has partitions %d to %lld, bytes %lld to %lld, ticks %u to %u", x.name.c_str(), x.partition,
                    (long long)(x.partition + x.partitions() - 1), (long long)x.byteOffset,
                    (long long)(x.byteOffset + x.bytesPerPartition() - 1), x.liveFrom, x.liveTo);
    };
    r.failProgram("ALLOC-OVERLAP",
                  format("`%s` and `%s` share bytes of %s and live at the same time", a.name.c_str(), b.name.c_str(),
                         std::string(name(a.space)).c_str()),
                  {}, {}, {place(a), place(b)});
  }

  void counts() {
    std::vector<int64_t> semaphores(p.cores), queues(p.cores);
    for (const Semaphore &s : p.semaphores) {
      ++semaphores[s.core];
      if (s.initial > t.semaphoreMax)
        r.failProgram("SYNC-RANGE",
                      format("semaphore `%s` starts at %d and holds at most %lld", s.name.c_str(), s.initial,
                             (long long)t.semaphoreMax),
                      text(s.initial), text(t.semaphoreMax));
    }
    for (const Queue &q : p.queues)
      ++queues[q.core];
    for (uint32_t c = 0; c < p.cores; ++c) {
      if (semaphores[c] > t.semaphores)
        r.failProgram("SEMAPHORE-COUNT",
                      format("core %u uses %lld semaphores and has %d", c, (long long)semaphores[c], t.semaphores),
                      text(semaphores[c]), text(t.semaphores));
      if (queues[c] > t.dmaQueues)
        r.failProgram("QUEUE-COUNT", format("core %u uses %lld DMA queues and has %d", c, (long long)queues[c], t.dmaQueues),
                      text(queues[c]), text(t.dmaQueues));
    }
  }
};

} // namespace

void checkDeclarations(const Program &p, Reporter &r) { Declarations(p, r).run(); }

} // namespace glia
