// Two cores of the sequential executor: barriers and exchanges, at which they meet.
#include "ExecuteRun.h"

#include <algorithm>

namespace glia::execute {

CoreState *Run::peerOf(const CoreState &c) {
  const size_t peer = static_cast<size_t>(c.number) ^ 1;
  return peer < cores.size() ? &cores[peer] : nullptr;
}

static std::string barrierName(nisa::Instr i) {
  auto s = llvm::dyn_cast<mlir::StringAttr>(i.slot("name"));
  return s ? s.str() : std::string();
}

bool Run::barrier(CoreState &c, nisa::Instr i) {
  const std::string name = barrierName(i);
  uint64_t &mine = c.barriers[name];
  mine += !c.arrived;
  c.arrived = true;
  CoreState *peer = peerOf(c);
  if (!peer || peer->barriers[name] < mine)
    return false;
  c.arrived = false;
  return true;
}

static bool meet(const Region &a, const Region &b) {
  auto hull = [](const Region &r) {
    const std::byte *lo = r.base, *hi = r.base + (r.partitions - 1) * r.pitch + sizeOf(r.dtype);
    for (int d = 0; d < r.rank; ++d)
      (r.strides[d] < 0 ? lo : hi) += r.strides[d] * (r.counts[d] - 1);
    return std::pair(lo, hi);
  };
  const auto [al, ah] = hull(a);
  const auto [bl, bh] = hull(b);
  return al < bh && bl < ah;
}

bool Run::exchange(CoreState &c, Bound &x) {
  const int dst = x.instr.def().slot("dst"), src = x.instr.def().slot("src");
  for (const Exchange &e : c.exchanges)
    if (meet(e.x.operands[dst].region, x.operands[src].region) || meet(e.x.operands[dst].region, x.operands[dst].region) ||
        meet(e.x.operands[src].region, x.operands[dst].region))
      return false;
  const int pipe = x.instr.integer("pipe");
  c.exchanges.push_back({x, pipe});
  CoreState *peer = peerOf(c);
  if (!peer)
    return true;
  auto first = [&](CoreState &s) {
    return std::find_if(s.exchanges.begin(), s.exchanges.end(), [&](const Exchange &e) { return e.pipe == pipe; });
  };
  const auto mine = first(c), theirs = first(*peer);
  if (theirs == peer->exchanges.end())
    return true;
  Bound a = std::move(mine->x), b = std::move(theirs->x);
  c.exchanges.erase(mine);
  peer->exchanges.erase(theirs);
  if (a.operands[src].region.elements != b.operands[dst].region.elements ||
      a.operands[src].region.partitions != b.operands[dst].region.partitions ||
      a.operands[src].region.dtype != b.operands[dst].region.dtype ||
      b.operands[src].region.elements != a.operands[dst].region.elements ||
      b.operands[src].region.partitions != a.operands[dst].region.partitions)
    stopAt(a.instr.operation(), "SAME-SHAPE",
           format("the two cores exchange tiles of different shape or type on pipe %d", pipe));
  std::swap(a.operands[src], b.operands[src]);
  settle();
  observed(c, a, [&] { execute(exec, c, a); });
  observed(*peer, b, [&] { execute(exec, *peer, b); });
  return true;
}

Diagnostic Run::deadlock() {
  Diagnostic d;
  std::vector<std::string> notes;
  for (CoreState &c : cores) {
    mlir::Operation *at = c.waiting ? c.waiting : !c.exchanges.empty() ? c.exchanges.front().x.instr.operation() : nullptr;
    if (!at) {
      notes.push_back(format("core %d has ended", c.number));
      continue;
    }
    nisa::Instr i(at);
    const nisa::Origin o = nisa::originOf(at->getLoc());
    const std::string where = o.file.empty() ? "" : format(" (%s:%u)", o.file.c_str(), o.line);
    std::string what = format("core %d waits at %s%s", c.number, std::string(i.def().name).c_str(), where.c_str());
    if (i.def().unit == Unit::Barrier)
      what += format(" \"%s\", number %llu of that name", barrierName(i).c_str(),
                     (unsigned long long)c.barriers[barrierName(i)]);
    for (const Exchange &e : c.exchanges)
      what += format("; its exchange on pipe %d has no partner", e.pipe);
    if (d.message.empty()) {
      d = diagnosticAt(at->getLoc(), i.def().unit == Unit::Barrier ? "BARRIER-PAIR" : "SENDRECV-PAIR",
                       "the cores do not meet: " + what);
      d.advice = "Let both cores go through the same barriers and exchanges in the same order.";
    } else {
      notes.push_back(what);
    }
  }
  d.notes = std::move(notes);
  return d;
}

} // namespace glia::execute
