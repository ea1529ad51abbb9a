// Accesses that nothing orders and that share no byte, in whatever rounds of their loops: the difference of their addresses is a linear
// form over what is known to be equal for both, plus ranges for the rest.
#include "StaticParts.h"
#include "Walk.h"

#include <algorithm>
#include <numeric>

namespace glia::flow {

uint32_t Walk::internSpot(const Spot &s) {
  std::vector<int64_t> key = {s.start.constant, s.slack.lo, s.slack.hi};
  for (const Form::Term &t : s.start.terms)
    key.insert(key.end(), {t.symbol, t.factor});
  const auto [it, fresh] = spotNumbers.try_emplace({std::move(key), s.pattern}, static_cast<uint32_t>(spots.size()));
  if (fresh)
    spots.push_back(s);
  return it->second;
}

// The bytes of an access that are less than the hull in the map.
uint32_t Walk::spotOf(const Place &p) {
  if (p.fixed || p.chosen || !p.start.form)
    return 0;
  return internSpot({*p.start.form, {0, 0}, p.pattern});
}

Interval Walk::rangeOf(uint32_t symbol) const {
  if (symbol >= kFirstValue)
    return valueRanges[symbol - kFirstValue];
  return {0, active[symbol].lastRound};
}

namespace {

struct Difference { // lo to hi; and congruent to `residue` modulo `step`, if that is not 0
  Wide lo = 0, hi = 0, residue = 0;
  Wide step = 0;
  void add(Wide factor, Interval range) {
    if (factor == 0)
      return;
    lo += std::min(factor * range.lo, factor * range.hi);
    hi += std::max(factor * range.lo, factor * range.hi);
    residue += factor * range.lo;
    if (range.lo != range.hi)
      step = std::gcd(static_cast<int64_t>(step), static_cast<int64_t>(factor));
  }
};

// Whether operands of these patterns share no byte if the first starts that much after the second.
bool separate(const Pattern &a, const Pattern &b, const Difference &d) {
  const ByteRun x = extent(a), y = extent(b);
  if (d.lo + x.lo >= y.hi || d.hi + x.hi <= y.lo)
    return true;
  auto byPeriod = [&](int64_t period) {
    if (period <= 0)
      return false;
    return apartModulo(b, a, d.lo, d.hi, period) || (d.step % period == 0 && apartModulo(b, a, d.residue, d.residue, period));
  };
  for (const Pattern *p : {&a, &b})
    for (int i = 0; i < p->rank; ++i)
      if (p->dims[i].count > 1 && byPeriod(std::abs(int64_t{p->dims[i].stride} * sizeOf(p->dtype))))
        return true;
  if (d.step > 0 && d.step < (Wide{1} << 60) && byPeriod(static_cast<int64_t>(d.step)))
    return true;
  constexpr size_t kMostRuns = 4096;
  std::vector<ByteRun> r, s;
  if (d.lo != d.hi || d.lo > (Wide{1} << 60) || d.lo < -(Wide{1} << 60) || !footprint(a, static_cast<int64_t>(d.lo), r, kMostRuns) ||
      !footprint(b, 0, s, kMostRuns))
    return false;
  for (size_t i = 0, k = 0; i < r.size() && k < s.size(); r[i].hi < s[k].hi ? ++i : ++k)
    if (r[i].lo < s[k].hi && s[k].lo < r[i].hi)
      return false;
  return true;
}

} // namespace

// The symbols below `level` are the same for both. The round of the loop at `level` was `ages` smaller for the other (0: the same).
bool Walk::apartBy(const Place &p, const Spot &s, size_t level, Interval ages) const {
  Difference d;
  d.lo = d.hi = d.residue = -Wide{s.start.constant};
  d.add(-1, s.slack);
  if (p.start.form) {
    d.lo += p.start.form->constant, d.hi += p.start.form->constant, d.residue += p.start.form->constant;
    for (const Form::Term &t : p.start.form->terms)
      d.add(Wide{t.factor} - s.start.factorOf(t.symbol), rangeOf(t.symbol));
  } else {
    d.add(1, {p.start.lo, p.start.hi});
  }
  for (const Form::Term &t : s.start.terms) {
    if (!p.start.form || !p.start.form->factorOf(t.symbol))
      d.add(-Wide{t.factor}, rangeOf(t.symbol));
    if (t.symbol == level)
      d.add(t.factor, ages);
  }
  return separate(*p.pattern, *s.pattern, d);
}

bool Walk::apart(const Place &p, const Touch &t, const Issuer &by, bool &otherRound) const {
  size_t level = 0;
  Interval ages{0, 0};
  for (; level < active.size(); ++level) {
    const Gap &g = active[level].gaps[t.comp];
    if (!g.length || t.seq <= g.base) {
      level = active.size(); // from before this loop: nothing of it is in its address
      break;
    }
    const int64_t age = g.ageOf(t.seq);
    if (age == 0)
      continue;
    // This one, and those at the same place in the rounds before it that are not known to be complete.
    otherRound = true;
    ages = {age, std::min(g.oldestAfter(t.seq, by.knows->known(t.comp)), active[level].lastRound)};
    break;
  }
  if (!t.place || p.chosen)
    return false;
  if (ages.lo > ages.hi)
    return true; // there are not so many rounds
  constexpr int64_t kOneByOne = 16;
  const Spot &s = spots[t.place];
  int64_t age = ages.lo;
  for (; age <= ages.hi && age < ages.lo + kOneByOne; ++age)
    if (!apartBy(p, s, level, {age, age}))
      return false;
  return age > ages.hi || apartBy(p, s, level, {age, ages.hi});
}

} // namespace glia::flow
