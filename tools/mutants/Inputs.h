// Random inputs for a program that keep the promises its declarations make.
#pragma once
#include "glia/Support/Random.h"
#include "glia/Sim/Simulator.h"

namespace glia::mutants {

TensorData randomInputs(const Program &p, Random &random);

} // namespace glia::mutants
