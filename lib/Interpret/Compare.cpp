// Comparisons and conversions between element types.
#include "Interpret/Pointwise.h"

#include <cmath>
#include <functional>
#include <string>

namespace glia::interp {

namespace {

template <class Get, class Test> void compared(const Pointwise &op, const Word *const *in, Word *out, int64_t n) {
  const Get get{};
  const Test test{};
  for (int64_t i = 0; i < n; ++i)
    out[i] = test(get(op, in[0][i]), get(op, in[1][i]));
}

struct AsFloat {
  double operator()(const Pointwise &, Word w) const { return asDouble(w); }
};
struct AsSigned {
  int64_t operator()(const Pointwise &, Word w) const { return asInt(w); }
};
struct AsUnsigned {
  Word operator()(const Pointwise &, Word w) const { return w; }
};
// -NaN < -infinity < ... < -0 < +0 < ... < infinity < NaN, by the bits.
struct AsTotalOrder {
  int64_t operator()(const Pointwise &, Word w) const {
    const int64_t v = asInt(w);
    return v < 0 ? static_cast<int64_t>(~w) ^ INT64_MIN : v;
  }
};

struct Direction {
  std::string_view name;
  Pointwise::Row floats, totals, signeds, unsigneds;
};
template <template <class> class Test> constexpr Direction directionOf(std::string_view name) {
  return {name, compared<AsFloat, Test<void>>, compared<AsTotalOrder, Test<void>>, compared<AsSigned, Test<void>>,
          compared<AsUnsigned, Test<void>>};
}
constexpr Direction kDirections[] = {
    directionOf<std::equal_to>("EQ"), directionOf<std::not_equal_to>("NE"), directionOf<std::greater_equal>("GE"),
    directionOf<std::greater>("GT"),  directionOf<std::less_equal>("LE"),   directionOf<std::less>("LT"),
};

// ---- conversions; settle() then rounds or wraps -----------------------------------------------------------------------------
void keep(const Pointwise &, const Word *const *in, Word *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = in[0][i];
}
void floatToPred(const Pointwise &, const Word *const *in, Word *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = asDouble(in[0][i]) != 0;
}
void intToPred(const Pointwise &, const Word *const *in, Word *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = in[0][i] != 0;
}
// Toward zero. Choice, as XLA on CPU: out of range saturates, NaN becomes 0.
void floatToInt(const Pointwise &op, const Word *const *in, Word *out, int64_t n) {
  const ElementInfo &t = info(op.to);
  const bool isSigned = t.kind == ElementInfo::Signed;
  const double above = std::ldexp(1.0, t.bits - isSigned), below = isSigned ? -above : 0;
  const Word largest = isSigned ? (Word{1} << (t.bits - 1)) - 1 : ~Word{0} >> (64 - t.bits);
  const Word smallest = isSigned ? ~Word{0} << (t.bits - 1) : 0;
  for (int64_t i = 0; i < n; ++i) {
    const double x = std::trunc(asDouble(in[0][i]));
    out[i] = std::isnan(x) ? 0
             : x >= above  ? largest
             : x <= below  ? smallest
             : isSigned    ? static_cast<Word>(static_cast<int64_t>(x))
                           : static_cast<Word>(x);
  }
}
// To odd where a double cannot hold it: rounding again to a narrower type is then right.
template <class Int> void intToFloat(const Pointwise &op, const Word *const *in, Word *out, int64_t n) {
  const bool narrower = info(op.to).bits < 64 && !op.inDouble;
  for (int64_t i = 0; i < n; ++i) {
    const Int v = static_cast<Int>(in[0][i]);
    double x = static_cast<double>(v);
    if (narrower && info(op.from).bits == 64) {
      const long double exact = static_cast<long double>(v); // 64 bits of mantissa, or more
      if (static_cast<long double>(x) != exact) {
        const double other =
            static_cast<long double>(x) < exact ? std::nextafter(x, INFINITY) : std::nextafter(x, -INFINITY);
        x = asWord(x) & 1 ? x : other;
      }
    }
    out[i] = asWord(x);
  }
}

} // namespace

Pointwise::Row compareRow(const OpView &op) {
  const std::string direction = op.text("comparison_direction").value_or("EQ"), type = op.text("compare_type").value_or("");
  const ElementInfo &t = info(op.operandType(0).element);
  for (const Direction &d : kDirections)
    if (d.name == direction)
      return t.kind == ElementInfo::Float    ? (type == "TOTALORDER" ? d.totals : d.floats)
             : t.kind == ElementInfo::Signed ? d.signeds
                                             : d.unsigneds;
  op.fail("unknown direction of comparison " + direction);
}

Pointwise::Row convertRow(Element from, Element to) {
  const ElementInfo::Kind f = info(from).kind, t = info(to).kind;
  if (t == ElementInfo::Pred)
    return f == ElementInfo::Float ? floatToPred : intToPred;
  if (f == ElementInfo::Float)
    return t == ElementInfo::Float ? keep : floatToInt;
  if (t != ElementInfo::Float)
    return keep; // wraps
  return f == ElementInfo::Signed ? intToFloat<int64_t> : intToFloat<uint64_t>;
}

} // namespace glia::interp
