#include "Memory.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace glia::sim {

Pages::Pages(size_t bytes, bool large) : size(bytes) {
  void *p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    throw Error("RUN-MEMORY", format("the host has no room for %lld bytes of simulated memory", (long long)bytes),
                "Make the program's tensors smaller, or run it on a larger machine.");
  start = static_cast<std::byte *>(p);
#ifdef MADV_HUGEPAGE
  if (large)
    ::madvise(p, size, MADV_HUGEPAGE); // a wish: refused, it costs only time
#endif
}

Pages::~Pages() {
  if (start)
    ::munmap(start, size);
}

// A pitch of a power of two (or near one) puts all partitions into the same cache sets: one more line avoids that.
static int64_t paddedPitch(int64_t bytes) { return (bytes + 63) / 64 * 64 + 64; }

// Fresh pages cost more than zeroing what a run has used: a thread keeps the memories of a pair of cores for its next run.
static thread_local std::vector<Pages> idle;
static constexpr size_t kMostIdle = 4;

static Pages zeroedPages(size_t bytes, bool large) {
  if (large)
    for (Pages &p : idle)
      if (p.bytes() == bytes) {
        std::swap(p, idle.back());
        Pages out = std::move(idle.back());
        idle.pop_back();
        return out;
      }
  return Pages(bytes, large);
}

Memory::~Memory() {
  for (const Used &u : used) {
    if (idle.size() == kMostIdle)
      return;
    for (int p = 0; p < u.partitions; ++p)
      std::memset(pages[u.page].data() + p * u.pitch + u.lo, 0, static_cast<size_t>(u.hi - u.lo));
    idle.push_back(std::move(pages[u.page]));
  }
}

// The bytes of a partition from the first to the last that an allocation has.
static std::pair<int64_t, int64_t> usedBytes(const Program &p, int core, Space s, int64_t capacity) {
  int64_t lo = capacity, hi = 0;
  for (const Allocation &a : p.allocations)
    if (a.core == core && a.space == s && a.byteOffset >= 0) {
      lo = std::min<int64_t>(lo, a.byteOffset);
      hi = std::max<int64_t>(hi, a.byteOffset + a.bytesPerPartition());
    }
  return {std::min(lo, capacity), std::clamp(hi, std::min(lo, capacity), capacity)};
}

Memory::Memory(const Program &p, const TensorViews &inputs, const TensorBuffers *outputs) : program(p), cores(p.cores) {
  const Target &t = *p.target;
  struct Chip {
    std::byte *base;
    int64_t pitch, bytes;
    int memory;
  };
  std::vector<std::array<Chip, 2>> chips(cores);
  for (size_t core = 0; core < cores; ++core)
    for (Space s : {Space::Sbuf, Space::Psum}) {
      const int64_t bytes = s == Space::Sbuf ? t.sbufBytes : t.psumBytes;
      const int64_t pitch = paddedPitch(bytes);
      const auto [lo, hi] = usedBytes(p, static_cast<int>(core), s, bytes);
      const bool large = hi - lo > bytes / 3;
      if (large)
        used.push_back({pages.size(), pitch, lo, hi, t.partitions});
      chips[core][static_cast<int>(s)] = {pages.emplace_back(zeroedPages(pitch * t.partitions, large)).data(), pitch, bytes,
                                          static_cast<int>(memories.size())};
      memories.push_back({s, t.partitions, bytes, false});
    }
  for (const Allocation &a : p.allocations) {
    const Chip &chip = chips[a.core][static_cast<int>(a.space)];
    Place &place = allocations.emplace_back();
    place.base = chip.base;
    place.pitch = chip.pitch;
    place.space = a.space;
    place.memory = chip.memory;
    place.firstPartition = a.partition;
    place.start = a.byteOffset;
    // An allocation that leaves its memory has only the part that is there; a negative start has nothing.
    const bool outside = a.partition < 0 || a.byteOffset < 0;
    place.partitions =
        outside ? 0 : static_cast<int32_t>(std::clamp<int64_t>(t.partitions - a.partition, 0, a.partitions()));
    place.bytes = outside ? 0 : std::clamp<int64_t>(chip.bytes - a.byteOffset, 0, a.bytesPerPartition());
  }
  for (const Tensor &x : p.tensors) {
    Place place;
    place.bytes = x.bytes();
    for (size_t core = 0; core < cores; ++core) {
      if (x.kind == TensorKind::Input) {
        // Nothing may write to an input, so the caller's bytes serve as they are.
        place.base = const_cast<std::byte *>(inputs.find(x.name)->second.data());
        place.readOnly = true;
      } else if (x.kind == TensorKind::Constant) {
        place.base = const_cast<std::byte *>(x.data.data());
        place.readOnly = true;
      } else if (x.kind == TensorKind::Output && outputs && core == 0) {
        place.base = outputs->find(x.name)->second.data();
      } else if (core == 0 || !x.shared) {
        place.base = pages.emplace_back(std::max<int64_t>(place.bytes, 1)).data();
      }
      if (!x.from.empty() && core == 0) // the caller's bytes stay as they are
        std::memcpy(place.base, inputs.find(x.from)->second.data(), static_cast<size_t>(place.bytes));
      if (core == 0 || !x.shared) {
        place.memory = static_cast<int>(memories.size());
        memories.push_back({Space::Hbm, 1, place.bytes, place.readOnly, !x.from.empty()});
      }
      tensors.push_back(place);
    }
  }
}

TensorData Memory::outputs() const {
  TensorData out;
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    if (program.tensors[i].kind != TensorKind::Output)
      continue;
    const Place &place = tensors[i * cores];
    out[program.tensors[i].name].assign(place.base, place.base + place.bytes);
  }
  return out;
}

} // namespace glia::sim
