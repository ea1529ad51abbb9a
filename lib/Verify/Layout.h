// How the map of bytes numbers the bytes of a tensor that is reached in tiles. A tensor is cut into rows of `pitch` bytes, `height` rows
// are a band, `width` bytes of each row of a band a tile; the bytes of a tile are numbered one after the other. So a tile is one run, and
// not one for each row. Whatever the three numbers are, as long as they divide the tensor each byte has one number and each number one
// byte: two accesses share a byte if, and only if, they share a number.
#pragma once
#include "HintBytes.h"
#include "glia/Program/Program.h"
#include "glia/Verify/Footprint.h"

#include <vector>

namespace glia::flow {

struct Layout {
  int64_t pitch = 0, height = 0, width = 0; // bytes, rows, bytes; no pitch: as in memory
  explicit operator bool() const { return pitch != 0; }
};

using Layouts = std::vector<Layout>; // by tensor; empty: all as in memory

// Whether it divides a tensor of so many bytes.
bool divides(const Layout &l, int64_t bytes);

// Runs of bytes become runs of their numbers: sorted, disjoint, merged. False: that is more work than a layout is worth.
bool renumberRuns(const Layout &l, std::vector<ByteRun> &runs);

// As a certificate says them.
void writeLayouts(HintWriter &out, const Layouts &layouts);
Layouts readLayouts(HintReader &in, const Program &p);

// Layouts in which the program's tensors are reached in few runs. A guess, on which nothing rests.
Layouts chooseLayouts(const Program &p);

} // namespace glia::flow
