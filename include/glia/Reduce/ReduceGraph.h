// Makes a failing graph smaller: results, operations, arguments, iterations, branches, functions and sizes are left out as long as it fails
// in the same way. Each candidate is a legal graph: the reader's checks hold.
#pragma once
#include "glia/Reduce/Outcome.h"
#include "glia/Reduce/Search.h"
#include "glia/Region/CompileGraph.h"

namespace glia::reduce {

enum class Bodies : uint8_t {
  Any,  // of reductions, sorts and the like: anything may go
  Kept, // they stay as they are, or go with their operation: what an order that is none, or a sum that is none, gives is nobody's fault
};

// `search` begins with a graph as text.
void reduceGraph(Search &search, Bodies bodies);
Size sizeOfGraph(const std::string &text); // operations but for terminators, those of regions and functions too

// What is wrong with a graph: compiled and verified, as by `glia compile`; or compared with the reference, as by `glia check`. Operands of f32
// products are rounded to the type `rounded`, if one is given.
Outcome judgeCompiled(const std::string &text, const GraphOptions &options, std::string_view rounded = {});
Outcome judgeChecked(const std::string &text, const GraphOptions &options, uint64_t seed, std::string_view rounded = {});

} // namespace glia::reduce
