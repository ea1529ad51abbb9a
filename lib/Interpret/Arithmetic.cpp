// Arithmetic, logic and shifts. Where the specification leaves a choice the interpreter does what XLA does on CPU; each is marked.
#include "Interpret/Pointwise.h"

#include <cmath>
#include <limits>

namespace glia::interp {

double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
}
double minimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
}

namespace {

// ---- floats -----------------------------------------------------------------------------------------------------------------
double signOf(double x) { return std::isnan(x) || x == 0 ? x : std::copysign(1.0, x); }
constexpr auto fadd = [](double a, double b) { return a + b; };
constexpr auto fsub = [](double a, double b) { return a - b; };
constexpr auto fmul = [](double a, double b) { return a * b; };
constexpr auto fdiv = [](double a, double b) { return a / b; };
constexpr auto fneg = [](double a) { return -a; };
constexpr auto fabsolute = [](double a) { return std::fabs(a); };
constexpr auto fremainder = [](double a, double b) { return std::fmod(a, b); };

// ---- integers; the result wraps to the type afterwards ----------------------------------------------------------------------
constexpr auto add = [](int, Word a, Word b) { return a + b; };
constexpr auto sub = [](int, Word a, Word b) { return a - b; };
constexpr auto mul = [](int, Word a, Word b) { return a * b; };
constexpr auto neg = [](int, Word a) { return -a; };
constexpr auto absolute = [](int, Word a) { return asInt(a) < 0 ? -a : a; }; // the smallest one stays
constexpr auto same = [](int, Word a) { return a; };
constexpr auto smax = [](int, Word a, Word b) { return asInt(a) > asInt(b) ? a : b; };
constexpr auto smin = [](int, Word a, Word b) { return asInt(a) < asInt(b) ? a : b; };
constexpr auto umax = [](int, Word a, Word b) { return a > b ? a : b; };
constexpr auto umin = [](int, Word a, Word b) { return a < b ? a : b; };
constexpr auto ssign = [](int, Word a) { return static_cast<Word>(asInt(a) > 0) - static_cast<Word>(asInt(a) < 0); };
constexpr auto usign = [](int, Word a) { return static_cast<Word>(a != 0); };
// Choice: a quotient by zero has all bits set, a remainder by zero is the dividend, smallest / -1 is the smallest.
constexpr auto sdiv = [](int, Word a, Word b) -> Word {
  if (b == 0)
    return ~Word{0};
  return asInt(b) == -1 ? -a : static_cast<Word>(asInt(a) / asInt(b));
};
constexpr auto udiv = [](int, Word a, Word b) -> Word { return b == 0 ? ~Word{0} : a / b; };
constexpr auto srem = [](int, Word a, Word b) -> Word {
  if (b == 0)
    return a;
  return asInt(b) == -1 ? 0 : static_cast<Word>(asInt(a) % asInt(b));
};
constexpr auto urem = [](int, Word a, Word b) -> Word { return b == 0 ? a : a % b; };
constexpr auto upower = [](int, Word a, Word b) -> Word {
  Word r = 1;
  for (; b; b >>= 1, a *= a)
    if (b & 1)
      r *= a;
  return r;
};
constexpr auto spower = [](int bits, Word a, Word b) -> Word { // a negative exponent: 1 / power, rounded toward zero
  if (asInt(b) >= 0)
    return upower(bits, a, b);
  if (asInt(a) == 0)
    return ~Word{0}; // choice
  return asInt(a) == 1 ? 1 : asInt(a) == -1 ? (b & 1 ? a : Word{1}) : 0;
};
constexpr auto band = [](int, Word a, Word b) { return a & b; };
constexpr auto bor = [](int, Word a, Word b) { return a | b; };
constexpr auto bxor = [](int, Word a, Word b) { return a ^ b; };
constexpr auto bnot = [](int, Word a) { return ~a; };
Word unsignedOf(int bits, Word a) { return bits == 64 ? a : a & ((Word{1} << bits) - 1); }
int64_t signedOf(int bits, Word a) { return static_cast<int64_t>(a << (64 - bits)) >> (64 - bits); }
// An amount of at least the width, or negative, shifts everything out.
constexpr auto shl = [](int bits, Word a, Word n) -> Word { return n < static_cast<Word>(bits) ? a << n : 0; };
constexpr auto shrl = [](int bits, Word a, Word n) -> Word {
  return n < static_cast<Word>(bits) ? unsignedOf(bits, a) >> n : 0;
};
constexpr auto shra = [](int bits, Word a, Word n) -> Word {
  const int64_t v = signedOf(bits, a);
  return static_cast<Word>(n < static_cast<Word>(bits) ? v >> n : v >> 63);
};
constexpr auto clz = [](int bits, Word a) { return static_cast<Word>(std::countl_zero(unsignedOf(bits, a)) - (64 - bits)); };
constexpr auto popcount = [](int bits, Word a) { return static_cast<Word>(std::popcount(unsignedOf(bits, a))); };
constexpr auto smulhi = [](int bits, Word a, Word b) -> Word {
  return static_cast<Word>((static_cast<__int128>(asInt(a)) * asInt(b)) >> bits);
};
constexpr auto umulhi = [](int bits, Word a, Word b) -> Word {
  return static_cast<Word>((static_cast<unsigned __int128>(a) * b) >> bits);
};

constexpr ElementFunctions kTable[] = {
    // name, floats, signed, unsigned, i1
    {"add", float2<fadd>, int2<add>, int2<add>, int2<bor>},
    {"subtract", float2<fsub>, int2<sub>, int2<sub>},
    {"multiply", float2<fmul>, int2<mul>, int2<mul>, int2<band>},
    {"divide", float2<fdiv>, int2<sdiv>, int2<udiv>},
    {"remainder", float2<fremainder>, int2<srem>, int2<urem>},
    {"maximum", float2<maximum>, int2<smax>, int2<umax>, int2<bor>},
    {"minimum", float2<minimum>, int2<smin>, int2<umin>, int2<band>},
    {"power", float2<[](double a, double b) { return std::pow(a, b); }>, int2<spower>, int2<upower>},
    {"negate", float1<fneg>, int1<neg>, int1<neg>},
    {"abs", float1<fabsolute>, int1<absolute>, int1<same>},
    {"sign", float1<signOf>, int1<ssign>, int1<usign>},
    {"square", float1<[](double a) { return a * a; }>, int1<[](int, Word a) { return a * a; }>,
     int1<[](int, Word a) { return a * a; }>},
    {"and", nullptr, int2<band>, int2<band>, int2<band>},
    {"or", nullptr, int2<bor>, int2<bor>, int2<bor>},
    {"xor", nullptr, int2<bxor>, int2<bxor>, int2<bxor>},
    {"not", nullptr, int1<bnot>, int1<bnot>, int1<bnot>},
    {"shift_left", nullptr, int2<shl>, int2<shl>},
    {"shift_right_logical", nullptr, int2<shrl>, int2<shrl>},
    {"shift_right_arithmetic", nullptr, int2<shra>, int2<shra>},
    {"count_leading_zeros", nullptr, int1<clz>, int1<clz>},
    {"popcnt", nullptr, int1<popcount>, int1<popcount>},
    {"mulhi", nullptr, int2<smulhi>, int2<umulhi>},
};

} // namespace

std::span<const ElementFunctions> arithmeticFunctions() { return kTable; }

} // namespace glia::interp
