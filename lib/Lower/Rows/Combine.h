// The small functions inside reductions, windows and scatters: one operation of two values, and the values that change
// nothing.
#pragma once
#include "glia/Lower/Family.h"

namespace glia::emit {

// Name of alu_op for an operation of two values; empty if there is none. i1 is 0 and 1: `add` is `or`, that is `max`.
std::string_view combinerOf(llvm::StringRef operation, bool logical);
// The start that changes nothing; NaN if there is none that a double holds.
double neutralOf(std::string_view op, DType t, bool logical);
bool isNeutral(std::string_view op, double start, DType t, bool logical);

// What a body of two arguments does with them.
struct Combiner {
  std::string_view op; // name of alu_op; "bypass": the second one replaces the first
  DType type;
  bool logical = false;
  bool repeats() const { return op != "add" && op != "multiply" && op != "bitwise_xor"; } // once more changes nothing
};
// Name of alu_op for a body of one operation on both of its arguments, "bypass" if it returns the second; empty, and why, for any other.
std::string_view combinationOf(mlir::Block &body, bool logical, std::string &why);
// nullopt, and why.
std::optional<Combiner> combinerOf(mlir::Region &body, mlir::Type element, std::string &why);

// dst = a op b, rounded to dst's type, integers wrapped. dst may be a or b. 8- and 16-bit sums and products go through 32
// bits.
void combine(KernelBuilder &k, const Combiner &c, const Tile &dst, const Tile &a, const Tile &b);

// What partial results are held in: fp32 for sums and products of floats, 32 bits for those of narrower integers.
DType sumType(const Combiner &c);
// 8- and 16-bit integers that are added or multiplied, in 32 bits; anything else as it is.
Tile widened(KernelBuilder &k, const Combiner &c, const Tile &x);
// What sumType holds, in the type itself: floats rounded, integers wrapped.
Tile inType(KernelBuilder &k, const Tile &x, DType t);

} // namespace glia::emit
