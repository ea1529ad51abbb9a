#include "CompareTensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace glia::emit {

namespace {

std::vector<double> numbers(const HostTensor &t) {
  const size_t n = t.bytes.size() / info(t.element).bytes;
  std::vector<Word> words(n);
  decode(t.element, t.bytes.data(), words.data(), n);
  std::vector<double> out(n);
  const bool real = isFloat(t.element), natural = info(t.element).kind == ElementInfo::Unsigned;
  for (size_t i = 0; i < n; ++i)
    out[i] = real      ? std::bit_cast<double>(words[i])
             : natural ? static_cast<double>(words[i])
                       : static_cast<double>(static_cast<int64_t>(words[i]));
  return out;
}

struct Distance {
  double error = 0, size = 0;
  void add(double x, double ideal) {
    if (!std::isfinite(x) || !std::isfinite(ideal))
      return;
    error += (x - ideal) * (x - ideal);
    size += ideal * ideal;
  }
  double relative() const { return error == 0 ? 0 : std::sqrt(error / std::max(size, 1e-300)); }
};

void count(Difference &d, size_t i, double got, double want) {
  if (d.wrong++ == 0) {
    d.first = i;
    d.got = got;
    d.want = want;
  }
}

Difference exact(const HostTensor &got, const HostTensor &want, bool anyZero = false) {
  Difference d;
  const size_t size = info(want.element).bytes;
  d.elements = want.bytes.size() / size;
  if (got.bytes == want.bytes)
    return d;
  const std::vector<double> g = numbers(got), w = numbers(want);
  for (size_t i = 0; i < d.elements; ++i)
    if (std::memcmp(&got.bytes[i * size], &want.bytes[i * size], size) != 0 && !(std::isnan(g[i]) && std::isnan(w[i])) &&
        !(anyZero && g[i] == w[i]))
      count(d, i, g[i], w[i]);
  d.error = static_cast<double>(d.wrong) / static_cast<double>(d.elements);
  return d;
}

// Integers may be off by one, and truth values may be others, in one element of a hundred.
Difference decided(const HostTensor &got, const HostTensor &want) {
  Difference d = exact(got, want);
  const std::vector<double> g = numbers(got), w = numbers(want);
  const bool truth = want.element == Element::Pred;
  size_t near = 0;
  for (size_t i = 0; i < d.elements; ++i)
    near += g[i] != w[i] && (truth || std::fabs(g[i] - w[i]) <= 1);
  if (near == d.wrong && near <= std::max<size_t>(1, d.elements / 100))
    d.wrong = 0;
  return d;
}

// How far `x` is from `ideal` anywhere.
double farthest(const std::vector<double> &x, const std::vector<double> &ideal) {
  double out = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (std::isfinite(x[i]) && std::isfinite(ideal[i]))
      out = std::max(out, std::fabs(x[i] - ideal[i]));
  return out;
}

// How far a float may be from the reference: some roundings of its own size and the tensor's, and what else is given.
class Room {
public:
  Room(const HostTensor &like, const std::vector<double> &want, const std::vector<double> &ideal, double least, double more)
      : more(more) {
    const ElementInfo &t = info(like.element);
    smallest = std::ldexp(1.0, 1 - t.bias);
    part = std::max(32 * std::ldexp(1.0, -1 - t.mantissaBits), least);
    double squares = 0;
    size_t finite = 0;
    for (size_t i = 0; i < want.size(); ++i)
      if (std::isfinite(want[i]) && std::isfinite(ideal[i])) {
        squares += want[i] * want[i];
        ++finite;
      }
    size = finite > 0 ? std::sqrt(squares / static_cast<double>(finite)) : 0;
  }
  double around(double want) const { return part * std::max(std::fabs(want) + size, smallest) + more; }
  bool holds(double got, double want) const { return std::fabs(got - want) <= around(want); }

private:
  double smallest, part, size, more;
};

constexpr double kChain = 0x1p-17; // 128 roundings of fp32

// Where all evaluations agree: the same integer; the same infinity or NaN, or both finite.
std::vector<bool> settled(const std::vector<double> &want, const HostTensor &ideal, std::span<const HostTensor> shaken) {
  std::vector<bool> out(want.size(), true);
  const bool real = isFloat(ideal.element);
  const auto compare = [&](const HostTensor &t) {
    const std::vector<double> x = numbers(t);
    for (size_t i = 0; i < out.size(); ++i) {
      const bool both = real && std::isfinite(x[i]) && std::isfinite(want[i]);
      if (!both && x[i] != want[i] && !(std::isnan(x[i]) && std::isnan(want[i])))
        out[i] = false;
    }
  };
  compare(ideal);
  for (const HostTensor &t : shaken)
    compare(t);
  return out;
}

} // namespace

