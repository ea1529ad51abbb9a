// Random inputs for a program that keep the promises its declarations make.
#pragma once
#include "glia/Support/Random.h"
#include "glia/Sim/Simulator.h"

namespace glia {

TensorData randomInputs(const Program &p, Random &random);
// Inputs with a declared range, and no promise to differ, get their largest value, or their smallest.
void extremeValues(const Program &p, TensorData &inputs, bool largest);

} // namespace glia
