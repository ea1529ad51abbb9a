// Random programs that are valid by docs/ordering.md, docs/isa.md and docs/rules.md.
#pragma once
#include "glia/Support/Random.h"
#include "glia/Program/Program.h"

#include <memory>

namespace glia::mutants {

Program generate(const std::shared_ptr<const Target> &target, Random &random);

} // namespace glia::mutants
