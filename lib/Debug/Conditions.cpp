#include "Conditions.h"
#include "Names.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/Text.h"

namespace glia::debug {

static bool comparison(std::string_view text, const Number &number) {
  static constexpr std::string_view kSigns[] = {"==", "!=", "<=", ">=", "<", ">"};
  for (std::string_view sign : kSigns)
    if (const size_t at = text.find(sign); at != std::string_view::npos) {
      const double a = number(text.substr(0, at)), b = number(text.substr(at + sign.size()));
      return sign == "=="   ? a == b
             : sign == "!=" ? a != b
             : sign == "<=" ? a <= b
             : sign == ">=" ? a >= b
             : sign == "<"  ? a < b
                            : a > b;
    }
  throw Error("DEBUG-VALUE", "`" + printable(trimmed(text)) + "` is no comparison",
              "Say for example acc[0, 0] > 1 and acc[0, 1] <= 2.");
}

bool holds(std::string_view condition, const Number &number) {
  for (size_t at = 0; at <= condition.size();) {
    const size_t end = std::min(condition.find(" and ", at), condition.size());
    if (!comparison(condition.substr(at, end - at), number))
      return false;
    at = end + (end < condition.size() ? 5 : 1);
  }
  return true;
}

} // namespace glia::debug
