#include "glia/Profile/Roofline.h"

#include "glia/ISA/Instruction.h"
#include "glia/Program/Decode.h"

#include <algorithm>
#include <map>

namespace glia {

namespace {

// How often each instruction was executed, by stream and number.
std::vector<std::vector<uint32_t>> executions(const Program &p, const TimingResult &r) {
  const auto engines = static_cast<uint32_t>(p.cores * kNumEngines);
  std::vector<std::vector<uint32_t>> out(engines);
  for (int c = 0; c < static_cast<int>(p.cores); ++c)
    for (int e = 0; e < kNumEngines; ++e)
      out[static_cast<size_t>(c * kNumEngines + e)].resize(p.stream(c, static_cast<Engine>(e)).instrs.size());
  for (const TimelineEvent &e : r.timeline)
    if (e.lane < engines)
      ++out[static_cast<size_t>(e.core * kNumEngines) + static_cast<size_t>(e.engine)][e.index];
  return out;
}

const Value *valueOf(const Decoded &d, std::string_view slot) {
  const int i = d.def->slot(slot);
  return i < 0 ? nullptr : &d.values[static_cast<size_t>(i)];
}

double elements(const Program &p, const Value &v) {
  return v.kind == Value::Tensor ? static_cast<double>(p.patterns[v.access.pattern].elements()) : 0;
}

// Of a product dst[M, N] = stationary[K, M] moving[K, N]; 0 for one that turns what is there.
double ofProduct(const Program &p, const Decoded &d) {
  const Value *stationary = valueOf(d, "stationary"), *turns = valueOf(d, "transpose"), *mode = valueOf(d, "perf_mode");
  if (!stationary || stationary->kind != Value::Tensor || (turns && turns->integer == 1))
    return 0;
  const int rows = p.patterns[stationary->access.pattern].partitions * (mode && mode->integer != 0 ? 2 : 1);
  return 2.0 * rows * elements(p, d.values[0]);
}

double operations(const Program &p, const Decoded &d) {
  if (d.def->unit != Unit::Compute)
    return 0;
  if (d.engine == Engine::Tensor)
    return ofProduct(p, d);
  double most = 0;
  for (const Value &v : d.values)
    most = std::max(most, elements(p, v));
  return most;
}

std::vector<Roof> roofsOf(const Program &p) {
  const Target &t = *p.target;
  const double each = 1e9 * t.partitions * p.cores;
  const double tensor = 2 * each * t.partitions * t.number("clock.tensor");
  std::vector<Roof> out;
  if (t.has("fp8_matmul_double"))
    out.push_back({"Tensor, 8 bits", 2 * tensor});
  out.push_back({"Tensor, 16 bits", tensor});
  out.push_back({"Tensor, 32 bits", tensor / t.number("cost.fp32_passes")});
  out.push_back({"Vector, Scalar and GpSimd",
                 each * (t.number("clock.vector") + t.number("clock.scalar") + t.number("clock.gpsimd"))});
  return out;
}

} // namespace

Roofline rooflineOf(const Program &p, const TimingResult &r, const std::vector<PlaceUse> &kernels) {
  Roofline out;
  out.roofs = roofsOf(p);
  out.bytesPerSecond = 1e9 * p.target->number("hbm.bytes_per_ns");
  RooflinePoint whole = {"", 0, static_cast<double>(r.hbmBytesRead + r.hbmBytesWritten), r.total};
  std::map<std::string, double> byKernel;
  Decoded d;
  const std::vector<std::vector<uint32_t>> times = executions(p, r);
  for (size_t stream = 0; stream < times.size(); ++stream)
    for (uint32_t i = 0; i < times[stream].size(); ++i) {
      if (times[stream][i] == 0)
        continue;
      decode(p, static_cast<int>(stream) / kNumEngines, static_cast<Engine>(stream % kNumEngines), i, d);
      const double n = operations(p, d) * times[stream][i];
      whole.operations += n;
      byKernel[p.strings[p.origins[d.origin].kernel]] += n;
    }
  out.points.push_back(whole);
  if (kernels.size() > 1)
    for (const PlaceUse &k : kernels)
      if (!k.name.empty() && k.critical >= r.total / 100)
        out.points.push_back({k.name, byKernel[k.name], static_cast<double>(k.bytes), k.critical});
  return out;
}

} // namespace glia
