// Complex numbers of a graph as pairs of real tensors: arithmetic and functions in operations on the parts. Neither a quotient nor a size
// overflows or vanishes on the way.
#pragma once
#include "Graph/Analysis/GraphBuilder.h"

namespace glia::emit {

struct Parts {
  mlir::Value re, im;
};

class ComplexArithmetic {
public:
  using Value = mlir::Value;
  explicit ComplexArithmetic(GraphBuilder &g) : g(g) {}

  Parts add(Parts a, Parts b) { return {g.add(a.re, b.re), g.add(a.im, b.im)}; }
  Parts subtract(Parts a, Parts b) { return {g.subtract(a.re, b.re), g.subtract(a.im, b.im)}; }
  Parts multiply(Parts a, Parts b);
  Parts divide(Parts a, Parts b);
  Parts power(Parts a, Parts b);
  Parts select(Value where, Parts a, Parts b) { return {g.select(where, a.re, b.re), g.select(where, a.im, b.im)}; }
  Value compare(graph::ComparisonDirection how, Parts a, Parts b);
  Value size(Parts a);  // its absolute value
  Value angle(Parts a); // in (-pi, pi]
  // By the name of the operation; no parts if it is not known.
  Parts function(llvm::StringRef name, Parts a);

private:
  GraphBuilder &g;

  Value number(double n, Parts like) { return g.number(n, like.re); }
  Value half(Value x) { return g.multiply(x, g.number(0.5, x)); }
  Value unary(llvm::StringRef name, Value x) { return g.unary(name, x); }
  Value withSign(Value size, Value sign); // size is not negative
  Value isInfinite(Value x);
  Value isInfinite(Parts a) { return g.binary("or", isInfinite(a.re), isInfinite(a.im)); }
  Value isZero(Value x); // or so small that a quotient by it is none
  Parts negate(Parts a) { return {unary("negate", a.re), unary("negate", a.im)}; }
  Parts exponential(Parts a);
  Parts exponentialMinusOne(Parts a);
  Parts log(Parts a);
  Parts logPlusOne(Parts a);
  Parts sqrt(Parts a);
  Parts tanh(Parts a);
  Parts sinh(Parts a);
  Parts cosh(Parts a);
  Parts sign(Parts a);
  Parts asin(Parts a);
  Parts acos(Parts a);
  Parts acosh(Parts a);
  Parts atanh(Parts a);
  Parts timesI(Parts a) { return {unary("negate", a.im), a.re}; }
  Parts overI(Parts a) { return {a.im, unary("negate", a.re)}; }
  Parts plus(Parts a, double real) { return {g.add(a.re, number(real, a)), a.im}; }
};

} // namespace glia::emit
