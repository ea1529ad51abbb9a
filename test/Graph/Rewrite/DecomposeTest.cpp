// Functions that are made of others, against the C library in double: largest error in f32 ulps as docs/numerics.md says, special values,
// narrow types. Operations on bits against the reference interpreter.
#include "Check/CompareRuns.h"

using namespace glia;

namespace {

std::vector<float> runUnary(const std::string &op, const std::vector<float> &x, const char *target) {
  const std::string n = std::to_string(x.size()), t = "tensor<" + n + "xf32>";
  const std::string arrow = op.starts_with("chlo") ? t + " -> " + t : t;
  graph::Graph g = graph::parseGraph("func.func @main(%x: " + t + ") -> " + t + " {\n %r = " + op + " %x : " + arrow +
                                         "\n return %r : " + t + "\n}",
                                     "t.mlir");
  GraphOptions options;
  options.target = target;
  const CompiledGraph c = compileGraph(*g.module, options);
  EXPECT_TRUE(verify(c.program).ok());
  const RunResult r = run(c.program, {{"arg0", floats(x).bytes}});
  EXPECT_TRUE(r.ok());
  std::vector<float> out(x.size());
  std::memcpy(out.data(), r.outputs.at("result0").data(), out.size() * 4);
  return out;
}

struct Function {
  const char *op;
  double (*exact)(double);
  double low, high, ulps;
  double absolute = 0; // of what the error may be besides
};

double erfInv(double y) { // bisection
  double a = -6, b = 6;
  for (int i = 0; i < 200; ++i) {
    const double m = (a + b) / 2;
    (std::erf(m) < y ? a : b) = m;
  }
  return (a + b) / 2;
}
double digammaOf(double x) {
  double r = 0;
  for (; x < 20; x += 1)
    r -= 1 / x;
  const double s = 1 / (x * x);
  return r + std::log(x) - 0.5 / x - s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s / 240)));
}

double besselOf(double x) { // the power series
  const double a = std::fabs(x);
  double term = a / 2, sum = 0;
  for (int k = 1; k < 400; ++k) {
    sum += term;
    term *= a * a / 4 / (static_cast<double>(k) * (k + 1));
  }
  return std::copysign(sum * std::exp(-a), x);
}

const Function kFunctions[] = {
    {"chlo.atan", std::atan, -20, 20, 2},
    {"chlo.asin", std::asin, -1, 1, 4},
    {"chlo.acos", std::acos, -1, 1, 4},
    {"chlo.sinh", std::sinh, -89, 89, 4},
    {"chlo.sinh", std::sinh, -2, 2, 4},
    {"chlo.cosh", std::cosh, -89, 89, 4},
    {"chlo.asinh", std::asinh, -2e4, 2e4, 4},
    {"chlo.asinh", std::asinh, -2, 2, 4},
    {"chlo.acosh", std::acosh, 1, 3, 4},
    {"chlo.acosh", std::acosh, 1, 2e4, 4},
    {"chlo.atanh", std::atanh, -1, 1, 4},
    {"chlo.tan", std::tan, -50, 50, 8},
    {"stablehlo.cbrt", std::cbrt, -1000, 1000, 3},
    {"chlo.erfc", std::erfc, -4, 9, 8},
    {"chlo.bessel_i1e", besselOf, -30, 30, 8},
    {"chlo.erf_inv", erfInv, -0.999999, 0.999999, 4},
    {"chlo.lgamma", [](double x) { return std::lgamma(x); }, 0.01, 30, 4, 4e-6},
    {"chlo.digamma", digammaOf, 0.01, 30, 4, 2e-6},
};

class Decompose : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Targets, Decompose, testing::Values("trn1", "trn2", "trn3"));

