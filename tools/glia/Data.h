// Inputs and outputs of a program as NumPy files, and the summary that `glia run` prints.
#pragma once
#include "glia/Program/Program.h"
#include "glia/Sim/Simulator.h"

#include <string>
#include <vector>

namespace glia::tool {

TensorData readInputs(const Program &p, const std::vector<std::string> &arguments); // "x=x.npy" or "all.npz"
void checkOutputs(const Program &p, const std::vector<std::string> &arguments);     // before anything runs
void writeOutputs(const Program &p, TensorData outputs, const std::vector<std::string> &arguments);
std::string summary(const Program &p, const TensorData &outputs);
std::string summaryJson(const Program &p, const TensorData &outputs, const std::string &printed);
// The orders in a schedule file. Throws Error FILE-READ, DEBUG-SCHEDULE.
std::vector<Schedule> readSchedules(const Program &p, const std::string &path);

} // namespace glia::tool
