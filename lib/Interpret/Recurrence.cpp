// glia.recurrence (Graph/Analysis/Recurrence.h): step after step, each state rounded to fp32, the results to their type.
#include "Interpret/Fold.h"
#include "Interpret/Rules.h"

#include <algorithm>

namespace glia::interp {

namespace {

void recurrence(Call &c) {
  const size_t operands = c.operandCount();
  if (c.resultCount() != 1 || operands < 2 || operands > 3)
    c.fail("a recurrence has factors, terms and at most a start, and one result");
  const Tensor &factors = c.tensor(0), &terms = c.tensor(1);
  const int64_t dim = c.integerOr("backend_config.dimension", -1);
  const Fold scale = findFold("stablehlo." + c.text("backend_config.scale").value_or(""), terms.element),
             combine = findFold("stablehlo." + c.text("backend_config.combine").value_or(""), terms.element);
  if (!isFloat(terms.element) || factors.shape != terms.shape || dim < 0 || dim >= terms.rank() || !scale || !combine)
    c.fail("a recurrence is of floats of one shape, along one of their dimensions, by two operations");
  const int64_t length = terms.shape[static_cast<size_t>(dim)];
  int64_t inner = 1;
  for (int64_t d = dim + 1; d < terms.rank(); ++d)
    inner *= terms.shape[static_cast<size_t>(d)];
  Tensor out = c.fresh(0);
  if (out.shape != terms.shape || (operands == 3 && c.tensor(2).count() * length != out.count()))
    c.fail("the result of a recurrence has the shape of its terms, its start one dimension less");
  Word *to = out.own();
  std::vector<Word> state(static_cast<size_t>(inner)), next(state.size());
  const bool reverse = c.integerOr("backend_config.reverse", 0) != 0;
  for (int64_t i = 0; i < out.count(); i += inner) {
    const int64_t row = i / inner / length, step = i / inner % length;
    const int64_t at = (row * length + (reverse ? length - 1 - step : step)) * inner;
    const Word *term = terms.words() + at;
    const bool first = step == 0;
    if (first && operands == 2) {
      std::copy_n(term, inner, state.begin());
    } else {
      if (first)
        std::copy_n(c.tensor(2).words() + row * inner, inner, state.begin());
      std::copy_n(factors.words() + at, inner, next.begin());
      scale(next.data(), 1, state.data(), 1, inner);
      settle(Element::F32, c.inDouble, next.data(), inner);
      combine(next.data(), 1, term, 1, inner);
      settle(Element::F32, c.inDouble, next.data(), inner);
      std::swap(state, next);
    }
    std::copy_n(state.begin(), inner, to + at);
  }
  settle(out.element, c.inDouble, to, out.count());
  c.set(0, std::move(out));
}

constexpr Rule kRules[] = {{"glia.recurrence", recurrence}};

} // namespace

std::span<const Rule> recurrenceCallRules() { return kRules; }

} // namespace glia::interp
