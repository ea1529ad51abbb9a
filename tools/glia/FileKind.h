// What a file that a command is given holds.
#pragma once
#include "glia/Support/File.h"

#include <string>

namespace glia::tool {

enum class FileKind : uint8_t { Program, Graph, Kernel }; // a container or assembly; StableHLO or HLO in any form; .nisa

// The end of a name decides; another name is looked into. Without the compiler everything is a program.
FileKind kindOf(const std::string &path, const FileBytes &f);

} // namespace glia::tool
