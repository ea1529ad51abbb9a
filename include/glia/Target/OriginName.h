// How the origin of a value is written in files, tables and JSON.
#pragma once
#include "glia/Target/Target.h"

namespace glia {

inline const char *originName(Origin o) {
  static constexpr const char *kNames[] = {"documented", "derived", "assumed"};
  return kNames[static_cast<int>(o)];
}

} // namespace glia
