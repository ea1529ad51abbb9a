// An operand of a contraction that lies the wrong way and is needed more than once: turned once, into a tensor of its own in HBM.
#pragma once
#include "OperandPanels.h"

namespace glia::emit {

// The same operand in panels of which a load of `width` free elements takes whole ones.
PanelSource turnOnce(KernelBuilder &k, const PanelSource &s, int64_t width);

} // namespace glia::emit
