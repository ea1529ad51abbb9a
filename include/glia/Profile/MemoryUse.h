// What lies in memory while a predicted run goes on: tiles from their first use to their last.
#pragma once
#include "glia/Program/Program.h"
#include "glia/Sim/Timing.h"

#include <string>
#include <vector>

namespace glia {

struct TileUse {
  std::string name;
  int64_t bytes = 0;       // of all partitions
  double from = 0, to = 0; // ns: first use to last; in a peak those of its content there
};

// One content of a tile: from its first write to the last use before it is written anew.
struct Content {
  uint32_t tile = 0; // in MemoryUse::tiles
  double from = 0, to = 0;
};

struct MemoryUse { // SBUF or PSUM of one core
  int core = 0;
  Space space = Space::Sbuf;
  int64_t capacity = 0; // bytes
  // Bytes that hold something at once, at most, and when. What several tiles see at once counts once for each.
  int64_t peak = 0;
  double peakAt = 0;
  std::vector<TileUse> inPeak; // the largest first
  std::vector<TileUse> tiles;  // all that are used, in the order of their first use
  std::vector<Content> contents;
};

// How much is in use, from each change on.
std::vector<std::pair<double, int64_t>> bytesOverTime(const MemoryUse &m);

// Memories that are used at all.
std::vector<MemoryUse> memoryUse(const Program &p, const TimingResult &r);

} // namespace glia
