// What a file that a command is given holds.
#pragma once
#include "glia/Support/File.h"

#include <string>

namespace glia::tool {

enum class FileKind : uint8_t { Program, Graph, Kernel }; // a container or assembly; StableHLO or HLO in any form; .nisa

// Throws Error PROGRAM-FILE for a script of Python, which `python -m glia` takes.
void refuseScript(const std::string &path);

// The end of a name decides; a script is refused; another name is looked into. Without the compiler everything is a program.
FileKind kindOf(const std::string &path, const FileBytes &f);

} // namespace glia::tool
