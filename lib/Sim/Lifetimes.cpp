#include "Lifetimes.h"
#include "glia/ISA/Control.h"

namespace glia::sim {

Lifetimes::Lifetimes(const Program &p)
    : tensors(p.tensors.size()), allocations(p.allocations.size()), writes(p.tensors.size()) {
  Decoded d;
  for (uint32_t c = 0; c < p.cores; ++c)
    for (int e = 0; e < kNumEngines; ++e) {
      const Stream &s = p.streams[c][e];
      const auto size = static_cast<uint32_t>(s.instrs.size());
      uint32_t begin = 0, end = 0; // of the outermost loop; behind its end: of none
      for (uint32_t i = 0; i < size; ++i) {
        decode(p, static_cast<int>(c), static_cast<Engine>(e), i, d);
        if (beginsLoop(*d.def) && i >= end)
          begin = i, end = static_cast<uint32_t>(d.values[d.def->slot("end")].integer);
        const bool loops = i < end;
        // An exchange between cores may be done long after it was issued.
        const uint32_t last = d.def->unit == Unit::Exchange ? UINT32_MAX : loops ? end : i;
        add(d, c * kNumEngines + static_cast<uint32_t>(e), loops ? begin : i, last, loops);
      }
    }
}

void Lifetimes::add(const Decoded &d, uint32_t stream, uint32_t first, uint32_t last, bool loops) {
  for (size_t i = 0; i < d.values.size(); ++i) {
    if (d.values[i].kind != Value::Tensor)
      continue;
    const ObjectRef o = d.values[i].access.object;
    const bool chip = o.kind == ObjectKind::Allocation;
    std::vector<Use> &uses = (chip ? allocations : tensors)[o.index];
    if (uses.empty() || uses.back().stream != stream)
      uses.push_back({stream, first, last});
    uses.back().last = std::max(uses.back().last, last);
    if (!chip && isWritten(d.def->slots[i].kind))
      writes[o.index] += loops ? 2 : 1;
  }
}

} // namespace glia::sim
