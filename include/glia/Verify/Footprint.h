// The bytes an operand touches, derived from its pattern alone. Strict mode compares them with what really happened.
#pragma once
#include "glia/ISA/Operand.h"

#include <vector>

namespace glia {

struct ByteRun {
  int64_t lo = 0, hi = 0; // [lo, hi)
};

// The runs of one partition (or of an HBM operand) whose first element is at byte `start`: sorted, disjoint, merged.
// Returns false, with the hull as the only run, if there are more than `maxRuns`.
bool footprint(const Pattern &p, int64_t start, std::vector<ByteRun> &out, size_t maxRuns = 65536);

// Sorts runs; those that meet or lie beside each other become one.
void mergeRuns(std::vector<ByteRun> &runs);

// Whether two such lists of runs share a byte.
bool runsMeet(const std::vector<ByteRun> &a, const std::vector<ByteRun> &b);

// First and one-past-last byte relative to the first element's start.
ByteRun extent(const Pattern &p);

} // namespace glia
