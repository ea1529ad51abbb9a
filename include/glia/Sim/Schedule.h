// An order of steps of a program in strict mode, as a text that people read and tools replay (docs/debug.md).
#pragma once
#include "glia/Program/Program.h"

#include <string>
#include <string_view>
#include <vector>

namespace glia {

// Who takes the step: an engine (core * 5 + engine), or a part of the transfer that a queue (pipes come after the queues) does next.
struct ScheduleStep {
  uint32_t who = 0;
  int part = -1; // -1: an engine
  // 0: the part is done. Else the transfer that comes so many after it in the queue moves that part of its data, and completes in its turn
  // (docs/ordering.md, D4).
  int ahead = 0;
  friend bool operator==(const ScheduleStep &, const ScheduleStep &) = default;
};

struct Schedule {
  std::string says; // one line: how the program ends in this order
  std::vector<ScheduleStep> steps;
};

std::string formatSchedules(const Program &p, const std::vector<Schedule> &schedules);
// Throws Error DEBUG-SCHEDULE if the text is no schedule, or one of another program.
std::vector<Schedule> parseSchedules(const Program &p, std::string_view text, const std::string &file);

} // namespace glia
