// Where the parts of a tensor lie that the ranks of a program hold together. Stands in the program's contract: "parts.NAME". A tensor of a program
// for several ranks that has none is each rank's own: for the caller it has one more dimension, in front, with a part for each rank.
#pragma once
#include "glia/Program/Program.h"

namespace glia {

struct TensorParts {
  std::vector<int64_t> shape;  // of the whole
  std::vector<int64_t> tiles;  // in how many equal parts each dimension is cut
  std::vector<int32_t> tileOf; // by rank: the number of its part, row-major; ranks with the same number hold copies
  std::vector<int64_t> partShape() const;
  std::vector<int64_t> startOf(int rank) const; // per dimension
};

std::string textOf(const TensorParts &p);
// Throws Error RANK-PARTS: the text is none, or does not fit a tensor of that shape and so many ranks.
TensorParts parseParts(std::string_view text, std::string_view tensor, std::span<const int64_t> part, int ranks);

std::string partsKey(std::string_view tensor);
TensorParts partsOf(const Program &p, const Tensor &t, std::string_view name);

// The tensors that callers give and get, as they see them: whole ones. An output that begins as an input is two of them. The number of the rank is not
// among them.
struct CallerTensor {
  Tensor whole;  // its name, type and shape; an input or an output
  size_t tensor; // in the program
  bool isOutput() const { return whole.kind == TensorKind::Output; }
};
std::vector<CallerTensor> callerTensors(const Program &p);

// Copies the part of a rank out of the whole, or into it.
void takePart(const TensorParts &p, int rank, int elementBytes, std::span<const std::byte> whole, std::span<std::byte> part);
void putPart(const TensorParts &p, int rank, int elementBytes, std::span<const std::byte> part, std::span<std::byte> whole);
// The part where it lies in the whole, if nothing of other parts lies between; empty: it does not.
std::optional<size_t> offsetOf(const TensorParts &p, int rank, int elementBytes);

} // namespace glia
