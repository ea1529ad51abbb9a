#include "Memory.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace glia::sim {

Pages::Pages(size_t bytes, bool large) : size(bytes), large(large) {
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

void Pages::drop(size_t begin, size_t end) {
  static const auto kPage = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  begin = (begin + kPage - 1) / kPage * kPage;
  end = end == size ? end : end / kPage * kPage;
  if (begin < end)
    ::madvise(start + begin, end - begin, MADV_DONTNEED);
}

// A pitch of a power of two (or near one) puts all partitions into the same cache sets: one more line avoids that.
static int64_t paddedPitch(int64_t bytes) { return (bytes + 63) / 64 * 64 + 64; }

// Fresh pages cost more than zeroing what a run has used: a thread keeps the memories of a pair of cores for its next run. In between,
// where a run may touch few of the bytes that it has, zeroing costs more.
static thread_local std::vector<Pages> idle;
static constexpr size_t kMostIdle = 8;
static constexpr int64_t kLittle = 64 << 10; // bytes of all partitions

static Pages zeroedPages(size_t bytes, bool large) {
  for (Pages &p : idle)
    if (p.bytes() == bytes && p.isLarge() == large) {
      std::swap(p, idle.back());
      Pages out = std::move(idle.back());
      idle.pop_back();
      return out;
    }
  return Pages(bytes, large);
}

constexpr int64_t kSmallTensor = 128 << 10;
static int64_t paddedTensor(int64_t bytes) { return (bytes + 63) / 64 * 64 + 64; }

Memory::~Memory() {
  for (const Used &u : used) {
    if (idle.size() == kMostIdle)
      return;
    for (int64_t p = u.part.first; p < u.part.behind; ++p)
      std::memset(pages[u.page].data() + p * u.pitch + u.part.lo, 0, static_cast<size_t>(u.part.hi - u.part.lo));
    idle.push_back(std::move(pages[u.page]));
  }
}

Memory::Part Memory::usedPart(int core, Space s, int64_t capacity) const {
  const int64_t all = program.target->partitions;
  Part out{capacity, 0, all, 0};
  for (const Allocation &a : program.allocations)
    if (a.core == core && a.space == s && a.byteOffset >= 0 && a.partition >= 0) {
      out.lo = std::min<int64_t>(out.lo, a.byteOffset);
      out.hi = std::max<int64_t>(out.hi, a.byteOffset + a.bytesPerPartition());
      out.first = std::min<int64_t>(out.first, a.partition);
      out.behind = std::max<int64_t>(out.behind, a.partition + a.partitions());
    }
  return {std::min(out.lo, capacity), std::clamp(out.hi, std::min(out.lo, capacity), capacity), std::min(out.first, all),
          std::min(out.behind, all)};
}

Memory::Memory(const Program &p, const TensorViews &inputs, const TensorBuffers *outputs) : program(p), cores(p.cores) {
  const Target &t = *p.target;
  chips.resize(cores);
  for (size_t core = 0; core < cores; ++core)
    for (Space s : {Space::Sbuf, Space::Psum}) {
      const int64_t bytes = s == Space::Sbuf ? t.sbufBytes : t.psumBytes;
      const int64_t pitch = paddedPitch(bytes);
      const Part part = usedPart(static_cast<int>(core), s, bytes);
      const bool large = part.hi - part.lo > bytes / 3;
      if (large || (part.hi - part.lo) * (part.behind - part.first) <= kLittle)
        used.push_back({pages.size(), pitch, part});
      chips[core][static_cast<int>(s)] = {pages.size(), pitch, bytes, static_cast<int>(memories.size())};
      pages.push_back(zeroedPages(pitch * t.partitions, large));
      memories.push_back({s, t.partitions, bytes, false});
    }
  for (const Allocation &a : p.allocations) {
    const Chip &chip = chips[a.core][static_cast<int>(a.space)];
    Place &place = allocations.emplace_back();
    place.base = pages[chip.page].data();
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
  const auto given = [&](const Tensor &x) {
    return x.kind == TensorKind::Output && outputs ? outputs->find(x.name)->second.data() : nullptr;
  };
  // Small tensors lie in one mapping: one for each of them would cost more than what is done with it.
  const auto isSmall = [&](const Tensor &x) {
    return x.bytes() <= kSmallTensor && x.kind != TensorKind::Input && x.kind != TensorKind::Constant && !given(x);
  };
  int64_t small = 0;
  for (const Tensor &x : p.tensors)
    if (isSmall(x))
      small += paddedTensor(x.bytes()) * static_cast<int64_t>(x.shared ? 1 : cores);
  std::byte *next = nullptr;
  if (small > 0)
    next = pages.emplace_back(small, true).data();
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
      } else if (given(x) && core == 0) {
        place.base = given(x);
      } else if (isSmall(x)) {
        if (core == 0 || !x.shared) {
          place.base = next;
          next += paddedTensor(place.bytes);
        }
      } else if (core == 0 || !x.shared) {
        if ((x.kind == TensorKind::Scratch || outputs) && (x.shared || cores == 1))
          inner.push_back({static_cast<uint32_t>(&x - p.tensors.data()), pages.size()});
        place.base = pages.emplace_back(std::max<int64_t>(place.bytes, 1)).data();
      }
      if (!x.from.empty() && core == 0) // the caller's bytes stay as they are, unless it gives the same place for both
        if (const std::byte *from = inputs.find(x.from)->second.data(); from != place.base)
          std::memcpy(place.base, from, static_cast<size_t>(place.bytes));
      if (core == 0 || !x.shared) {
        place.memory = static_cast<int>(memories.size());
        memories.push_back({Space::Hbm, 1, place.bytes, place.readOnly, !x.from.empty()});
      }
      tensors.push_back(place);
    }
  }
}

