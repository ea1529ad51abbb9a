#include "Outcome.h"
#include "glia/Runtime/RandomInputs.h"
#include "glia/Runtime/FootprintCheck.h"

#include <optional>

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

std::string whatGoesWrong(const Program &p, Random &random, int seeds, bool trap) {
  for (const char which : {'>', '<', '?'}) {
    TensorData inputs = randomInputs(p, random);
    if (which != '?')
      extremeValues(p, inputs, which == '>');
    std::optional<Outcome> first;
    for (int s = 0; s < seeds + kSteeredSeeds; ++s) {
      const bool steered = s >= seeds;
      const Outcome o = outcome(p, inputs, static_cast<uint64_t>(s), steered);
      const std::string under = format(" under %sseed %d", steered ? "steered " : "", s);
      if (!o.fault.empty())
        return o.fault + under;
      if (trap && o.result.starts_with("trap"))
        return o.result + under;
      if (first && *first != o)
        return "other bytes" + under;
      first = o;
    }
  }
  return {};
}

} // namespace glia::mutants
