// From the shape of an object and a slice of it to an operand: where it starts and how it walks. Used by the builder to
// make operands and by the disassembler to recognise them.
#pragma once
#include "glia/ISA/Operand.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace glia {

// One dimension of a view: [start, stop) with a step, in elements of the object's shape.
struct Slice {
  int64_t start = 0, stop = 0, step = 1;
};

struct View {
  Pattern pattern;
  int64_t byteOffset = 0;
  int32_t partition = 0;
};

// `slices` are per dimension of the shape, missing ones are whole; dimensions are merged where adjacent.
// Throws Error BUILD-VIEW, naming the object.
View makeView(std::string_view objectName, const std::vector<int64_t> &shape, DType t, bool onChip,
              std::vector<Slice> slices);

// What is wrong with a shape ("has a dimension of size 0"), or empty.
std::string shapeProblem(const std::vector<int64_t> &shape, DType t, bool onChip);

} // namespace glia
