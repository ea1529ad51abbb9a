// Arithmetic on 64-bit integers, each in two words.
#pragma once
#include "Graph/Analysis/GraphBuilder.h"

namespace glia::emit {

struct Words {
  mlir::Value low, high; // both ui32
};

class WordArithmetic {
public:
  WordArithmetic(GraphBuilder &g, bool isSigned) : g(g), isSigned(isSigned) {}
  using Value = mlir::Value;

  Words add(Words a, Words b);
  Words subtract(Words a, Words b);
  Words multiply(Words a, Words b);
  // Toward zero; by zero, a quotient of all bits and the dividend as the rest. WordDivision.cpp
  struct Division {
    Words quotient, rest;
  };
  Division divide(Words a, Words b);
  Words sign(Words a);
  Words countOfOnes(Words a);
  Words countOfLeadingZeros(Words a);
  Words negate(Words a);
  Words absolute(Words a);
  Words bits(llvm::StringRef op, Words a, Words b); // and, or, xor
  Words shiftLeft(Words a, Words by);
  Words shiftRight(Words a, Words by, bool arithmetic);
  Words select(Value where, Words a, Words b);
  Value compare(graph::ComparisonDirection how, Words a, Words b);

  Words number(int64_t value, mlir::RankedTensorType like);
  Words fromFloat(Value x);
  Value toFloat(Words a, mlir::Type element); // rounded once
  Value toIndex(Words a);                     // i32, the nearest that there is

private:
  GraphBuilder &g;
  bool isSigned;
  Value less(Words a, Words b);
  Value word(uint32_t value, Value like) { return g.number(value, like); }
  Value asSigned(Value x) { return g.bitcast(x, g.b.getI32Type()); }
  Value asUnsigned(Value x) { return g.bitcast(x, g.b.getIntegerType(32, false)); }
  Value isNegative(Words a);
  Value shiftBy(Words by); // at most 64
  Division divideMagnitudes(Words a, Words b);
  Value divideShort(Words a, Value by);
};

} // namespace glia::emit
