// What a framework asks for beside the program.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace glia::pjrt {

struct CompileOptions {
  std::vector<int64_t> devices; // whose executable it is: by rank (replica * partitions + partition); empty: not said
  int64_t replicas = 1, partitions = 1;
  bool portable = false; // the device is named with each call instead
};

// Reads a serialized CompileOptionsProto; an empty one asks for nothing. Throws Failure PJRT-OPTIONS for damaged bytes and for options
// that have no meaning here.
CompileOptions readCompileOptions(std::string_view bytes);

} // namespace glia::pjrt
