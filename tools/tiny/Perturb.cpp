// Changes that make a program nearly right, or leave it right for a reason that is harder to see.
#include "Tiny.h"
#include "glia/Support/Diagnostic.h"

#include <functional>

namespace glia::tiny {

namespace {

using Change = std::function<bool(Tiny &, Random &)>;

// A random line for which `fits` holds; null if there is none.
template <class F> Line *lineWith(Tiny &t, Random &r, F &&fits) {
  std::vector<Line *> found;
  for (Line &l : t.lines)
    if (!l.isLabel() && fits(l))
      found.push_back(&l);
  return found.empty() ? nullptr : r.pick(found);
}

bool dropWait(Tiny &t, Random &r) {
  Line *l = lineWith(t, r, [](const Line &x) { return !x.waits.empty(); });
  if (l)
    l->waits.erase(l->waits.begin() + r.below(static_cast<int64_t>(l->waits.size())));
  return l;
}

bool changeValue(Tiny &t, Random &r) {
  Line *l = lineWith(t, r, [](const Line &x) { return !x.waits.empty(); });
  if (!l)
    return false;
  Wait &w = l->waits[r.below(static_cast<int64_t>(l->waits.size()))];
  w.value = std::max<int>(1, w.value + r.pick(std::vector<int>{-8, -1, 1, 8}));
  return true;
}

bool changeInitial(Tiny &t, Random &r) {
  if (t.semaphores.empty())
    return false;
  int &initial = t.semaphores[r.below(static_cast<int64_t>(t.semaphores.size()))].initial;
  initial = std::max(0, initial + (r.chance(60) ? 1 : -1));
  return true;
}

bool otherSemaphore(Tiny &t, Random &r) {
  Line *l = lineWith(t, r, [](const Line &x) { return !x.waits.empty(); });
  if (!l)
    return false;
  const int other = static_cast<int>(r.below(static_cast<int64_t>(t.semaphores.size())));
  if (t.semaphores[other].core != t.semaphores[l->waits[0].semaphore].core)
    return false;
  l->waits[0].semaphore = other;
  return true;
}

bool keepWhatIsConsumed(Tiny &t, Random &r) {
  Line *l = lineWith(t, r, [](const Line &x) { return !x.waits.empty(); });
  if (l)
    l->waits[0].consume = !l->waits[0].consume;
  return l;
}

// The update goes to the engine's instruction before or after.
bool moveUpdate(Tiny &t, Random &r) {
  Line *l = lineWith(t, r, [](const Line &x) { return !x.adds.empty() && !x.isTransfer(); });
  if (!l)
    return false;
  const int64_t step = r.chance(50) ? 1 : -1;
  for (Line *to = l + step; to >= t.lines.data() && to < t.lines.data() + t.lines.size(); to += step)
    if (!to->isLabel() && to->engine == l->engine && !to->isTransfer() && !to->body.starts_with("loop") &&
        !to->body.starts_with("end_loop")) {
      to->adds.insert(to->adds.end(), l->adds.begin(), l->adds.end());
      l->adds.clear();
      return true;
    }
  return false;
}

bool moveWait(Tiny &t, Random &r) {
  Line *l = lineWith(t, r, [](const Line &x) { return !x.waits.empty(); });
  if (!l)
    return false;
  for (Line *to = l + 1; to < t.lines.data() + t.lines.size(); ++to)
    if (!to->isLabel() && to->engine == l->engine && !to->body.starts_with("loop") && !to->body.starts_with("end_loop")) {
      to->waits.insert(to->waits.end(), l->waits.begin(), l->waits.end());
      l->waits.clear();
      return true;
    }
  return false;
}

bool swapLines(Tiny &t, Random &r) {
  for (int tries = 0; tries < 8; ++tries) {
    const size_t i = static_cast<size_t>(r.below(static_cast<int64_t>(t.lines.size())));
    for (size_t j = i + 1; j < t.lines.size(); ++j) {
      if (t.lines[j].engine != t.lines[i].engine)
        continue;
      auto control = [](const Line &l) {
        return l.isLabel() || l.body.starts_with("loop") || l.body.starts_with("end_loop") || l.body.starts_with("branch") ||
               l.body.starts_with("reg_");
      };
      if (control(t.lines[i]) || control(t.lines[j]))
        break;
      std::swap(t.lines[i], t.lines[j]);
      return true;
    }
  }
  return false;
}

// Replaces one occurrence of `from`.
bool replaceOne(Tiny &t, Random &r, const std::string &from, const std::string &to) {
  Line *l = lineWith(t, r, [&](const Line &x) { return x.body.find(from) != std::string::npos; });
  if (l)
    l->body.replace(l->body.find(from), from.size(), to);
  return l;
}

bool moveAddress(Tiny &t, Random &r) {
  const int64_t what = r.below(6);
  if (what == 0)
    return replaceOne(t, r, "[0:1, 0:1] +", "[0:1, 1:2] +");
  if (what == 1)
    return replaceOne(t, r, " + r5*4", " + r1*4");
  if (what == 2)
    return replaceOne(t, r, " + r1*4", "");
  if (what == 3)
    return replaceOne(t, r, "op=and", "op=xor");
  if (what == 4)
    return replaceOne(t, r, "op=and a=r1 b=1", "op=and a=r1 b=3");
  return replaceOne(t, r, "src=d{", "src=c{");
}

bool changeCount(Tiny &t, Random &r) {
  if (r.chance(50))
    return replaceOne(t, r, "count=r2", format("count=%d", static_cast<int>(r.between(1, 3))));
  return replaceOne(t, r, " group=\"g\"", "");
}

bool otherObject(Tiny &t, Random &r) {
  static const std::vector<std::string> kObjects = {"t", "u", "v"};
  return replaceOne(t, r, "=" + r.pick(kObjects) + "[", "=" + r.pick(kObjects) + "[");
}

} // namespace

void perturb(Tiny &t, Random &r) {
  static const std::vector<Change> kChanges = {dropWait,   changeValue, changeInitial, otherSemaphore, keepWhatIsConsumed,
                                               moveUpdate, moveWait,    swapLines,     moveAddress,    moveAddress,
                                               dropWait,   changeCount, otherObject};
  for (int tries = 0; tries < 20 && !r.pick(kChanges)(t, r); ++tries) {
  }
}

} // namespace glia::tiny
