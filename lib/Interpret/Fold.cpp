// Folds by operation and kind of element.
#include "Interpret/Fold.h"
#include "Interpret/Pointwise.h"

namespace glia::interp {

namespace {

template <auto F> void fold(Word *acc, int64_t accStep, const Word *x, int64_t xStep, int64_t n) {
  if (accStep == 0) {
    Word a = *acc;
    for (int64_t i = 0; i < n; ++i)
      a = F(a, x[i * xStep]);
    *acc = a;
  } else if (accStep == 1 && xStep == 1) {
    for (int64_t i = 0; i < n; ++i)
      acc[i] = F(acc[i], x[i]);
  } else {
    for (int64_t i = 0; i < n; ++i)
      acc[i * accStep] = F(acc[i * accStep], x[i * xStep]);
  }
}

constexpr auto fadd = [](Word a, Word b) { return asWord(asDouble(a) + asDouble(b)); };
constexpr auto fmul = [](Word a, Word b) { return asWord(asDouble(a) * asDouble(b)); };
constexpr auto fmax = [](Word a, Word b) { return asWord(maximum(asDouble(a), asDouble(b))); };
constexpr auto fmin = [](Word a, Word b) { return asWord(minimum(asDouble(a), asDouble(b))); };
constexpr auto add = [](Word a, Word b) { return a + b; };
constexpr auto mul = [](Word a, Word b) { return a * b; };
constexpr auto smax = [](Word a, Word b) { return asInt(a) > asInt(b) ? a : b; };
constexpr auto smin = [](Word a, Word b) { return asInt(a) < asInt(b) ? a : b; };
constexpr auto umax = [](Word a, Word b) { return a > b ? a : b; };
constexpr auto umin = [](Word a, Word b) { return a < b ? a : b; };
constexpr auto both = [](Word a, Word b) { return a & b; };
constexpr auto either = [](Word a, Word b) { return a | b; };
constexpr auto differ = [](Word a, Word b) { return a ^ b; };

struct Entry {
  std::string_view name;
  Fold onFloat, onSigned, onUnsigned, onPred;
};
constexpr Entry kTable[] = {
    {"stablehlo.add", fold<fadd>, fold<add>, fold<add>, fold<either>},
    {"stablehlo.multiply", fold<fmul>, fold<mul>, fold<mul>, fold<both>},
    {"stablehlo.maximum", fold<fmax>, fold<smax>, fold<umax>, fold<either>},
    {"stablehlo.minimum", fold<fmin>, fold<smin>, fold<umin>, fold<both>},
    {"stablehlo.and", nullptr, fold<both>, fold<both>, fold<both>},
    {"stablehlo.or", nullptr, fold<either>, fold<either>, fold<either>},
    {"stablehlo.xor", nullptr, fold<differ>, fold<differ>, fold<differ>},
};

} // namespace

Fold findFold(std::string_view operation, Element element) {
  for (const Entry &e : kTable)
    if (e.name == operation) {
      const ElementInfo::Kind kind = info(element).kind;
      return kind == ElementInfo::Float      ? e.onFloat
             : kind == ElementInfo::Signed   ? e.onSigned
             : kind == ElementInfo::Unsigned ? e.onUnsigned
                                             : e.onPred;
    }
  return nullptr;
}

} // namespace glia::interp
