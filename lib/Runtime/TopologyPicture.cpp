// A topology drawn in text: the chips of a host with their links, then what joins hosts and instances.
#include "glia/Runtime/Docs.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>

namespace glia {

namespace {

bool insideHost(const Topology &t, const TopologyAxis &a) { return a.stride * a.size <= t.chipsPerHost; }

// "0 1 2 3", or "0 1 2 ... 31".
std::string listed(int first, int stride, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    if (count > 6 && i == 3) {
      out += " ...";
      i = count - 1;
    }
    out += (out.empty() ? "" : " ") + std::to_string(first + i * stride);
  }
  return out;
}

// Rings inside a host: the first as rows, the second as columns. A line that leaves the picture comes back on the other side.
std::string grid(const TopologyAxis &x, const TopologyAxis *y) {
  std::string out;
  const int rows = y ? y->size : 1;
  for (int r = 0; r < rows; ++r) {
    std::string line = "  ", below;
    for (int c = 0; c < x.size; ++c) {
      line += format("-- %2d ", c * x.stride + (y ? r * y->stride : 0));
      below += "     |";
    }
    out += line + "--\n";
    if (y)
      out += " " + below + "\n";
  }
  return out;
}

std::string axisLine(const Topology &t, const TopologyAxis &a) {
  const int last = a.stride * (a.size - 1);
  std::string out = format("  %-8s %s of %d: chips %s", a.name.c_str(),
                           a.switched   ? "switch"
                           : a.size > 2 ? "ring"
                                        : "pair",
                           a.size, listed(0, a.stride, a.size).c_str());
  if (!insideHost(t, a)) {
    const int step = std::max(1, a.stride / t.chipsPerHost), hosts = last / t.chipsPerHost / step + 1;
    out += format(" (hosts %s)", listed(0, step, hosts).c_str());
  }
  const int sets = t.chips() / a.size;
  if (sets > 1)
    out += format(", and %d more such", sets - 1);
  return out + format("; %g GB/s per chip and direction\n", a.bytesPerNs);
}

} // namespace

std::string topologyPicture(const Topology &t) {
  std::string out = format("%s: %d host%s of %d chip%s\n", t.name.c_str(), t.hosts, t.hosts > 1 ? "s" : "", t.chipsPerHost,
                           t.chipsPerHost > 1 ? "s" : "");
  std::vector<const TopologyAxis *> rings;
  for (const TopologyAxis &a : t.axes)
    if (!a.switched && insideHost(t, a))
      rings.push_back(&a);
  if (!rings.empty())
    out += "\n" + grid(*rings[0], rings.size() > 1 ? rings[1] : nullptr) + "\n";
  for (const TopologyAxis &a : t.axes)
    out += axisLine(t, a);
  if (t.hasEfa)
    out += format("  %-8s %g GB/s per host and direction to other instances\n", "efa", t.efaBytesPerNs);
  out += format("  chip 0   cores %s on %d HBM stacks; ranks", listed(0, 1, t.coresPerChip).c_str(), t.hbmStacks);
  for (int r = 0; r < t.ranksPerChip(); ++r)
    out += format(" %d=[%s]", r, listed(r * t.lnc, 1, t.lnc).c_str());
  return out + format(" (LNC %d)\n", t.lnc);
}

} // namespace glia
