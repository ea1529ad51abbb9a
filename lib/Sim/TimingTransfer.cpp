// How long a transfer keeps the DMA engines busy when nothing else moves: rows dealt to engines, descriptors per row, rates.
#include "TimingModel.h"
#include "glia/ISA/Runs.h"
#include "glia/Program/RankContract.h"
#include "glia/Sim/RankTopology.h"
#include "glia/Target/CollectiveCost.h"

#include <algorithm>
#include <cstdlib>

namespace glia::timing {

namespace {

struct Sides {
  const Pattern *dst = nullptr, *src = nullptr; // the first source
  bool dstHbm = false, srcHbm = false, casts = false;
  int64_t dstBytes = 0, srcBytes = 0, hbmRead = 0;
  int64_t indices = 0;
};

Sides sidesOf(const Program &p, const Decoded &d) {
  Sides s;
  for (size_t i = 0; i < d.values.size(); ++i) {
    const Value &v = d.values[i];
    const Slot &slot = d.def->slots[i];
    if (v.kind != Value::Tensor)
      continue;
    const Pattern &pattern = p.patterns[v.access.pattern];
    const int64_t bytes = pattern.elements() * sizeOf(pattern.dtype);
    const bool hbm = p.space(v.access.object) == Space::Hbm;
    if (slot.name.find("index") != std::string_view::npos || slot.name.find("indices") != std::string_view::npos) {
      s.indices += pattern.elements();
    } else if (isWritten(slot.kind)) {
      s.dst = &pattern;
      s.dstHbm = hbm;
      s.dstBytes += bytes;
    } else {
      if (!s.src)
        s.src = &pattern, s.srcHbm = hbm;
      s.srcBytes += bytes;
      s.hbmRead += hbm ? bytes : 0;
    }
  }
  s.casts = s.dst && s.src && s.dst->dtype != s.src->dtype;
  return s;
}

double rateFactor(const Decoded &d, const Sides &s, const Target &t) {
  if (d.def->name == "dma_transpose")
    return t.number(s.srcHbm ? "dma.transpose_rate_hbm" : "dma.transpose_rate_sbuf");
  return d.def->name == "dma_compute" || s.casts ? t.number("dma.compute_rate") : 1;
}

// Between ranks: the cores that drive collectives move the data, not the queues' engines. All ranks come at the same time: they run one program.
Transfer collectiveTransfer(const Program &p, const Decoded &d) {
  const Sides s = sidesOf(p, d);
  Transfer out;
  out.bytes = std::max(s.dstBytes, s.srcBytes);
  out.hbmRead = s.hbmRead;
  out.hbmWritten = s.dstHbm ? s.dstBytes : 0;
  out.engines = 0;
  const CollectiveTime time = exchangeTime(p, d, out.bytes);
  out.work = toPs(time.total);
  out.asks = asksOf(*topologyOf(p), time);
  return out;
}

} // namespace

Transfer transferOf(const Program &p, const Decoded &d, const Target &t) {
  if (isCollective(*d.def))
    return collectiveTransfer(p, d);
  Transfer out;
  const Sides s = sidesOf(p, d);
  if (!s.dst)
    return out;
  out.bytes = std::max(s.dstBytes, s.srcBytes);
  out.hbmRead = s.hbmRead;
  out.hbmWritten = s.dstHbm ? s.dstBytes : 0;
  if (const int dge = d.def->slot("dge"); dge >= 0)
    out.dge = static_cast<uint8_t>(d.values[dge].integer);

  if (const int engine = d.def->slot("engine");
      engine >= 0 && d.def->slots[engine].names &&
      d.def->slots[engine].names->names[d.values[engine].integer] == "gpsimd_dma") {
    out.work = toPs(static_cast<double>(out.bytes) / t.number("dma.gpsimd_bytes_per_ns"));
    return out;
  }
  const double rate = t.number(s.dstHbm ? "dma.store_bytes_per_ns" : "dma.bytes_per_ns") * rateFactor(d, s, t);
  int64_t run = runBytes(*s.dst);
  if (s.src && d.def->name == "dma_transpose") // writes element by element, but in hardware: only its source counts,
    run = std::min(runBytes(*s.src),
                   out.bytes / std::max<int64_t>(s.dst->partitions, 1)); // dealt by partitions of the destination
  else if (s.src)
    run = std::min(run, runBytes(*s.src));
  const double descriptors = std::max({1.0, static_cast<double>(out.bytes) / static_cast<double>(std::max<int64_t>(run, 1)),
                                       static_cast<double>(s.indices)});
  const double bytesEach = static_cast<double>(out.bytes) / descriptors;

  // Rows are partitions of the on-chip side; between HBM tensors, pieces of at least 512 bytes.
  const int64_t partitions = std::max(s.dst->partitions, s.src ? s.src->partitions : s.dst->partitions);
  const double perEngine = t.number("dma.rows_per_engine");
  const double rows = partitions ? static_cast<double>(partitions) : static_cast<double>(out.bytes) / 512 * perEngine;
  out.engines = static_cast<int>(std::clamp((rows + perEngine - 1) / perEngine, 1.0, static_cast<double>(t.dmaEngines)));
  const double each = std::max(1.0, descriptors / out.engines);
  out.work = toPs(each * std::max(t.number("dma.descriptor_floor"), bytesEach / rate));
  out.hbmPerPs = static_cast<double>(out.hbmRead + out.hbmWritten) / static_cast<double>(std::max<Ps>(out.work, 1));
  return out;
}

} // namespace glia::timing
