#include "RowTerms.h"

#include <algorithm>
#include <cmath>

namespace glia::emit {

int RowTerms::add(const RowTerm &t) {
  const auto it = std::find(all.begin(), all.end(), t);
  if (it != all.end())
    return static_cast<int>(it - all.begin());
  all.push_back(t);
  return static_cast<int>(all.size()) - 1;
}

int RowTerms::number(double n) {
  RowTerm t;
  t.number = n;
  return add(t);
}

int RowTerms::combine(std::string_view op, int a, int b) {
  RowTerm t;
  t.kind = RowTerm::Combine;
  t.op = op;
  t.a = a;
  t.b = b;
  return add(t);
}

bool RowTerms::spreads(int term, RowTerm::Kind kind) const {
  const RowTerm &t = (*this)[term];
  if (t.kind != RowTerm::Combine)
    return t.kind == kind;
  const bool below = t.op == "divide" && kind != RowTerm::Weights; // infinite there, the quotient is 0
  return spreads(t.a, kind) || (!below && spreads(t.b, kind));
}

RowFactor RowFactor::times(const RowFactor &o, int power) const {
  RowFactor out = *this;
  out.number *= power > 0 ? o.number : 1 / o.number;
  for (const auto &[term, n] : o.powers)
    if ((out.powers[term] += n * power) == 0)
      out.powers.erase(term);
  return out;
}

int RowFactor::term(RowTerms &terms) const {
  int out = -1;
  for (const bool above : {true, false})
    for (const auto &[t, n] : powers)
      for (int i = 0; i < std::abs(n); ++i)
        if ((n > 0) == above)
          out = out < 0 && above ? t : terms.combine(above ? "multiply" : "divide", out < 0 ? terms.number(1) : out, t);
  if (out < 0)
    return terms.number(number);
  return number == 1 ? out : terms.combine("multiply", out, terms.number(number));
}

std::optional<ScoreForm> productOf(const ScoreForm &a, const ScoreForm &b) {
  if ((a.weight && b.weight) || (a.product && b.product) || a.chosen || b.chosen)
    return std::nullopt;
  ScoreForm out;
  out.factor = a.factor.times(b.factor);
  out.weight = a.weight || b.weight;
  out.product = a.product || b.product;
  out.shift = a.product ? a.shift : b.shift;
  return out;
}

// f e (p + t) + h e = f e (p + t + h / f)
std::optional<ScoreForm> sumOf(RowTerms &terms, ScoreForm a, ScoreForm b, double sign) {
  b.factor.number *= sign;
  if (!a.product)
    std::swap(a, b);
  if (!a.weight || !b.weight || !a.product || b.product || a.chosen || b.chosen)
    return std::nullopt;
  const int more = b.factor.times(a.factor, -1).term(terms);
  a.shift = a.shift < 0 ? more : terms.combine("add", a.shift, more);
  return a;
}

} // namespace glia::emit
