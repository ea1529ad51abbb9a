// Random kernels that are valid by docs/nisa.md, docs/isa.md and docs/rules.md, each with inputs for it.
#pragma once
#include "glia/Dialect/Kernel.h"
#include "glia/Sim/Simulator.h"
#include "glia/Support/Random.h"
#include "glia/Target/Target.h"

#include <memory>

namespace glia::kernels {

struct Generated {
  nisa::Kernel kernel;
  TensorData inputs;
};

Generated generate(const std::shared_ptr<const Target> &target, Random &random);

} // namespace glia::kernels