TEST_P(Decompose, FunctionsWithinTheirUlps) {
  for (const Function &f : kFunctions) {
    std::vector<float> x(3001);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(f.low + (f.high - f.low) * static_cast<double>(i) / 3000);
    const std::vector<float> got = runUnary(f.op, x, GetParam());
    double worst = 0, at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = f.exact(x[i]);
      if (!std::isfinite(static_cast<float>(want)) || (got[i] == static_cast<float>(want)))
        continue;
      const double ulp = std::max(std::ldexp(1.0, std::ilogb(want) - 23), 0x1p-149);
      const double error = std::max(std::fabs(got[i] - want) - f.absolute, 0.0) / ulp;
      if (!(error <= worst))
        worst = error, at = x[i];
    }
    EXPECT_LE(worst, f.ulps) << f.op << " at " << at << " on " << GetParam();
  }
}

// Ends of the domain, zeros, infinities and NaN: whatever is not finite or zero in the reference is the same here.
// As torch_xla prints them.
TEST_P(Decompose, FunctionsAsCustomCalls) {
  std::vector<float> x(300);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i) / 200 - 0.7f;
  for (const char *name : {"erf", "erf_inv", "asin", "acos", "atan", "sinh", "cosh", "asinh", "atanh", "tan", "square"}) {
    const std::string call = "stablehlo.custom_call @mhlo." + std::string(name) +
                             "(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64}",
                      t = "tensor<300xf32>";
    graph::Graph g = graph::parseGraph("func.func @main(%x: " + t + ") -> " + t + " {\n %r = " + call + " : (" + t +
                                           ") -> " + t + "\n return %r : " + t + "\n}",
                                       "t.mlir");
    GraphOptions options;
    options.target = GetParam();
    const CompiledGraph c = compileGraph(*g.module, options);
    const RunResult r = run(c.program, {{"arg0", floats(x).bytes}});
    const std::string op = std::string(name) == "tan" ? "stablehlo.tan" : "chlo." + std::string(name);
    EXPECT_EQ(r.outputs.at("result0"), floats(runUnary(op, x, GetParam())).bytes) << name;
  }
}

TEST_P(Decompose, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x{0,   -0.0f, 1,   -1,    2,      -2,     0.5f, -0.5f, inf,  -inf,
                             nan, 90,    -90, 1e30f, -1e30f, 1e-30f, 11,   -11,   -3.5f};
  for (const Function &f : kFunctions) {
    const std::vector<float> got = runUnary(f.op, x, GetParam());
    const std::string t = "tensor<" + std::to_string(x.size()) + "xf32>";
    graph::Graph g = graph::parseGraph("func.func @main(%x: " + t + ") -> " + t + " {\n %r = " + f.op +
                                           " %x : " + (f.op[0] == 'c' ? t + " -> " : "") + t + "\n return %r : " + t + "\n}",
                                       "t.mlir");
    const std::vector<HostTensor> wants = interpret(*g.module, "main", {floats(x)});
    for (size_t i = 0; i < x.size(); ++i) {
      float want;
      std::memcpy(&want, &wants[0].bytes[i * 4], 4);
      if (std::isnan(want) || std::isinf(want) || want == 0)
        EXPECT_TRUE(got[i] == want || (std::isnan(want) && std::isnan(got[i])) || (want == 0 && std::fabs(got[i]) < 1e-6))
            << f.op << " of " << x[i] << " is " << got[i] << ", not " << want;
      else
        EXPECT_NEAR(got[i], want, std::fabs(want) * 1e-5 + 1e-6) << f.op << " of " << x[i];
    }
  }
}

TEST_P(Decompose, Angles) {
  std::vector<float> y, x;
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (float a : {0.0f, -0.0f, 1.0f, -1.0f, 3.0f, -0.25f, inf, -inf, nan, 1e20f, -1e-20f})
    for (float b : {0.0f, -0.0f, 1.0f, -1.0f, 3.0f, -0.25f, inf, -inf, nan, 1e20f, -1e-20f})
      y.push_back(a), x.push_back(b);
  const std::string t = "tensor<" + std::to_string(x.size()) + "xf32>";
  graph::Graph g = graph::parseGraph("func.func @main(%y: " + t + ", %x: " + t + ") -> " + t +
                                         " {\n %r = stablehlo.atan2 %y, %x : " + t + "\n return %r : " + t + "\n}",
                                     "t.mlir");
  GraphOptions options;
  options.target = GetParam();
  const RunResult r = run(compileGraph(*g.module, options).program, {{"arg0", floats(y).bytes}, {"arg1", floats(x).bytes}});
  ASSERT_TRUE(r.ok());
  for (size_t i = 0; i < x.size(); ++i) {
    float got;
    std::memcpy(&got, &r.outputs.at("result0")[i * 4], 4);
    const double want = std::atan2(static_cast<double>(y[i]), static_cast<double>(x[i]));
    if (std::isnan(want))
      EXPECT_TRUE(std::isnan(got)) << y[i] << " " << x[i];
    else
      EXPECT_NEAR(got, want, 1e-6 * std::fabs(want) + 1e-38) << y[i] << " " << x[i];
  }
}

