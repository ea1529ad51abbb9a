// From which files the targets of this process were read.
#pragma once
#include "glia/Target/Target.h"

namespace glia {

void rememberFile(const Target &t, std::string_view path);

} // namespace glia
