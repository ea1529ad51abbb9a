// What an instruction reads and writes.
#pragma once
#include "glia/Program/Decode.h"

#include <vector>

namespace glia {

struct Touched {
  ObjectRef object;
  bool read = false, written = false;
};
// Each object once, in the order of the operands. A product that is added to its destination reads it, too.
std::vector<Touched> touched(const Decoded &d);

} // namespace glia
