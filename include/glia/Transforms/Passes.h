// The kernel passes under their command-line names, for glia-opt and for the compiler's pipeline.
#pragma once

namespace glia {

void registerTransforms();

} // namespace glia
