// Where the targets of this process come from that are not built in.
#pragma once
#include "glia/Target/Target.h"

namespace glia {

void rememberOrigin(const Target &t, std::string words); // "from mine.toml"

} // namespace glia
