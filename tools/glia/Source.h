// A program from whatever file is given: programs and assembly are opened, graphs and kernels are compiled.
#pragma once
#include "GraphFlags.h"
#include "glia/Program/Program.h"
#include "glia/Runtime/CompilerFaults.h"

#include <string>
#include <string_view>
#include <vector>

namespace glia::tool {

struct Source {
  std::string file;
  std::string target;  // empty: the file's own; of graphs trn2
  std::string changes; // to the target: "clock.vector=2x"
  GraphFlags graph;
  bool prove = true; // what is compiled
};

bool mustBeCompiled(const Source &s);
// What is opened is not proved.
Program programOf(const Source &s);

// ---- for who compiles in steps of its own; only with the compiler

// The program of a kernel's text; `schedule` and `dump` may be empty.
Program programOfKernel(std::string_view text, const Source &s, const std::string &schedule, const std::string &dump);
// Throws Error with what a program is refused for, and whose fault that is.
void requireProved(const Program &p, CompiledFrom from);
// What the compiler did for want of a better way, on stderr.
void tellWarnings(const std::vector<std::string> &warnings);

} // namespace glia::tool
