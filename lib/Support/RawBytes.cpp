#include "glia/Support/RawBytes.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <iterator>
#include <mutex>
#include <sys/mman.h>

namespace glia {

namespace {

constexpr size_t kPage = size_t{2} << 20; // a large one
constexpr size_t kKept = size_t{256} << 20;

// Sizes that are nearly the same are the same: a block has at most an eighth more than is asked for.
size_t rounded(size_t bytes) {
  const size_t step = std::max(kPage, std::bit_floor(bytes) / 8);
  const size_t whole = (bytes + step - 1) / step * step;
  if (whole < bytes)
    throw std::bad_alloc();
  return whole;
}

struct Block {
  void *at;
  size_t bytes;
};

// What was given back, the oldest first. A process that was forked while a thread was in here finds it locked, and does without.
struct Kept {
  std::mutex mutex;
  std::deque<Block> blocks;
  size_t bytes = 0;

  void drop() {
    std::free(blocks.front().at);
    bytes -= blocks.front().bytes;
    blocks.pop_front();
  }
};

Kept &kept() {
  static Kept *const all = new Kept; // bytes may be given back when the process ends
  return *all;
}

void *found(size_t whole) {
  Kept &k = kept();
  const std::unique_lock lock(k.mutex, std::try_to_lock);
  if (!lock)
    return nullptr;
  for (auto it = k.blocks.rbegin(); it != k.blocks.rend(); ++it)
    if (it->bytes == whole) {
      void *const at = it->at;
      k.bytes -= whole;
      k.blocks.erase(std::next(it).base());
      return at;
    }
  for (size_t dropped = 0; dropped < whole && !k.blocks.empty();) { // instead of having both
    dropped += k.blocks.front().bytes;
    k.drop();
  }
  return nullptr;
}

} // namespace

void *takeBlock(size_t bytes) {
  const size_t whole = rounded(bytes);
  if (void *p = found(whole))
    return p;
  void *p = std::aligned_alloc(kPage, whole);
  if (!p)
    throw std::bad_alloc();
  madvise(p, whole, MADV_HUGEPAGE);
  return p;
}

void giveBlock(void *block, size_t bytes) {
  const size_t whole = rounded(bytes);
  Kept &k = kept();
  const std::unique_lock lock(k.mutex, std::try_to_lock);
  if (!lock || whole > kKept / 2) {
    std::free(block);
    return;
  }
  madvise(block, whole, MADV_FREE); // the system may have it where memory is short
  k.blocks.push_back({block, whole});
  for (k.bytes += whole; k.bytes > kKept;)
    k.drop();
}

} // namespace glia
