#include "DecomposeChlo.h"
#include "RealExpression.h"
#include "Lower/Rows/RowsPlan.h"
#include "Graph/Analysis/SmallAngles.h"
#include "glia/Lower/Family.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace glia::emit {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN(),
                 kPi = std::numbers::pi, kLog2 = std::numbers::ln2;

// Polynomials about a middle, found by weighted least squares so that the largest relative error is smallest.
template <size_t N> Real polynomial(const Real &x, const double (&c)[N]) {
  Real r = number(x, c[N - 1]);
  for (size_t i = N - 1; i-- > 0;)
    r = r * x + c[i];
  return r;
}

Real asin(const Real &x) { return 2 * atan(x / (1 + sqrt((1 - x) * (1 + x)))); }
Real acos(const Real &x) { return 2 * atan(sqrt((1 - x) / (1 + x))); }

// With e = exp(a) - 1 there is no cancellation; from 40 on only one exponential counts, and half of it is squared so that it does not
// overflow too early.
Real sinh(const Real &x) {
  const Real a = abs(x), e = expm1(a), half = exp(a * 0.5);
  return signedLike(choose(a > 40.0, half * 0.5 * half, (e + e / (e + 1)) * 0.5), x);
}
Real cosh(const Real &x) {
  const Real a = abs(x), e = exp(a), half = exp(a * 0.5);
  return choose(a > 40.0, half * 0.5 * half, (e + 1 / e) * 0.5);
}

Real asinh(const Real &x) {
  const Real a = abs(x), square = a * a;
  return signedLike(choose(a > 1e4, log(a) + kLog2, log1p(a + square / (1 + sqrt(square + 1)))), x);
}
Real acosh(const Real &x) {
  const Real t = x - 1;
  const Real y = choose(x > 1e4, log(x) + kLog2, log1p(t + sqrt(t * (x + 1))));
  return choose(x < 1.0, kNan, y);
}
Real atanh(const Real &x) { return (log1p(x) - log1p(-x)) * 0.5; }

Real tan(const Real &x) {
  const Real s = apply("sine", x), c = apply("cosine", x);
  for (const Real &r : {s, c})
    requireExact(r.v.getDefiningOp());
  return s / c;
}

// One step of Newton from exp(log / 3).
Real cbrt(const Real &x) {
  const Real a = abs(x), y = exp(log(a) * (1.0 / 3));
  const Real better = y - (y - a / (y * y)) * (1.0 / 3);
  return choose((x == 0.0) | (a == kInfinity), x, signedLike(better, x));
}

// The angle of the smaller over the larger, then mirrored into its octant.
Real atan2(const Real &y, const Real &x) {
  const Real a = abs(y), b = abs(x);
  const Truth steep = a > b;
  const Real small = choose(steep, b, a), large = choose(steep, a, b);
  const Real ratio = choose(small == large, choose(large == 0.0, 0.0, number(x, 1)), small / large);
  Real r = atan(ratio);
  r = choose(steep, kPi / 2 - r, r);
  // -0 counts as negative: its reciprocal is -infinity.
  const Truth left = (x < 0.0) | ((x == 0.0) & ((1 / x) < 0.0)), below = (y < 0.0) | ((y == 0.0) & ((1 / y) < 0.0));
  r = choose(left, kPi - r, r);
  r = choose(below, -r, r);
  return choose((x != x) | (y != y), kNan, r); // NOLINT(misc-redundant-expression): where it is no number
}

// exp(-a^2) from the upper bits of a, whose square is exact, and the rest; times exp(a^2) erfc(a), a smooth function of 1 / (a + 2).
Real erfc(const Real &x) {
  constexpr double kMiddle = 0.24065040650406505;
  constexpr double kScaled[] = {0.23975349,  1.63776457,  3.72531381, 5.01267335, 1.28570751,
                                -6.93827808, -4.52555823, 15.4636507, 7.41245342, -37.9197155};
  GraphBuilder &g = *x.g;
  const Real a = abs(x);
  const mlir::Value bits = g.bitcast(a.v, g.b.getIntegerType(32, false));
  const Real upper{&g, g.bitcast(g.binary("and", bits, g.number(0xFFFFF000u, bits)), g.b.getF32Type())};
  const Real tail = exp(-(upper * upper)) * exp((upper - a) * (upper + a)) * polynomial(1 / (a + 2) - kMiddle, kScaled);
  const Real far = choose(x < 0.0, 2 - tail, tail);
  // Beyond 10.1 it is 0 in f32, and the parts would be infinities.
  return choose(a < 0.5, 1 - erf(x), choose(a > 10.1, choose(x < 0.0, 2.0, number(x, 0)), far));
}

