// Recurrences along one dimension, by the instruction that scans: state = (factor op0 state) op1 term along each partition.
#pragma once
#include "glia/Lower/KernelBuilder.h"

#include <optional>

namespace glia::emit {

// A tensor in HBM, or one number everywhere.
struct ScanOperand {
  Tile tile; // no handle: the number
  double number = 0;
  bool isNumber() const { return tile.handle < 0; }
};

// The tensors are [outer, length, inner], row-major; the length is scanned. The start is [outer, inner].
struct ScanForm {
  int64_t outer = 1, length = 1, inner = 1;
  bool backward = false; // from the last element to the first: where scansBackward
  DType type = DType::F32;
  std::string_view op0, op1; // names of alu_op
  ScanOperand factors, terms;
  std::optional<ScanOperand> start; // none: the first term begins
  Tile out;
};

// Elements that lie along memory are turned round by the Tensor engine, where it moves their bits.
bool scansBackward(const Target &target, DType type, int64_t inner);
void emitScan(KernelBuilder &k, const ScanForm &f);

} // namespace glia::emit
