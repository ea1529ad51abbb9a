#include "glia/Reduce/Search.h"

#include <algorithm>
#include <vector>

namespace glia::reduce {

Search::Search(std::string first, Question question, Measure measure, Limits limits)
    : now(std::move(first)), best(now), question(std::move(question)), measure(std::move(measure)),
      limits(std::move(limits)), bestSize(this->measure(best)) {
  refused.insert(std::hash<std::string>()(now)); // nothing is won with itself
}

double Search::elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }

bool Search::spent() const { return asked >= limits.tries || elapsed() >= limits.seconds || (limits.stop && limits.stop()); }

bool Search::offer(const std::string &candidate) {
  if (spent() || !refused.insert(std::hash<std::string>()(candidate)).second)
    return false;
  ++asked;
  const bool kept = question(candidate);
  if (kept) {
    now = candidate;
    if (const Size size = measure(now); size < bestSize) {
      best = now;
      bestSize = size;
    }
  }
  if (onTry)
    onTry(*this);
  return kept;
}

bool leaveOut(const Search &search, const std::function<size_t()> &count,
              const std::function<bool(size_t, size_t)> &without) {
  bool ever = false;
  for (size_t length = std::max<size_t>((count() + 1) / 2, 1);; length = std::max<size_t>(length / 2, 1)) {
    bool changed = false;
    for (size_t end = count(); end > 0 && !search.spent();) { // from the end: what is there rests on what is before it
      end = std::min(end, count());
      const size_t from = end > length ? end - length : 0;
      if (end > from && without(from, end))
        changed = ever = true;
      end = from;
    }
    if (search.spent() || (length == 1 && !changed))
      return ever;
  }
}

static std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

void reduceLines(Search &search) {
  leaveOut(
      search, [&] { return linesOf(search.current()).size(); },
      [&](size_t from, size_t to) {
        const std::vector<std::string> lines = linesOf(search.current());
        std::string text;
        for (size_t i = 0; i < lines.size(); ++i)
          if (i < from || i >= to)
            text += lines[i];
        return search.offer(text);
      });
}

Size sizeOfLines(const std::string &text) { return {linesOf(text).size(), 0, text.size()}; }

} // namespace glia::reduce
