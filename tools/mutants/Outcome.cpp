#include "Outcome.h"
#include "glia/Runtime/FootprintCheck.h"

namespace glia::mutants {

Outcome outcome(const Program &p, const TensorData &inputs, uint64_t seed, bool steered) {
  RunOptions o;
  o.strict = true;
  o.seed = seed;
  o.steered = steered;
  o.maxSteps = 200'000;
  const RunResult r = runChecked(p, inputs, o);
  Outcome out;
  if (r.fault)
    out.fault = r.fault->code;
  if (r.trap)
    out.result = "trap " + r.trap->code;
  else
    for (const auto &[name, bytes] : r.outputs)
      out.result.append(name).append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  return out;
}

} // namespace glia::mutants