// w = -log(1 - x^2); x times a polynomial in w, or in sqrt(w) near the ends.
Real erfInv(const Real &x) {
  constexpr double kNear[] = {1.50140936,      0.246640286,     -0.00417738678, -0.00125274188, 0.000218344439,
                              -4.96334785e-06, -3.46270476e-06, 4.66170664e-07, 2.32326443e-08, -8.79105647e-09};
  constexpr double kMiddle = 3.209684055085084;
  constexpr double kFar[] = {3.04336658,     1.00480705,   0.00585272027, -0.00418331085,  0.00283218591,
                             -0.00192466162, 0.0011285888, -0.0003698333, -0.000103596126, 0.000100987512};
  const Real a = abs(x), w = -log((1 - a) * (1 + a));
  const Real y = x * choose(w < 5.0, polynomial(w - 2.5, kNear), polynomial(sqrt(w) - kMiddle, kFar));
  return choose(a == 1.0, x * kInfinity, y);
}

// exp(-|x|) I1(x): up to 8 |x| times a polynomial, beyond it one in 1 / |x| over the root.
Real besselI1e(const Real &x) {
  constexpr double kNear[] = {0.044687709,     -0.0152810824,   0.00425360813,   -0.00107004934,  0.000249080053,
                              -5.39750334e-05, 1.09126496e-05,  -2.05948317e-06, 3.60069096e-07,  -5.83742862e-08,
                              9.29330247e-09,  -1.45194075e-09, 1.72167031e-10,  -1.35846282e-11, 2.67351185e-12,
                              -6.44098973e-13, 5.29419561e-14};
  constexpr double kFar[] = {0.389398459,  -0.155993299, -0.0561248732, -0.0614590095,
                             -0.119542712, -0.440910934, -2.07613772};
  const Real a = abs(x);
  const Real far = polynomial(1 / a - 0.0625, kFar) / sqrt(a);
  return signedLike(choose(a > 8.0, far, a * polynomial(a - 4, kNear)), x);
}

// Lanczos: gamma(z + 1) = sqrt(2 pi) t^(z + 1/2) exp(-t) A(z) with t = z + 15/2.
constexpr double kLanczos = 7.5, kBase = 0.99999999999980993227684700473478;
constexpr double kTerms[] = {676.520368121885098567009190444019, -1259.13921672240287047156078755283,
                             771.3234287776530788486528258894,   -176.61502916214059906584551354,
                             12.507343278686904814458936853,     -0.13857109526572011689554707,
                             9.984369578019570859563e-6,         1.50563273514931155834e-7};

Real lgamma(const Real &x) {
  const Truth mirrored = x < 0.5;
  const Real z = choose(mirrored, -x, x - 1);
  Real sum = number(x, kBase);
  for (size_t i = 0; i < std::size(kTerms); ++i)
    sum = sum + kTerms[i] / (z + static_cast<double>(i + 1));
  const Real t = z + kLanczos, logT = log(t);
  const Real y = (z + 0.5 - t / logT) * logT + (std::log(2 * kPi) / 2) + log(sum);
  // gamma(x) gamma(1 - x) = pi / sin(pi x); the sine of the distance to the nearest whole number.
  const Real a = abs(x), rest = a - floor(a), near = choose(rest > 0.5, 1 - rest, rest);
  const Real other = std::log(kPi) - log(apply("sine", near * kPi)) - y;
  const Truth whole = mirrored & (near == 0.0);
  return choose(abs(x) == kInfinity, kInfinity, choose(whole, kInfinity, choose(mirrored, other, y)));
}

Real digamma(const Real &x) {
  const Truth mirrored = x < 0.5;
  const Real z = choose(mirrored, -x, x - 1);
  Real sum = number(x, kBase), slope = number(x, 0);
  for (size_t i = 0; i < std::size(kTerms); ++i) {
    const Real part = kTerms[i] / (z + static_cast<double>(i + 1));
    sum = sum + part;
    slope = slope - part / (z + static_cast<double>(i + 1));
  }
  const Real t = z + kLanczos;
  const Real y = log(t) + slope / sum - (kLanczos - 0.5) / t;
  // pi / tan(pi x), from the distance to the nearest whole number.
  const Real from = x - apply("round_nearest_even", x);
  const Real other = y - kPi / tan(from * kPi);
  return choose((x == 0.0) | (mirrored & (from == 0.0)), kNan, choose(mirrored, other, y));
}

Real power(const Real &x, const Real &y) { return apply("power", x, y); }

