// Random graphs as StableHLO text, legal by the public specification. They are written as text, not built from our classes, so that
// a mistake in the dialect cannot hide, and so that others can run them.
#pragma once
#include "glia/Support/Random.h"

#include <string>
#include <string_view>
#include <vector>

namespace glia::graphs {

// The names of what is drawn: "pointwise", "dot", "convolution" ...
const std::vector<std::string_view> &familyNames();

struct Choice {
  std::string family;               // drawn much more often than the others; may be empty
  std::vector<std::string> without; // families and operations that are not drawn
};

// A module with a function `main`. A line `// result K: exact|rounded|decided` for each result says how far it may be trusted.
std::string generate(Random &random, const Choice &choice = {});

} // namespace glia::graphs