std::string indexText(std::span<const int64_t> shape, size_t element) {
  std::string out;
  for (size_t d = shape.size(); d-- > 0;) {
    const auto n = static_cast<size_t>(shape[d]);
    out = std::to_string(element % n) + (out.empty() ? "" : ", ") + out;
    element /= n;
  }
  return "[" + out + "]";
}

double relativeError(const HostTensor &t, const HostTensor &ideal) {
  const std::vector<double> x = numbers(t), y = numbers(ideal);
  Distance d;
  for (size_t i = 0; i < x.size(); ++i)
    d.add(x[i], y[i]);
  return d.relative();
}

Difference compareResults(const HostTensor &got, const HostTensor &want, const HostTensor &ideal,
                          std::span<const HostTensor> shaken) {
  const std::vector<double> g = numbers(got), w = numbers(want), f = numbers(ideal);
  const std::vector<bool> sure = settled(w, ideal, shaken);
  Difference d;
  d.elements = w.size();
  d.error = relativeError(got, ideal);
  d.reference = relativeError(want, ideal);
  double moved = 0;
  for (const HostTensor &t : shaken)
    moved = std::max(moved, farthest(numbers(t), f));
  const bool real = isFloat(want.element);
  const Room room(want, w, f, kChain, 8 * farthest(w, f) + 2 * moved);
  for (size_t i = 0; i < w.size(); ++i)
    if (sure[i] && g[i] != w[i] && !(std::isnan(g[i]) && std::isnan(w[i])) && !(real && room.holds(g[i], w[i])))
      count(d, i, g[i], w[i]);
  const auto open = static_cast<size_t>(std::count(sure.begin(), sure.end(), false));
  if (!real && d.wrong <= std::min(open, d.elements / 100))
    d.wrong = 0;
  return d;
}

static Room roomOf(const HostTensor &want, const std::vector<double> &w, const std::vector<double> &f, Closeness rule,
                   std::span<const HostTensor> shaken) {
  double worst = farthest(w, f);
  for (const HostTensor &t : shaken)
    worst = std::max(worst, farthest(numbers(t), f));
  return {want, w, f, rule == Closeness::Chain ? kChain : 0, 8 * worst};
}

std::pair<HostTensor, HostTensor> takenFloats(const HostTensor &want, const HostTensor &ideal, Closeness rule,
                                              std::span<const HostTensor> shaken) {
  const std::vector<double> w = numbers(want);
  const Room room = roomOf(want, w, numbers(ideal), rule, shaken);
  const auto moved = [&](double sign) {
    std::vector<Word> words(w.size());
    for (size_t i = 0; i < w.size(); ++i)
      words[i] = std::bit_cast<Word>(roundTo(info(want.element), w[i] + sign * room.around(w[i])));
    HostTensor out = want;
    encode(want.element, words.data(), out.bytes.data(), words.size());
    return out;
  };
  return {moved(-1), moved(1)};
}

Difference compareBetween(const HostTensor &got, const HostTensor &want, const HostTensor &one, const HostTensor &other) {
  Difference d = exact(got, want);
  const std::vector<double> g = numbers(got), w = numbers(want), a = numbers(one), b = numbers(other);
  d.wrong = 0;
  for (size_t i = 0; i < g.size(); ++i)
    if (g[i] != w[i] && (g[i] < std::min(a[i], b[i]) || g[i] > std::max(a[i], b[i])))
      count(d, i, g[i], w[i]);
  return d;
}

Difference compareTensors(const HostTensor &got, const HostTensor &want, const HostTensor *ideal, Closeness rule,
                          std::span<const HostTensor> shaken) {
  if (rule == Closeness::Decided && !isFloat(want.element))
    return decided(got, want);
  if (rule == Closeness::Exact || rule == Closeness::Number || !isFloat(want.element))
    return exact(got, want, rule == Closeness::Number);
  Difference d;
  const std::vector<double> g = numbers(got), w = numbers(want), f = ideal ? numbers(*ideal) : w;
  d.elements = w.size();
  Distance mine, reference;
  for (size_t i = 0; i < w.size(); ++i) {
    mine.add(g[i], f[i]);
    reference.add(w[i], f[i]);
  }
  d.error = mine.relative();
  d.reference = reference.relative();
  const Room room = roomOf(want, w, f, rule, shaken);
  const ElementInfo &t = info(want.element);
  const double last = t.largest * (1 - 32 * std::ldexp(1.0, -1 - t.mantissaBits));
  for (size_t i = 0; i < w.size(); ++i) {
    if (g[i] == w[i] || (std::isnan(g[i]) && std::isnan(w[i])))
      continue;
    // Where the reference overflows, a value just below may not.
    const bool border = std::isinf(w[i]) && std::fabs(g[i]) >= last && (g[i] > 0) == (w[i] > 0);
    const bool other = std::isinf(g[i]) && std::fabs(w[i]) >= last && (g[i] > 0) == (w[i] > 0);
    if (!border && !other && !room.holds(g[i], w[i]))
      count(d, i, g[i], w[i]);
  }
  return d;
}

} // namespace glia::emit