// The sum of (q + k)^-s: so many terms, and for the rest the formula of Euler and Maclaurin. NaN where q is so far below zero that the
// terms do not reach what is above it.
Real zeta(const Real &s, const Real &q) {
  constexpr int kTerms = 10;
  constexpr double kRatios[] = {-1.0 / 60, -1.0 / 42, -1.0 / 40, -5.0 / 198, -691.0 / 27300}; // of B(2k) / (2k)!
  Real sum = power(q, -s);
  for (int k = 1; k < kTerms; ++k)
    sum = sum + power(q + static_cast<double>(k), -s);
  const Real a = q + static_cast<double>(kTerms), b = power(a, -s);
  Real rest = b * 0.5 + b * (a / (s - 1)), term = b * (s / a) * (1.0 / 12);
  rest = rest + term;
  for (size_t k = 0; k < std::size(kRatios); ++k) {
    const double at = 2 * static_cast<double>(k);
    term = term * ((s + (at + 1)) / a) * ((s + (at + 2)) / a) * kRatios[k];
    rest = rest + term;
  }
  const Real y = sum + choose(b == 0.0, 0, rest); // factors that overflow have nothing to multiply
  const Truth whole = q == floor(q), below = q < 0.0, far = q < static_cast<double>(1 - kTerms);
  const Real natural = choose((below & (s != floor(s))) | far, kNan, y);
  const Real pole = choose(((q == 0.0) | below) & whole, kInfinity, natural);
  return choose(s == 1.0, kInfinity, choose(s < 1.0, kNan, pole));
}

// The n-th derivative of digamma: (-1)^(n + 1) n! zeta(n + 1, x).
Real polygamma(const Real &n, const Real &x) {
  const Real size = exp(lgamma(n + 1)) * zeta(n + 1, x), even = floor(n * 0.5) * 2;
  const Real y = choose(n == 0.0, digamma(x), choose(n == even, -size, size));
  return choose((n < 0.0) | (n != floor(n)), kNan, y);
}

struct Unary {
  llvm::StringLiteral name;
  Real (*make)(const Real &);
};
struct Binary {
  llvm::StringLiteral name;
  Real (*make)(const Real &, const Real &);
};
constexpr Binary kBinary[] = {{"atan2", atan2}, {"zeta", zeta}, {"polygamma", polygamma}};
constexpr Unary kUnary[] = {{"asin", asin},       {"acos", acos},           {"sinh", sinh},      {"cosh", cosh},
                            {"asinh", asinh},     {"acosh", acosh},         {"atanh", atanh},    {"tan", tan},
                            {"cbrt", cbrt},       {"erfc", erfc},           {"erf_inv", erfInv}, {"lgamma", lgamma},
                            {"digamma", digamma}, {"bessel_i1e", besselI1e}};

template <typename Function> const Function *find(llvm::ArrayRef<Function> table, llvm::StringRef name) {
  const auto *at = llvm::find_if(table, [&](const Function &f) { return f.name == name; });
  return at == table.end() ? nullptr : at;
}

} // namespace

// A function as a custom call (`@mhlo.erf`), as other front ends print it: the operation itself, if there is one of that name.
static void nameFunctions(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main)) {
    const auto target = op->getAttrOfType<mlir::StringAttr>("call_target_name");
    if (opName(op) != "custom_call" || !target || op->getNumResults() != 1 || op->getNumOperands() == 0)
      continue;
    llvm::StringRef name = target.getValue();
    if (!name.consume_front("mhlo.") && !name.consume_front("chlo."))
      continue;
    const mlir::Type t = op->getResult(0).getType();
    if (!isPointwise(name) && !find<Unary>(kUnary, name) && !find<Binary>(kBinary, name))
      continue;
    if (!llvm::isa<mlir::FloatType>(elementOf(op->getResult(0))) ||
        llvm::any_of(op->getOperandTypes(), [&](mlir::Type o) { return o != t; }))
      continue;
    const std::string inChlo = "chlo." + name.str(), inStablehlo = "stablehlo." + name.str();
    const bool chlo = mlir::RegisteredOperationName::lookup(inChlo, op->getContext()).has_value();
    if (!chlo && !mlir::RegisteredOperationName::lookup(inStablehlo, op->getContext()))
      continue;
    GraphBuilder g(op);
    op->getResult(0).replaceAllUsesWith(g.make(chlo ? llvm::StringRef(inChlo) : name, op->getOperands(), t));
    op->erase();
  }
}

void decomposeFunctions(mlir::func::FuncOp main) {
  nameFunctions(main);
  for (mlir::Operation *op : programOps(main)) {
    const Unary *one = find<Unary>(kUnary, opName(op));
    const Binary *two = find<Binary>(kBinary, opName(op));
    if (!one && !two)
      continue;
    const mlir::Type t = elementOf(op->getOperand(0));
    if (!llvm::isa<mlir::FloatType>(t) || t.isF64() || elementOf(op->getResult(0)) != t)
      continue;
    GraphBuilder g(op);
    const auto in = [&](unsigned i) { return Real{&g, g.convert(op->getOperand(i), g.b.getF32Type())}; };
    const Real made = two ? two->make(in(0), in(1)) : one->make(in(0));
    op->getResult(0).replaceAllUsesWith(g.convert(made.v, t));
    op->erase();
  }
}

} // namespace glia::emit
