#include "glia/Profile/ProgramBound.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace glia {

ProgramBound programBound(const Program &p, const TimingResult &r) {
  ProgramBound b;
  const auto atLeast = [&](double ns, const std::string &part) {
    if (ns > b.busiest)
      b.busiest = ns, b.part = part;
    if (ns > 0)
      b.parts.emplace_back(part, ns);
  };
  double bytes = 0;
  for (const LaneUse &l : r.lanes) {
    if (!l.bytes)
      atLeast(l.busy, l.name);
    bytes += static_cast<double>(l.bytes);
  }
  const Target &t = *p.target;
  const double rate = std::max(t.number("dma.bytes_per_ns"), t.number("dma.store_bytes_per_ns"));
  atLeast(bytes / (rate * std::max(t.dmaEngines, 1) * p.cores), "dma");
  atLeast(static_cast<double>(r.hbmBytesRead + r.hbmBytesWritten) / t.number("hbm.bytes_per_ns"), "hbm");
  for (const ContractItem &c : p.contract) {
    if (c.key == kLeastTime)
      b.least = std::strtod(c.value.c_str(), nullptr);
    else if (c.key == kLeastReason)
      b.limit = c.value;
  }
  if (!std::isfinite(b.least) || b.least < 0) // a file may say anything
    b.least = 0;
  return b;
}

} // namespace glia
