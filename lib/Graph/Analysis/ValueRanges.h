// What integers a value can hold, from constants, counts and types forward. Used to prove that 32 bits are enough.
#pragma once
#include "GraphBuilder.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace glia::emit {

struct Range {
  int64_t low = 0, high = 0;
  bool within(int64_t a, int64_t b) const { return a <= low && high <= b; }
};

class ValueRanges {
public:
  void visit(mlir::Operation *op); // in program order
  // Of an integer value; nullopt: not known, which only 64-bit types can be.
  std::optional<Range> of(mlir::Value v) const;
  bool fitsWord(mlir::Value v) const; // false for a 64-bit integer that 32 bits may not hold, of its sign

private:
  llvm::DenseMap<mlir::Value, Range> known;
  void visitLoop(mlir::Operation *op);
  std::optional<Range> made(mlir::Operation *op, unsigned result) const;
};

std::optional<Range> rangeOfType(mlir::Type element); // nullopt for 64 bits and for floats

} // namespace glia::emit
