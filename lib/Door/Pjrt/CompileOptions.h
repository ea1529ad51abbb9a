// What a framework asks for beside the program.
#pragma once
#include <cstdint>
#include <string_view>

namespace glia::pjrt {

struct CompileOptions {
  int64_t device = 0;    // whose executable it is
  bool portable = false; // the device is named with each call instead
};

// Reads a serialized CompileOptionsProto; an empty one asks for nothing. Throws Failure: PJRT-OPTIONS for damaged bytes and for options
// that have no meaning here, PJRT-PARTITIONS for a program on several devices.
CompileOptions readCompileOptions(std::string_view bytes);

} // namespace glia::pjrt
