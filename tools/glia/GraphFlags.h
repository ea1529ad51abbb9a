// The options that commands take of a graph that they compile: the same ones, said the same way.
#pragma once
#include "CommandLine.h"

#include <string>

namespace glia {
struct GraphOptions;
}

namespace glia::tool {

struct GraphFlags {
  int cores = 1, effort = 1;
  std::string topology, autoCast;
  bool strictSharding = false;
  std::string given; // one that was
};

// `always`: the command takes nothing but graphs.
void addGraphFlags(Command c, GraphFlags &f, bool always = false);
std::string textOf(const GraphFlags &f); // as they are given, but for those that say what holds anyway; each after a space
// Throws Error COMPILE-OPTION if one was given with a file that is no graph: `what` it is.
void refuseGraphFlags(const GraphFlags &f, const std::string &file, const std::string &what);

// ---- only with the compiler

// But for the target.
void setGraphOptions(const GraphFlags &f, GraphOptions &o);

} // namespace glia::tool
