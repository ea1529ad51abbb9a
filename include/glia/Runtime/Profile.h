// What a timing run looks like to a person and to other tools: a text summary, JSON, a Perfetto trace, one HTML page.
// Trace and page need a result with its timeline (TimingOptions::timeline).
#pragma once
#include "glia/Program/Program.h"
#include "glia/Sim/Timing.h"

#include <string>

namespace glia {

std::string profileText(const Program &p, const TimingResult &r);     // ends with a newline
std::string profileJson(const Program &p, const TimingResult &r);     // totals and stalls, not the timeline
std::string profilePerfetto(const Program &p, const TimingResult &r); // bytes of a .pftrace, for ui.perfetto.dev
std::string profileHtml(const Program &p, const TimingResult &r);     // self-contained; opens from a file

// "core 0 vector #12 tensor_tensor (kernel, file:line)"
std::string describeInstruction(const Program &p, int core, Engine e, uint32_t index);

} // namespace glia
