// Random operations and numbers for the elementwise instructions.
#pragma once
#include "Generator.h"

namespace glia::kernels {

inline float number(Generator &g) { return static_cast<float>(g.r.between(-12, 12)) / 4; }
// A number or one element per partition.
void scalar(Generator &g, Draft &d, std::string_view slot, int p, const Types &types = {DType::F32});
// op0 with its operand.
void firstOperation(Generator &g, Draft &d, int p);

} // namespace glia::kernels