// fmod is exact: bit for bit.
TEST_P(Decompose, RemaindersOfFloats) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> edge{
      0.0f,    -0.0f, 1.0f, -1.0f, 3.0f, 0.1f, -7.3f,       1e20f,       1e-20f,     3.4028235e38f,   1e-45f,
      -1e-40f, inf,   -inf, nan,   2.5f, 1e7f, 16777217.0f, 123456.789f, 6.2831855f, 1.17549435e-38f, 2e-38f};
  uint64_t seed = 12345;
  for (int i = 0; i < 40; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    edge.push_back(std::bit_cast<float>(static_cast<uint32_t>(seed >> 32)));
  }
  std::vector<float> x, y;
  for (float a : edge)
    for (float b : edge)
      x.push_back(a), y.push_back(b);
  const std::string t = "tensor<" + std::to_string(x.size()) + "xf32>";
  compareRuns("func.func @main(%x: " + t + ", %y: " + t + ") -> (" + t + ", " + t +
                  ") {\n %r = stablehlo.remainder %x, %y : " + t + "\n %c = stablehlo.constant dense<0.7> : " + t +
                  "\n %s = stablehlo.remainder %x, %c : " + t + "\n return %r, %s : " + t + ", " + t + "\n}",
              {floats(x), floats(y)}, GetParam());
}

TEST_P(Decompose, BitsOfFloats) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> edge{0.0f,     -0.0f,    1.0f,   -1.0f,   1.00390625f, 1.01171875f, 65504.0f,
                                65519.0f, 65520.0f, 1e-45f, -1e-40f, 1e-38f,      6.1e-5f,     6.1035e-5f,
                                6.0e-8f,  inf,      -inf,   nan,     3.4e38f,     -3.39e38f};
  std::vector<float> x, y;
  for (float a : edge)
    for (float b : edge)
      x.push_back(a), y.push_back(b);
  const std::string n = std::to_string(x.size());
  for (const char *type : {"f32", "bf16", "f16"}) {
    const std::string f = "tensor<" + n + "xf32>", t = "tensor<" + n + "x" + type + ">", p = "tensor<" + n + "xi1>";
    std::string values, types,
        body = "  %x = stablehlo.convert %a : (" + f + ") -> " + t + "\n  %y = stablehlo.convert %b : (" + f + ") -> " + t +
               "\n";
    int i = 0;
    const auto add = [&](const std::string &line, const std::string &result) {
      body += "  %r" + std::to_string(i) + " = " + line + "\n";
      values += (i ? ", %r" : "%r") + std::to_string(i);
      types += (i++ ? ", " : "") + result;
    };
    add("chlo.next_after %x, %y : " + t + ", " + t + " -> " + t, t);
    for (const char *format : {"e8m7", "e5m10", "e5m2", "e8m3", "e4m3", "e8m23", "e11m52"})
      add(std::string("stablehlo.reduce_precision %x, format = ") + format + " : " + t, t);
    for (const char *op : {"is_inf", "is_pos_inf", "is_neg_inf"})
      add(std::string("chlo.") + op + " %x : " + t + " -> " + p, p);
    for (const char *how : {"LT", "EQ", "GE"})
      add(std::string("stablehlo.compare ") + how + ", %x, %y, TOTALORDER : (" + t + ", " + t + ") -> " + p, p);
    compareRuns("func.func @main(%a: " + f + ", %b: " + f + ") -> (" + types + ") {\n" + body + "  return " + values +
                    " : " + types + "\n}",
                {floats(x), floats(y)}, GetParam());
  }
}

