// Accesses that nothing orders and that share no byte, in whatever rounds of their loops: the difference of their addresses is a linear
// form over what is known to be equal for both, plus ranges for the rest.
#include "StaticParts.h"
#include "Walk.h"

#include <algorithm>
#include <numeric>

namespace glia::flow {

uint32_t Walk::internSpot(const Spot &s) {
  std::vector<int64_t> key = {s.start.constant, s.slack.lo, s.slack.hi, s.grain};
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
  return internSpot({*p.start.form, {0, 0}, 0, p.pattern});
}

// By how much a term can move what it is added to.
void Walk::reach(const Form::Term &t, Wide &lo, Wide &hi) const {
  const Interval r = rangeOf(t.symbol);
  lo += std::min(Wide{t.factor} * r.lo, Wide{t.factor} * r.hi);
  hi += std::max(Wide{t.factor} * r.lo, Wide{t.factor} * r.hi);
}

Interval Walk::rangeOf(uint32_t symbol) const {
  if (symbol >= kFirstValue)
    return valueRanges[symbol - kFirstValue];
  return {0, active[symbol].lastRound};
}

// The largest value of a form in the iterations at hand. Each of them is less than its loop's count, so that count - 1 - iteration may be
// added any number of times: as often as makes a symbol disappear that is known less well than the sum.
Wide Walk::mostOf(const MaybeForm &f) const {
  auto largest = [this](const MaybeForm &form) {
    if (!form)
      return Wide{INT64_MAX};
    Wide lo = form->constant, hi = form->constant;
    for (const Form::Term &t : form->terms)
      reach(t, lo, hi);
    return hi;
  };
  MaybeForm best = f;
  for (size_t level = active.size(); level-- > 0 && best;) {
    const Activation &a = active[level];
    if (!a.count)
      continue;
    MaybeForm left = addForms(a.count, constantForm(-1 - a.phase));
    left = addForms(left, symbolForm(a.level), -a.period);
    if (!left)
      continue;
    const Form now = *best;
    for (const Form::Term &t : left->terms)
      if (const int64_t held = now.factorOf(t.symbol), times = -held / t.factor; held % t.factor == 0 && times > 0)
        if (const MaybeForm other = addForms(now, left, times); largest(other) < largest(best))
          best = other;
  }
  return largest(best);
}

// Bounds of a value, by its form.
void Walk::tighten(RegisterValue &v) const {
  const Wide hi = std::min<Wide>(v.hi, mostOf(v.form)), lo = std::max<Wide>(v.lo, -mostOf(scaleForm(v.form, -1)));
  if (lo == hi)
    v = RegisterValue::constant(static_cast<int64_t>(lo));
  else if (lo < hi) // else: no such iteration is reached
    v.lo = static_cast<int64_t>(lo), v.hi = static_cast<int64_t>(hi);
}

namespace {

struct Difference { // lo to hi; and congruent to `residue` modulo `step`, if that is not 0
  Wide lo = 0, hi = 0, residue = 0;
  Wide step = 0;
  void add(Wide factor, Interval range, int64_t grain = 1) { // of the range: multiples of this above its lower end
    if (factor == 0)
      return;
    lo += std::min(factor * range.lo, factor * range.hi);
    hi += std::max(factor * range.lo, factor * range.hi);
    residue += factor * range.lo;
    if (range.lo != range.hi)
      step = std::gcd(static_cast<int64_t>(step), static_cast<int64_t>(factor) * grain);
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
    return apartModulo(b, a, d.lo, d.hi, period) ||
           (d.step % period == 0 && apartModulo(b, a, d.residue, d.residue, period));
  };
  for (const Pattern *p : {&a, &b})
    for (int i = 0; i < p->rank; ++i)
      if (p->dims[i].count > 1 && byPeriod(std::abs(int64_t{p->dims[i].stride} * sizeOf(p->dtype))))
        return true;
  if (byPeriod(static_cast<int64_t>(d.step)))
    return true;
  return d.lo == d.hi && d.lo <= kFar && d.lo >= -kFar && !footprintsMeet(a, static_cast<int64_t>(d.lo), b, 0);
}

} // namespace

// The symbols below `level` are the same for both. The round of the loop at `level` was `ages` smaller for the other (0: the same).
bool Walk::apartBy(const Place &p, const Spot &s, size_t level, Interval ages) const {
  Difference d;
  d.lo = d.hi = d.residue = -Wide{s.start.constant};
  d.add(-1, s.slack, s.grain);
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
  // It stands for those at the same place in earlier rounds too: see keepLatest.
  const Spot *s = t.place && !p.chosen ? &spots[t.place] : nullptr;
  const uint32_t known = by.knows->known(t.comp);
  for (size_t level = 0; level < active.size(); ++level) {
    const Gap &g = active[level].gaps[t.comp];
    if (!g.length || t.seq <= g.base)
      break; // from before this loop: nothing of it is in its address
    const int64_t age = g.ageOf(t.seq);
    otherRound |= age > 0;
    if (!s)
      continue;
    const bool inner = age == 0 && std::any_of(s->start.terms.begin(), s->start.terms.end(), [level](const Form::Term &x) {
                         return x.symbol > level && x.symbol < kFirstValue;
                       }); // then those of earlier rounds are on record by themselves
    const Interval ages{std::max<int64_t>(age, 1), std::min(g.oldestAfter(t.seq, known), active[level].lastRound)};
    if (!inner && !apartAt(p, *s, level, ages)) {
      otherRound = true;
      return false;
    }
    if (age > 0)
      return true;
  }
  return s && apartBy(p, *s, active.size(), {0, 0});
}

// At each of the ages.
bool Walk::apartAt(const Place &p, const Spot &s, size_t level, Interval ages) const {
  constexpr int64_t kOneByOne = 16;
  int64_t age = ages.lo;
  for (; age <= ages.hi && age < ages.lo + kOneByOne; ++age)
    if (!apartBy(p, s, level, {age, age}))
      return false;
  return age > ages.hi || apartBy(p, s, level, {age, ages.hi});
}

} // namespace glia::flow
