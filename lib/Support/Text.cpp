#include "glia/Support/Text.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <utility>

namespace glia {

std::string printable(std::string_view s, size_t longest) {
  std::string out;
  for (unsigned char c : s.substr(0, longest))
    out += c < 32 || c > 126 ? format("\\x%02x", c) : std::string(1, static_cast<char>(c));
  return s.size() > longest ? out + "..." : out;
}

std::string quoted(std::string_view s, char quote) {
  std::string out(1, quote);
  for (unsigned char c : s) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\\' || c == static_cast<unsigned char>(quote))
      (out += '\\') += static_cast<char>(c);
    else if (c < 32 || c > 126)
      out += format("\\x%02x", c);
    else
      out += static_cast<char>(c);
  }
  return out + quote;
}

// Edits (insert, delete, replace, swap of neighbours) between two words.
static size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

std::string_view closest(std::string_view wrong, const std::vector<std::string_view> &candidates) {
  if (wrong.size() < 3 || wrong.size() > 64 || candidates.size() > 4096) // keep hostile input cheap
    return {};
  std::string_view best;
  size_t bestDistance = wrong.size() / 3 + 1;
  for (std::string_view c : candidates) {
    if (c.empty() || c.size() > 64)
      continue;
    const size_t d = distance(wrong, c);
    if (d < bestDistance)
      best = c, bestDistance = d;
  }
  return best;
}

std::string didYouMean(std::string_view wrong, const std::vector<std::string_view> &candidates, std::string otherwise) {
  const std::string_view best = closest(wrong, candidates);
  return best.empty() ? std::move(otherwise) : "Did you mean `" + printable(best) + "`?";
}

} // namespace glia
