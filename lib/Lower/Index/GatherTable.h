// Gathers of a small operand: every partition has all of it on chip, and takes its share of the result from there.
#pragma once
#include "IndexForm.h"

namespace glia::emit {

// The elements of the operand, and how places and windows lie; all of it is known when the kernel is written.
struct TableGather {
  int64_t elements = 0, places = 0;
  int64_t index = 0, other = 0; // steps from place to place in the indices and in the result
  std::vector<int64_t> window;  // where each element of a window is in the operand
  Dims result;                  // and in the result
};

// nullopt: the operand does not fit, or places are not evenly apart.
std::optional<TableGather> tableGatherOf(const IndexForm &f, DType t);
double nanosecondsOf(const Target &target, const TableGather &g, DType t); // about
void gatherFromTable(KernelBuilder &k, const IndexForm &f, const TableGather &g, const Tile &data, const Tile &indices,
                     const Tile &out);

} // namespace glia::emit
