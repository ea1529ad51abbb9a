// What is known of values in memory: ranges and distinctness of index tensors (iota, clamps, declared inputs).
#pragma once
#include "glia/Program/Decode.h"

#include <optional>
#include <span>
#include <vector>

namespace glia::flow {

struct Content {
  int64_t lo = 0, hi = 0;  // every value is in [lo, hi]
  bool distinct = false;   // no value occurs twice
  DType type = DType::I32; // of the elements: a view of another type sees other values
  friend bool operator==(const Content &, const Content &) = default;
};

// What instruction `d` writes to its destination, given what its sources hold, in the order of their slots (if anything is known).
std::optional<Content> contentOf(const Program &p, const Decoded &d, std::span<const std::optional<Content>> sources);

} // namespace glia::flow