void Memory::setBase(uint32_t tensor, std::byte *base) {
  for (size_t core = 0; core < cores; ++core)
    tensors[tensor * cores + core].base = base;
}

void Memory::letGo(Inner &x) {
  if (x.isGone)
    return;
  x.isGone = true;
  if (x.adopted) {
    setBase(x.tensor, pages[x.page].data());
    x.adopted.reset();
  }
  pages[x.page].drop();
}

int64_t Memory::chipBytes() const {
  int64_t out = 0;
  for (const auto &core : chips)
    for (const Chip &chip : core)
      out += static_cast<int64_t>(pages[chip.page].bytes());
  return out;
}

void Memory::keepOnly(const std::vector<uint32_t> &indices) {
  for (const auto &core : chips)
    for (const Chip &chip : core) {
      std::vector<const Place *> kept;
      for (const uint32_t i : indices)
        if (allocations[i].memory == chip.memory && allocations[i].bytes > 0)
          kept.push_back(&allocations[i]);
      std::sort(kept.begin(), kept.end(), [](const Place *a, const Place *b) { return a->start < b->start; });
      keepOnly(chip, kept);
    }
}

void Memory::keepOnly(const Chip &chip, const std::vector<const Place *> &kept) {
  Pages &all = pages[chip.page];
  size_t dropped = 0; // up to here
  for (int64_t p = 0; p < program.target->partitions; ++p)
    for (const Place *k : kept)
      if (p >= k->firstPartition && p < k->firstPartition + k->partitions) {
        const auto begin = static_cast<size_t>(p * chip.pitch + k->start), end = begin + static_cast<size_t>(k->bytes);
        if (begin > dropped)
          all.drop(dropped, begin);
        dropped = std::max(dropped, end);
      }
  all.drop(dropped, all.bytes());
}

void Memory::adopt(Inner &x, SharedBytes bytes) {
  pages[x.page].drop();
  setBase(x.tensor, const_cast<std::byte *>(bytes->data()));
  x.adopted = std::move(bytes);
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