TEST_P(Decompose, UpperHalvesOfProducts) {
  for (const auto &[type, element] : {std::pair<std::string, Element>{"i32", Element::I32},
                                      {"ui32", Element::U32},
                                      {"i16", Element::I16},
                                      {"ui8", Element::U8}}) {
    const std::string t = "tensor<300x" + type + ">";
    HostTensor a = integers(element, {300}, 300), b = a;
    std::reverse(b.bytes.begin(), b.bytes.end());
    compareRuns("func.func @main(%a: " + t + ", %b: " + t + ") -> " + t + " {\n %r = chlo.mulhi %a, %b : " + t + ", " + t +
                    " -> " + t + "\n return %r : " + t + "\n}",
                {a, b}, GetParam());
  }
}

// Sums that wrap, products, starts that are not neutral or not constants, over all axes.
TEST_P(Decompose, ReductionsOfIntegers) {
  for (const auto &[type, element] : {std::pair<std::string, Element>{"i8", Element::I8},
                                      {"i16", Element::I16},
                                      {"i32", Element::I32},
                                      {"ui8", Element::U8},
                                      {"ui16", Element::U16},
                                      {"ui32", Element::U32},
                                      {"i1", Element::Pred}}) {
    const std::string in = "tensor<4x16x64x" + type + ">", s = "tensor<" + type + ">";
    const std::vector<std::pair<std::string, std::string>> axes{{"2", "tensor<4x16x"},
                                                                {"0", "tensor<16x64x"},
                                                                {"1", "tensor<4x64x"},
                                                                {"0, 2", "tensor<16x"},
                                                                {"0, 1, 2", "tensor<"}};
    std::string values, types,
        body = "  %c = stablehlo.constant dense<" + std::string(type == "i1" ? "true" : "3") + "> : " + s + "\n";
    int i = 0;
    for (const char *op : {"add", "multiply", "maximum", "minimum", "and", "or", "xor"})
      for (const auto &[dims, to] : axes) {
        const std::string result = to + type + ">";
        body += "  %r" + std::to_string(i) + " = stablehlo.reduce(%x init: " + (i % 2 ? "%c" : "%s") +
                ") applies stablehlo." + op + " across dimensions = [" + dims + "] : (" + in + ", " + s + ") -> " + result +
                "\n";
        values += (i ? ", %r" : "%r") + std::to_string(i);
        types += (i++ ? ", " : "") + result;
      }
    compareRuns("func.func @main(%x: " + in + ", %s: " + s + ") -> (" + types + ") {\n" + body + "  return " + values +
                    " : " + types + "\n}",
                {integers(element, {4, 16, 64}, 4096), integers(element, {}, 1)}, GetParam());
  }
}

// Products of integers that wrap; the contraction is longer than fp32 can sum exactly at once.
TEST_P(Decompose, DotsOfIntegers) {
  struct Case {
    std::string in;
    Element element;
    std::string out;
  };
  for (const Case &c : {Case{"i8", Element::I8, "i32"},
                        {"ui8", Element::U8, "ui8"},
                        {"i16", Element::I16, "i16"},
                        {"i32", Element::I32, "i32"},
                        {"ui32", Element::U32, "ui32"},
                        {"i1", Element::Pred, "i1"}})
    for (int64_t n : {5, 300}) {
      const std::string a = "tensor<7x" + std::to_string(n) + "x" + c.in + ">",
                        b = "tensor<" + std::to_string(n) + "x9x" + c.in + ">", r = "tensor<7x9x" + c.out + ">";
      compareRuns(
          "func.func @main(%a: " + a + ", %b: " + b + ") -> " + r +
              " {\n %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (" + a + ", " + b + ") -> " + r +
              "\n return %r : " + r + "\n}",
          {integers(c.element, {7, n}, static_cast<size_t>(7 * n)), integers(c.element, {n, 9}, static_cast<size_t>(n * 9))},
          GetParam());
    }
}

} // namespace
