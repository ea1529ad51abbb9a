// What `glia reduce` needs to know of a kind of input: how it is read, judged, measured and made smaller.
#pragma once
#include "GraphFlags.h"
#include "Tool.h"
#include "glia/Reduce/Outcome.h"
#include "glia/Reduce/Search.h"
#include "glia/Support/File.h"

namespace glia::tool {

struct ReduceOptions {
  std::string file, keep, output, target;
  double seconds = 60, trySeconds = 0;
  int tries = 100'000;
  GraphFlags graph;
  uint64_t seed = 1;
};

struct ReduceForm {
  std::string text;    // the input
  const char *unit;    // what its size is counted in
  std::string ending;  // of files with it
  reduce::Judge judge; // in this process
  reduce::Search::Measure measure;
  std::function<void(reduce::Search &)> reduce;
  std::shared_ptr<const Target> target; // of a program
};

// What cannot be read is a text of lines, if not being read is what is kept.
ReduceForm readForm(const ReduceOptions &o, const reduce::Keep &keep, const FileBytes &f);

std::string counted(size_t n, const char *unit); // 3 operations

} // namespace glia::tool
