// A load of bytes that an earlier load has brought, and that are unchanged, goes away where the earlier tile can stay in SBUF.
#pragma once
#include "glia/Dialect/Nisa.h"
#include "glia/Target/Target.h"

namespace glia {

// How many loads went away. Only as many tiles stay as leave room for others.
size_t reuseLoads(nisa::KernelOp kernel, const Target &target);

} // namespace glia
