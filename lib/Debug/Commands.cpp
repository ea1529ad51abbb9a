#include "Commands.h"
#include "Names.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/Text.h"

namespace glia::debug {

std::string_view commandNamed(std::string_view given, std::span<const std::string_view> commands,
                              std::span<const Short> shorts) {
  for (const auto &[brief, whole] : shorts)
    if (given == brief)
      return whole;
  std::string_view found;
  for (std::string_view name : commands)
    if (name == given)
      return name;
    else if (name.starts_with(given) && !given.empty()) {
      if (!found.empty())
        throw Error("DEBUG-COMMAND",
                    "`" + std::string(given) + "` may be " + std::string(found) + " or " + std::string(name));
      found = name;
    }
  if (found.empty())
    throw Error("DEBUG-COMMAND", "there is no command `" + printable(given) + "`",
                didYouMean(given, {commands.begin(), commands.end()}, "`help` lists them."));
  return found;
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
