// Of the jobs that can begin, the one with the longest tail goes first; a job that arrives with a longer one interrupts it. No
// schedule with interruptions is shorter, so none without is.
#include "ResourceBound.h"

#include <algorithm>
#include <queue>

namespace glia::codegen {

double leastEnd(std::vector<Job> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const Job &a, const Job &b) { return a.head < b.head; });
  struct Open {
    double tail, left;
    bool operator<(const Open &o) const { return tail < o.tail; }
  };
  std::priority_queue<Open> open;
  double now = 0, end = 0;
  for (size_t next = 0; next < jobs.size() || !open.empty();) {
    if (open.empty())
      now = std::max(now, jobs[next].head);
    for (; next < jobs.size() && jobs[next].head <= now; ++next)
      open.push({jobs[next].tail, jobs[next].work});
    Open job = open.top();
    open.pop();
    const double done = now + job.left;
    if (next < jobs.size() && jobs[next].head < done) { // it may be interrupted
      job.left = done - jobs[next].head;
      now = jobs[next].head;
      open.push(job);
    } else {
      now = done;
      end = std::max(end, now + job.tail);
    }
  }
  return end;
}

} // namespace glia::codegen
