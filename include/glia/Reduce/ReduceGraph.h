// Makes a failing graph smaller: results, operations, arguments, iterations, branches, functions and sizes are left out as long as it fails
// in the same way. Each candidate is a legal graph: the reader's checks hold.
#pragma once
#include "glia/Reduce/Outcome.h"
#include "glia/Reduce/Search.h"
#include "glia/Region/CompileGraph.h"

namespace glia::reduce {

// `search` begins with a graph as text.
void reduceGraph(Search &search);
Size sizeOfGraph(const std::string &text); // operations but for terminators, those of regions and functions too

// What is wrong with a graph: compiled and verified, as by `glia compile`; or compared with the reference, as by `glia check`.
Outcome judgeCompiled(const std::string &text, const GraphOptions &options);
Outcome judgeChecked(const std::string &text, const GraphOptions &options, uint64_t seed);

} // namespace glia::reduce
