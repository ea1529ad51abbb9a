// Four lanes of 64 bits, so that four multiplications are under way at a time. Each step is a bijection of its lane for a
// given word and of the word for a given lane: a change of one word always changes the lane.
#include "glia/Support/Checksum.h"

#include <bit>
#include <cstring>

namespace glia {

static constexpr uint64_t kOdd[4] = {0x9E3779B97F4A7C15u, 0xC2B2AE3D27D4EB4Fu, 0x165667B19E3779F9u, 0xD6E8FEB86659FD93u};

static uint64_t step(uint64_t lane, uint64_t word, uint64_t odd) { return std::rotl(lane ^ word, 29) * odd; }

uint64_t checksum64(std::span<const std::byte> bytes, uint64_t seed) {
  uint64_t a = seed + kOdd[0], b = seed + kOdd[1], c = seed + kOdd[2], d = seed + kOdd[3];
  const std::byte *p = bytes.data();
  size_t left = bytes.size();
  for (; left >= 32; p += 32, left -= 32) {
    uint64_t w[4];
    std::memcpy(w, p, 32);
    a = step(a, w[0], kOdd[0]);
    b = step(b, w[1], kOdd[1]);
    c = step(c, w[2], kOdd[2]);
    d = step(d, w[3], kOdd[3]);
  }
  uint64_t tail[4] = {};
  if (left)
    std::memcpy(tail, p, left);
  uint64_t h = step(a, tail[0], kOdd[0]);
  h = step(h, step(b, tail[1], kOdd[1]), kOdd[1]);
  h = step(h, step(c, tail[2], kOdd[2]), kOdd[2]);
  h = step(h, step(d, tail[3], kOdd[3]), kOdd[3]);
  h = step(h, bytes.size(), kOdd[0]);
  h ^= h >> 32;
  h *= kOdd[1];
  return h ^ h >> 29;
}

} // namespace glia
