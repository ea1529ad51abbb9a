// Instructions that compute each element on its own.
#include "HloReader.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace glia::graph::hlo {

static StringRef ref(std::string_view s) { return {s.data(), s.size()}; }

// Operations that have operands and nothing else; the same name with `-` for `_` where it is not here.
static StringRef plainName(StringRef opcode) {
  return llvm::StringSwitch<StringRef>(opcode)
      .Case("abs", "stablehlo.abs")
      .Case("add", "stablehlo.add")
      .Case("and", "stablehlo.and")
      .Case("atan2", "stablehlo.atan2")
      .Case("bitcast-convert", "stablehlo.bitcast_convert")
      .Case("ceil", "stablehlo.ceil")
      .Case("clamp", "stablehlo.clamp")
      .Case("complex", "stablehlo.complex")
      .Case("convert", "stablehlo.convert")
      .Case("count-leading-zeros", "stablehlo.count_leading_zeros")
      .Case("divide", "stablehlo.divide")
      .Case("floor", "stablehlo.floor")
      .Case("imag", "stablehlo.imag")
      .Case("is-finite", "stablehlo.is_finite")
      .Case("maximum", "stablehlo.maximum")
      .Case("minimum", "stablehlo.minimum")
      .Case("multiply", "stablehlo.multiply")
      .Case("negate", "stablehlo.negate")
      .Case("not", "stablehlo.not")
      .Case("or", "stablehlo.or")
      .Case("popcnt", "stablehlo.popcnt")
      .Case("power", "stablehlo.power")
      .Case("real", "stablehlo.real")
      .Case("remainder", "stablehlo.remainder")
      .Case("round-nearest-afz", "stablehlo.round_nearest_afz")
      .Case("round-nearest-even", "stablehlo.round_nearest_even")
      .Case("select", "stablehlo.select")
      .Case("shift-left", "stablehlo.shift_left")
      .Case("shift-right-arithmetic", "stablehlo.shift_right_arithmetic")
      .Case("shift-right-logical", "stablehlo.shift_right_logical")
      .Case("sign", "stablehlo.sign")
      .Case("subtract", "stablehlo.subtract")
      .Case("xor", "stablehlo.xor")
      .Case("acos", "chlo.acos")
      .Case("acosh", "chlo.acosh")
      .Case("asin", "chlo.asin")
      .Case("asinh", "chlo.asinh")
      .Case("atanh", "chlo.atanh")
      .Case("cosh", "chlo.cosh")
      .Case("erf", "chlo.erf")
      .Case("sinh", "chlo.sinh")
      .Default("");
}

// Those that may say how accurate they must be.
static StringRef accurateName(StringRef opcode) {
  return llvm::StringSwitch<StringRef>(opcode)
      .Case("cbrt", "stablehlo.cbrt")
      .Case("cosine", "stablehlo.cosine")
      .Case("exponential", "stablehlo.exponential")
      .Case("exponential-minus-one", "stablehlo.exponential_minus_one")
      .Case("log", "stablehlo.log")
      .Case("log-plus-one", "stablehlo.log_plus_one")
      .Case("logistic", "stablehlo.logistic")
      .Case("rsqrt", "stablehlo.rsqrt")
      .Case("sine", "stablehlo.sine")
      .Case("sqrt", "stablehlo.sqrt")
      .Case("tan", "stablehlo.tan")
      .Case("tanh", "stablehlo.tanh")
      .Default("");
}

static Attribute accuracyOf(ByteCursor in, MLIRContext *context) {
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
  ResultAccuracyMode mode = ResultAccuracyMode::DEFAULT;
  forEach(in, [&](const Field &f) {
    if (f.number == 1 && f.integer() == 1)
      mode = ResultAccuracyMode::HIGHEST;
    if (f.number != 2)
      return;
    mode = ResultAccuracyMode::TOLERANCE;
    forEach(f.message(), [&](const Field &g) {
      if (g.number == 3)
        ulps = g.integer();
      else if ((g.number == 1 || g.number == 2) && g.wire == Wire::Eight)
        (g.number == 1 ? atol : rtol) = std::bit_cast<double>(g.value);
    });
  });
  if (mode == ResultAccuracyMode::DEFAULT)
    return {};
  return ResultAccuracyAttr::get(context, APFloat(atol), APFloat(rtol), ulps, mode);
}

bool Reader::readElementwise(const Instruction &i, Body &body, Leaves &out) {
  const StringRef opcode = ref(i.opcode);
  const auto all = [&] {
    SmallVector<Value> values;
    for (size_t n = 0; n < i.operands.size(); ++n)
      values.push_back(value(i, body, n));
    return values;
  };
  StringRef name = plainName(opcode);
  Attributes attributes;
  if (name.empty()) {
    name = accurateName(opcode);
    if (!name.empty() && i.accuracy)
      if (const Attribute a = accuracyOf(*i.accuracy, context))
        attributes.push_back(named("result_accuracy", a));
  }
  if (opcode == "compare") {
    name = "stablehlo.compare";
    const auto direction = symbolizeComparisonDirection(ref(i.direction));
    if (!direction)
      wrong(i, "has no direction");
    attributes.push_back(named("comparison_direction", ComparisonDirectionAttr::get(context, *direction)));
    if (i.comparison == "TOTALORDER") // the others follow from the operands
      attributes.push_back(named("compare_type", ComparisonTypeAttr::get(context, ComparisonType::TOTALORDER)));
  } else if (opcode == "reduce-precision") {
    name = "stablehlo.reduce_precision";
    attributes = {integer("exponent_bits", i.exponentBits, 32), integer("mantissa_bits", i.mantissaBits, 32)};
  }
  if (name.empty())
    return false;
  llvm::append_range(out, make(i, body, name, all(), attributes)->getResults());
  return true;
}

} // namespace glia::graph::hlo
