#include "Form.h"

#include <algorithm>

namespace glia::flow {

namespace {

constexpr int64_t kLargest = int64_t{1} << 61;
constexpr size_t kMostTerms = 6;

bool fits(Wide v) { return v >= -Wide{kLargest} && v <= Wide{kLargest}; }

} // namespace

int64_t Form::factorOf(uint32_t symbol) const {
  for (const Term &t : terms)
    if (t.symbol == symbol)
      return t.factor;
  return 0;
}

MaybeForm constantForm(int64_t c) {
  if (!fits(c))
    return std::nullopt;
  return Form{c, {}};
}

MaybeForm symbolForm(uint32_t symbol) { return Form{0, {{symbol, 1}}}; }

MaybeForm addForms(const MaybeForm &a, const MaybeForm &b, int64_t factorOfB) {
  if (!a || !b)
    return std::nullopt;
  Form out;
  const Wide constant = Wide{a->constant} + Wide{b->constant} * factorOfB;
  if (!fits(constant))
    return std::nullopt;
  out.constant = static_cast<int64_t>(constant);
  size_t i = 0, k = 0;
  while (i < a->terms.size() || k < b->terms.size()) {
    const uint32_t x = i < a->terms.size() ? a->terms[i].symbol : UINT32_MAX,
                   y = k < b->terms.size() ? b->terms[k].symbol : UINT32_MAX;
    Wide factor = 0;
    if (x <= y)
      factor += a->terms[i++].factor;
    if (y <= x)
      factor += Wide{b->terms[k++].factor} * factorOfB;
    if (!fits(factor))
      return std::nullopt;
    if (factor != 0)
      out.terms.push_back({std::min(x, y), static_cast<int64_t>(factor)});
  }
  if (out.terms.size() > kMostTerms)
    return std::nullopt;
  return out;
}

MaybeForm scaleForm(const MaybeForm &a, int64_t factor) { return addForms(constantForm(0), a, factor); }

MaybeForm moveForm(const Form &f, uint32_t symbol, int64_t by) {
  const Wide constant = Wide{f.constant} + Wide{f.factorOf(symbol)} * by;
  if (!fits(constant))
    return std::nullopt;
  Form out = f;
  out.constant = static_cast<int64_t>(constant);
  return out;
}

} // namespace glia::flow
