// f32 values of a graph that read like a formula: (1 - x) * (1 + x).
#pragma once
#include "Graph/Analysis/GraphBuilder.h"

namespace glia::emit {

struct Real {
  GraphBuilder *g;
  mlir::Value v;
};

inline Real number(const Real &like, double n) { return {like.g, like.g->number(n, like.v)}; }
inline Real apply(const char *op, const Real &x) { return {x.g, x.g->unary(op, x.v)}; }
inline Real apply(const char *op, const Real &x, const Real &y) { return {x.g, x.g->binary(op, x.v, y.v)}; }

inline Real operator+(const Real &x, const Real &y) { return apply("add", x, y); }
inline Real operator-(const Real &x, const Real &y) { return apply("subtract", x, y); }
inline Real operator*(const Real &x, const Real &y) { return apply("multiply", x, y); }
inline Real operator/(const Real &x, const Real &y) { return apply("divide", x, y); }
inline Real operator-(const Real &x) { return apply("negate", x); }
inline Real operator+(const Real &x, double y) { return x + number(x, y); }
inline Real operator-(const Real &x, double y) { return x - number(x, y); }
inline Real operator*(const Real &x, double y) { return x * number(x, y); }
inline Real operator+(double x, const Real &y) { return number(y, x) + y; }
inline Real operator-(double x, const Real &y) { return number(y, x) - y; }
inline Real operator*(double x, const Real &y) { return y * x; }
inline Real operator/(double x, const Real &y) { return number(y, x) / y; }

inline Real abs(const Real &x) { return apply("abs", x); }
inline Real exp(const Real &x) { return apply("exponential", x); }
inline Real expm1(const Real &x) { return apply("exponential_minus_one", x); }
inline Real log(const Real &x) { return apply("log", x); }
inline Real log1p(const Real &x) { return apply("log_plus_one", x); }
inline Real sqrt(const Real &x) { return apply("sqrt", x); }
inline Real floor(const Real &x) { return apply("floor", x); }
inline Real atan(const Real &x) { return apply("chlo.atan", x); }
inline Real erf(const Real &x) { return apply("chlo.erf", x); }

struct Truth {
  GraphBuilder *g;
  mlir::Value v;
};
inline Truth compare(graph::ComparisonDirection how, const Real &x, const Real &y) {
  return {x.g, x.g->compare(how, x.v, y.v)};
}
inline Truth operator<(const Real &x, const Real &y) { return compare(graph::ComparisonDirection::LT, x, y); }
inline Truth operator>(const Real &x, const Real &y) { return compare(graph::ComparisonDirection::GT, x, y); }
inline Truth operator==(const Real &x, const Real &y) { return compare(graph::ComparisonDirection::EQ, x, y); }
inline Truth operator!=(const Real &x, const Real &y) { return compare(graph::ComparisonDirection::NE, x, y); }
inline Truth operator<(const Real &x, double y) { return x < number(x, y); }
inline Truth operator>(const Real &x, double y) { return x > number(x, y); }
inline Truth operator==(const Real &x, double y) { return x == number(x, y); }
inline Truth operator!=(const Real &x, double y) { return x != number(x, y); }
inline Truth operator|(const Truth &x, const Truth &y) { return {x.g, x.g->binary("or", x.v, y.v)}; }
inline Truth operator&(const Truth &x, const Truth &y) { return {x.g, x.g->binary("and", x.v, y.v)}; }
inline Real choose(const Truth &where, const Real &x, const Real &y) { return {x.g, x.g->select(where.v, x.v, y.v)}; }
inline Real choose(const Truth &where, double x, const Real &y) { return choose(where, number(y, x), y); }
// The size of x with the sign of `like`; +0 for either zero of it.
inline Real signedLike(const Real &x, const Real &like) { return choose(like < 0.0, -x, x); }

} // namespace glia::emit
