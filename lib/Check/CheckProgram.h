// A whole compiled program against the graph as it was given: what no group shows, a mistake in what was made of the graph before it was
// divided into groups, shows here.
#pragma once
#include "glia/Check/CheckGraph.h"

namespace glia::emit {

// Adds to `out`: what is wrong (the verifier's findings, a fault, results that differ: GRAPH-DIFFERS), and how far results are off.
void checkProgram(mlir::ModuleOp module, const std::vector<HostTensor> &inputs, const GraphOptions &options,
                  GraphCheck &out);

} // namespace glia::emit
