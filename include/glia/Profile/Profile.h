// What a predicted run looks like to a person and to other tools: a text summary, JSON, a Perfetto trace, one HTML page.
// Trace and page need the timeline (TimingOptions::timeline).
#pragma once
#include "glia/Profile/LinkUse.h"
#include "glia/Profile/MemoryUse.h"
#include "glia/Profile/Proposals.h"
#include "glia/Profile/Roofline.h"
#include "glia/Profile/TimeUse.h"
#include "glia/Profile/Waits.h"
#include "glia/Program/Program.h"
#include "glia/Sim/Timing.h"

#include <string>

namespace glia {

struct Profile {
  TimingResult time;
  // With a timeline:
  std::vector<PathStep> path;
  std::vector<PlaceUse> lines, operations, kernels;
  std::vector<WaitUse> waits;
  std::vector<MemoryUse> memory;
  std::vector<LinkUse> links; // of programs of several ranks
  std::vector<Proposal> proposals;
  Roofline roofline;
};
// Times a program and finds out where the time goes.
Profile profileOf(const Program &p, const TimingOptions &options);

std::string profileText(const Program &p, const Profile &x);                     // ends with a newline
std::string timelineText(const Program &p, const Profile &x, int columns = 100); // for a terminal; ends with a newline
std::string profileJson(const Program &p, const Profile &x);                     // all but the timeline
std::string profilePerfetto(const Program &p, const Profile &x);                 // bytes of a .pftrace, for ui.perfetto.dev
std::string profileHtml(const Program &p, const Profile &x);                     // self-contained; opens from a file

// "core 0 vector #12 tensor_tensor (kernel, file:line)"
std::string describeInstruction(const Program &p, const InstrPlace &x);

std::string timeText(double ns);    // "12.34 us"
std::string sizeText(double bytes); // "1.50 MB"

} // namespace glia
