// Custom calls by target. Those that only carry a hint forward their operands; the checks are those of StableHLO's own test data.
#include "Interpret/Rules.h"
#include "Interpret/TopK.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace glia::interp {

namespace {

void forward(Call &c) {
  if (c.operandCount() != c.resultCount())
    c.fail("this custom call gives back its operands, of which there are more or fewer than results");
  c.results = std::move(c.operands);
}

void nothing(Call &) {}

void topKLargest(Call &c) {
  if (c.resultCount() != 2 || c.operandCount() < 1)
    c.fail("top_k has one operand and two results");
  topK(c, c.integerOr("mhlo.attributes.largest", 1) != 0);
}

// ---- checks -----------------------------------------------------------------------------------------------------------------
std::string shown(Element e, Word w) {
  char text[40];
  const ElementInfo &t = info(e);
  if (t.kind == ElementInfo::Float)
    snprintf(text, sizeof text, "%.9g", asDouble(w));
  else
    snprintf(text, sizeof text, t.kind == ElementInfo::Unsigned ? "%llu" : "%lld", static_cast<unsigned long long>(w));
  return text;
}

// Distance in steps of the type: magnitudes are ordered as the integers of their storage.
uint64_t ulps(Element e, Word x, Word y) {
  const double a = asDouble(x), b = asDouble(y);
  if (x == y || (std::isnan(a) && std::isnan(b)))
    return 0;
  if (!std::isfinite(a) || !std::isfinite(b))
    return std::numeric_limits<uint64_t>::max();
  const Word sizes[] = {asWord(std::fabs(a)), asWord(std::fabs(b))};
  Word steps[2] = {0, 0};
  for (int i = 0; i < 2; ++i)
    encode(e, &sizes[i], reinterpret_cast<std::byte *>(&steps[i]), 1);
  if (std::signbit(a) != std::signbit(b))
    return steps[0] + steps[1];
  return steps[0] > steps[1] ? steps[0] - steps[1] : steps[1] - steps[0];
}

template <class Differ> void expect(Call &c, const char *what, Differ differ) {
  const Tensor &actual = c.tensor(0), &expected = c.tensor(1);
  if (actual.element != expected.element || actual.shape != expected.shape)
    c.failAs("GRAPH-CHECK", "the values to compare differ in type or shape", "");
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < actual.count(); ++i)
    if (differ(actual.element, actual.at(i), expected.at(i))) {
      first = wrong++ ? first : i;
    }
  if (wrong)
    c.failAs("GRAPH-CHECK",
             std::to_string(wrong) + " of " + std::to_string(actual.count()) + " elements are not " + what + "; element " +
                 std::to_string(first) + " is " + shown(actual.element, actual.at(first)) + ", expected " +
                 shown(actual.element, expected.at(first)),
             "");
}

void expectEqual(Call &c) {
  expect(c, "equal", [](Element e, Word a, Word b) {
    return isFloat(e) ? !(asDouble(a) == asDouble(b) || (std::isnan(asDouble(a)) && std::isnan(asDouble(b)))) : a != b;
  });
}
void expectClose(Call &c) {
  const auto most = static_cast<uint64_t>(c.integerOr("max_ulp_difference", 3));
  expect(c, "close", [&](Element e, Word a, Word b) { return isFloat(e) ? ulps(e, a, b) > most : a != b; });
}
void expectAlmostEqual(Call &c) {
  const double tolerance = c.number("tolerance").value_or(1e-4);
  expect(c, "almost equal", [&](Element e, Word a, Word b) {
    const double x = asDouble(a), y = asDouble(b);
    return isFloat(e) ? !(x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= tolerance) : a != b;
  });
}

constexpr Rule kRules[] = {
    {"Sharding", forward},
    {"SPMDFullToShardShape", forward},
    {"SPMDShardToFullShape", forward},
    {"annotate_device_placement", forward},
    {"LayoutConstraint", forward},
    {"dce_sink", nothing},
    {"mhlo.topk", topKLargest},
    {"TopK", topKLargest},
    {"AwsNeuronTopK", topKLargest},
    {"check.expect_eq", expectEqual},
    {"check.expect_close", expectClose},
    {"check.expect_almost_eq", expectAlmostEqual},
};

} // namespace

std::span<const Rule> customCallRules() { return kRules; }

} // namespace glia::interp
