#include "glia/Support/Blocks.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <sys/mman.h>

namespace glia {

namespace {

constexpr size_t kLine = 64, kHugePage = size_t{2} << 20;
constexpr size_t kLarge = size_t{256} << 10; // from here on blocks are kept

size_t roundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

// What is allocated for so many bytes: few different sizes, so that a free block fits often.
size_t roomFor(size_t bytes) {
  const size_t n = std::max<size_t>(bytes, 1);
  const size_t room = roundUp(n, n < kLarge ? kLine : n < kHugePage ? kLarge : kHugePage);
  if (room < n)
    throw std::bad_alloc();
  return room;
}

std::byte *fresh(size_t room) {
  auto *out = static_cast<std::byte *>(std::aligned_alloc(room < kHugePage ? kLine : kHugePage, room));
  if (!out)
    throw std::bad_alloc();
  if (room >= kHugePage)
    madvise(out, room, MADV_HUGEPAGE); // a wish: without it there are only more faults
  return out;
}

// The oldest ones go when there are too many. Whoever finds it locked does without: in a forked process the thread that locked it may not be there.
class Kept {
public:
  std::byte *take(size_t room) { // null if there is none
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock)
      return nullptr;
    const auto it = std::find_if(blocks.rbegin(), blocks.rend(), [&](const Block &b) { return b.room == room; });
    if (it == blocks.rend())
      return nullptr;
    std::byte *out = it->start;
    blocks.erase(std::next(it).base());
    bytes -= room;
    return out;
  }
  void keep(std::byte *start, size_t room) {
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock) {
      std::free(start);
      return;
    }
    blocks.push_back({start, room});
    for (bytes += room; bytes > kMostKept; blocks.pop_front()) {
      bytes -= blocks.front().room;
      std::free(blocks.front().start);
    }
  }
  size_t total() {
    const std::lock_guard lock(mutex);
    return bytes;
  }

private:
  struct Block {
    std::byte *start;
    size_t room;
  };
  std::mutex mutex;
  std::deque<Block> blocks; // by age
  size_t bytes = 0;
};

Kept &kept() {
  static Kept *const all = new Kept; // arrays may outlive everything that is destroyed at the end of the process
  return *all;
}

bool isKept(size_t room) { return room >= kLarge && room <= kMostKept; }

} // namespace

std::byte *takeBlock(size_t bytes, Fill fill) {
  const size_t room = roomFor(bytes);
  std::byte *out = isKept(room) ? kept().take(room) : nullptr;
  if (!out)
    out = fresh(room);
  if (fill == Fill::Zero)
    std::memset(out, 0, bytes);
  return out;
}

void giveBlock(std::byte *block, size_t bytes) {
  const size_t room = roomFor(bytes);
  if (isKept(room))
    kept().keep(block, room);
  else
    std::free(block);
}

size_t keptBytes() { return kept().total(); }

} // namespace glia
