// The least time of jobs that one resource does, one at a time.
#pragma once
#include <vector>

namespace glia::codegen {

struct Job {       // ns
  double head = 0; // it cannot begin before this
  double work = 0; // it needs the resource for this long
  double tail = 0; // from its end to the end of everything
};

// No order of the jobs ends earlier, even if they may be cut and go on later.
double leastEnd(std::vector<Job> jobs);

} // namespace glia::codegen
