// Where a NaN in the results of a program was made.
#pragma once
#include "glia/Sim/Simulator.h"

#include <optional>

namespace glia::tool {

// RUN-NAN, if an output has one: which, how many, and the first instruction that wrote one, found by running the program again
// under the debugger.
std::optional<Diagnostic> nanOrigin(const Program &p, const TensorData &inputs, const TensorData &outputs,
                                    const RunOptions &options);

} // namespace glia::tool
