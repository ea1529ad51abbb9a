// A program from whatever file is given: programs and assembly are opened, graphs and kernels are compiled.
#pragma once
#include "glia/Program/Program.h"

#include <string>
#include <string_view>

namespace glia::tool {

struct Source {
  std::string file;
  std::string target;        // empty: the file's own; of graphs trn2
  std::string changes;       // to the target: "clock.vector=2x"
  int cores = 1, effort = 1; // of graphs
};

bool mustBeCompiled(const Source &s);
Program programOf(const Source &s); // not verified

// The program of a kernel's text; `schedule` and `dump` may be empty. Only with the compiler.
Program programOfKernel(std::string_view text, const Source &s, const std::string &schedule, const std::string &dump);

} // namespace glia::tool
