// What the makers of late programs share: lines of assembly.
#pragma once
#include "glia/Support/Diagnostic.h"
#include "glia/Support/Random.h"

#include <string>

namespace glia::mutants {

struct LateText {
  explicit LateText(Random &r) : r(r) {}
  Random &r;
  std::string text;

  template <class... Args> void line(const char *f, Args... args) {
    if constexpr (sizeof...(Args) == 0)
      text += f;
    else
      text += format(f, args...);
    text += "\n";
  }
};

// LateTensors.cpp
std::string computedIndices(Random &random);
std::string writtenPieces(Random &random);

} // namespace glia::mutants
