// Finding and running element-wise operations.
#include "Interpret/Pointwise.h"

#include <cmath>
#include <unordered_map>

namespace glia::interp {

namespace {

void select(const Pointwise &, const Word *const *in, Word *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = in[0][i] ? in[1][i] : in[2][i];
}
// minimum(maximum(operand, low), high), with the NaN rules of those.
void clamp(const Pointwise &op, const Word *const *in, Word *out, int64_t n) {
  const Pointwise largest = *namedFunction("maximum", op.to, op.inDouble),
                  least = *namedFunction("minimum", op.to, op.inDouble);
  const Word *first[] = {in[1], in[0]};
  std::vector<Word> raised(n);
  largest(first, raised.data(), n);
  const Word *second[] = {raised.data(), in[2]};
  least(second, out, n);
}
template <class Test> void tested(const Pointwise &, const Word *const *in, Word *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = Test{}(asDouble(in[0][i]));
}
struct IsFinite {
  bool operator()(double x) const { return std::isfinite(x); }
};
struct IsInf {
  bool operator()(double x) const { return std::isinf(x); }
};
struct IsPosInf {
  bool operator()(double x) const { return std::isinf(x) && x > 0; }
};
struct IsNegInf {
  bool operator()(double x) const { return std::isinf(x) && x < 0; }
};

// To `a` exponent and `b` mantissa bits and back. With fewer exponent bits than the type has, what would be subnormal becomes 0,
// as in XLA. Nothing happens when everything is evaluated in double.
void reducePrecision(const Pointwise &op, const Word *const *in, Word *out, int64_t n) {
  const ElementInfo &from = info(op.from);
  const int e = static_cast<int>(std::min<int64_t>(op.a, from.exponentBits)),
            m = static_cast<int>(std::min<int64_t>(op.b, 52));
  ElementInfo t = from;
  t.mantissaBits = static_cast<uint8_t>(std::min<int>(m, from.mantissaBits));
  t.exponentBits = static_cast<uint8_t>(e);
  t.bias = static_cast<int16_t>((1 << (e - 1)) - 1);
  t.specials = ElementInfo::Ieee;
  const double smallest = std::ldexp(1.0, 1 - t.bias);
  t.largest = std::ldexp(2 - std::ldexp(1.0, -t.mantissaBits), t.bias);
  for (int64_t i = 0; i < n; ++i) {
    const double x = asDouble(in[0][i]);
    double r = op.inDouble || t.mantissaBits == from.mantissaBits ? x : roundTo(t, x);
    if (!op.inDouble && e < from.exponentBits) {
      if (std::fabs(r) < smallest)
        r = std::copysign(0.0, x);
      else if (std::fabs(r) > t.largest)
        r = std::copysign(INFINITY, x);
    }
    if (!op.inDouble && m == 0 && std::isnan(x)) // without mantissa bits there is no NaN, only what lies beside it
      r = std::copysign(INFINITY, x);
    out[i] = asWord(r);
  }
}

// Operations whose row depends on more than the kind of the element.
struct Bound {
  std::string_view name;
  Pointwise::Row (*row)(const OpView &op);
  std::string_view a = {}, b = {}; // attributes it needs
};
template <Pointwise::Row R> Pointwise::Row always(const OpView &) { return R; }
constexpr Bound kBound[] = {
    {"compare", compareRow},
    {"convert", [](const OpView &op) { return convertRow(op.operandType(0).element, op.resultType(0).element); }},
    {"select", always<select>},
    {"clamp", always<clamp>},
    {"is_finite", always<tested<IsFinite>>},
    {"is_inf", always<tested<IsInf>>},
    {"is_pos_inf", always<tested<IsPosInf>>},
    {"is_neg_inf", always<tested<IsNegInf>>},
    {"real", [](const OpView &op) { return convertRow(op.operandType(0).element, op.resultType(0).element); }},
    {"reduce_precision", always<reducePrecision>, "exponent_bits", "mantissa_bits"},
};

const ElementFunctions *findFunctions(std::string_view name) {
  static const auto table = [] {
    std::unordered_map<std::string_view, const ElementFunctions *> t;
    for (std::span<const ElementFunctions> list : {arithmeticFunctions(), mathFunctions(), specialFunctions()})
      for (const ElementFunctions &f : list)
        t.emplace(f.name, &f);
    return t;
  }();
  const auto at = table.find(name);
  return at == table.end() ? nullptr : at->second;
}

Pointwise::Row rowOf(const ElementFunctions &f, Element e) {
  switch (info(e).kind) {
  case ElementInfo::Float: return f.onFloat;
  case ElementInfo::Signed: return f.onSigned;
  case ElementInfo::Unsigned: return f.onUnsigned;
  case ElementInfo::Pred: return f.onPred;
  default: return nullptr;
  }
}

} // namespace

std::optional<Pointwise> namedFunction(std::string_view name, Element element, bool inDouble) {
  const ElementFunctions *f = findFunctions(name);
  if (!f)
    return std::nullopt;
  return Pointwise{rowOf(*f, element), element, element, inDouble};
}

std::optional<Pointwise> pointwise(const OpView &op) {
  const std::string_view full = op.name(), name = full.substr(full.find('.') + 1);
  for (const Bound &b : kBound)
    if (b.name == name)
      return Pointwise{b.row(op),   op.operandType(0).element, op.resultType(0).element,
                       op.inDouble, op.integerOr(b.a, 0),      op.integerOr(b.b, 0)};
  if (op.operandCount() == 0 || op.operandCount() > 2 || op.resultCount() != 1)
    return std::nullopt;
  std::optional<Pointwise> p = namedFunction(name, op.operandType(0).element, op.inDouble);
  if (p && !p->row)
    op.fail(std::string(name) + " is not defined for elements of type " + std::string(info(p->from).name));
  return p;
}

Tensor evaluate(const Pointwise &op, std::span<const Datum> operands, const TensorType &type) {
  Tensor out(type.element, type.shape);
  const int64_t count = out.count();
  Word *to = out.own();
  constexpr int64_t kChunk = 4096;
  std::vector<std::vector<Word>> splats(operands.size());
  std::vector<const Word *> in(operands.size());
  for (size_t k = 0; k < operands.size(); ++k)
    if (operands[k].tensor.count() == 1 && count > 1)
      splats[k].assign(std::min(count, kChunk), operands[k].tensor.at(0));
  for (int64_t at = 0; at < count; at += kChunk) {
    for (size_t k = 0; k < operands.size(); ++k)
      in[k] = splats[k].empty() ? operands[k].tensor.words() + at : splats[k].data();
    op(in.data(), to + at, std::min(kChunk, count - at));
  }
  return out;
}

} // namespace glia::interp
