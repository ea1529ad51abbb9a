// What is said of a fault of glia's own: with which command it can be made smaller, and a smaller input if one is found soon.
#pragma once
#include "ReduceForm.h"

namespace glia::tool {

bool isInternal(const std::vector<Diagnostic> &diagnostics);

// The diagnostics, with notes on the first that is internal. `bytes` is what `o.file` held. Files are written into the working folder, under
// names that say nothing else was there, and each is named in a note; GLIA_REDUCE=off: none but a copy of an input that is no file.
std::vector<Diagnostic> withSmaller(std::vector<Diagnostic> diagnostics, const ReduceOptions &o, const FileBytes &bytes);

} // namespace glia::tool
