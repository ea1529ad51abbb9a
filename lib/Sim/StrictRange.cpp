// Arguments of functions against the ranges that are documented for them (docs/numerics.md).
#include "Strict.h"
#include "glia/Numerics/Activation.h"

#include <cmath>

namespace glia::sim {

void Strict::checkRange(const Prepared &x) {
  if (x.d.engine != Engine::Scalar)
    return;
  const InstrDef &def = *x.d.def;
  const int fn = def.slot("fn"), data = def.slot("data"), scale = def.slot("scale"), bias = def.slot("bias");
  if (fn < 0 || data < 0 || scale < 0 || bias < 0 || def.slots[fn].names != &activationNames())
    return;
  const ActFn f = static_cast<ActFn>(x.operands[fn].integer);
  const std::optional<ActRange> range = documentedRange(f);
  if (!range || !definedness.defined(x.operands[data].region, x.d.core, foreign[data]))
    return;
  Exec reader(*program.target);
  reader.operands = x.operands;
  for (int p = 0; p < x.operands[data].region.partitions; ++p) {
    const float factor = reader.scalar(scale, p), term = reader.has(bias) ? reader.scalar(bias, p) : -0.0f;
    const float *in = reader.readF32(data, p);
    for (int64_t i = 0; i < x.operands[data].region.elements; ++i) {
      const float argument = std::fma(in[i], factor, term);
      if (range->holds(argument) || (++result.outOfRange > 1 && !options.faultOnRange))
        continue;
      const std::string limit = format("%s%g to %g", range->negative ? "+-" : "", range->least, range->most);
      Diagnostic d = diagnosticAt(program, x.id, "SIM-RANGE",
                                  format("%s of %g, on partition %d: the function is specified for %s",
                                         std::string(activationNames().names[static_cast<int>(f)]).c_str(), argument, p,
                                         limit.c_str()));
      d.value = format("%g", argument);
      d.limit = limit;
      if (options.faultOnRange)
        throw Fault{std::move(d)};
      d.severity = Severity::Warning;
      result.range = std::move(d);
    }
  }
}

} // namespace glia::sim
