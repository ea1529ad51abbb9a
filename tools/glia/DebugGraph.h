// `glia debug` of a graph. Only with the compiler.
#pragma once
#include "glia/Support/File.h"

#include <string>
#include <vector>

namespace glia::tool {

int debugGraph(const FileBytes &f, const std::string &file, const std::string &function,
               const std::vector<std::string> &inputs, const std::string &script, const std::string &autoCast);

} // namespace glia::tool
