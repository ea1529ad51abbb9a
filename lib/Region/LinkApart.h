// The groups of a region as kernels of their own, called one after the other: what the region is measured against.
#pragma once
#include "Form/Region.h"
#include "glia/Program/Program.h"

#include <memory>

namespace glia::emit {

Program linkApart(const Region &r, std::span<const std::shared_ptr<const Program>> objects, const std::string &target);

} // namespace glia::emit
