#include "Commands.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/Text.h"

#include <algorithm>

namespace glia::debug {

const Command &commandNamed(std::string_view given, const Commands &commands) {
  std::vector<const Command *> begin; // with what is given
  std::vector<std::string_view> names;
  for (const Command &c : commands) {
    if (c.name == given || std::ranges::find(c.shorts, given) != c.shorts.end())
      return c;
    if (c.name.starts_with(given) && !given.empty())
      begin.push_back(&c);
    names.push_back(c.name);
  }
  if (begin.size() > 1)
    throw Error("DEBUG-COMMAND",
                "`" + std::string(given) + "` may be " + std::string(begin[0]->name) + " or " + std::string(begin[1]->name));
  if (begin.empty())
    throw Error("DEBUG-COMMAND", "there is no command `" + printable(given) + "`",
                didYouMean(given, names, "`help` lists them."));
  return *begin[0];
}

uint64_t countOf(std::string_view text) {
  if (text.empty())
    return 1;
  const std::optional<uint64_t> n = parseCount(text);
  if (!n || !*n)
    throw Error("DEBUG-COMMAND", "`" + printable(text) + "` is no number of steps");
  return *n;
}

uint64_t stepBehind(std::string_view text, uint64_t now) {
  std::string_view tail = text;
  if (word(tail) != "to") {
    const uint64_t n = countOf(text);
    return n < now ? now - n : 0;
  }
  const std::optional<uint64_t> n = parseCount(tail.starts_with("step ") ? trimmed(tail.substr(5)) : tail);
  if (!n)
    throw Error("DEBUG-COMMAND", "back to which step?", "Say back to 120.");
  if (*n > now)
    throw Error("DEBUG-PLACE",
                format("this is step %llu: %llu is not behind it", (unsigned long long)now, (unsigned long long)*n));
  return *n;
}

} // namespace glia::debug
