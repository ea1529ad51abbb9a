// Recurrences whose steps lie apart in memory, with many columns each, where turning them costs more than it saves: step after step on
// all columns.
#pragma once
#include "ScanKernel.h"

namespace glia::emit {

// Whether this takes less time than scanning turned blocks.
bool prefersSteps(const Target &target, const ScanForm &f);
void emitScanSteps(KernelBuilder &k, const ScanForm &f);

} // namespace glia::emit
