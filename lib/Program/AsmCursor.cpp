#include "AsmCursor.h"
#include "glia/Support/Text.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace glia {

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isHexDigit(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
static bool startsWord(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$'; }
static bool inWord(char c) { return startsWord(c) || isDigit(c) || c == '.'; }

bool isPlainName(std::string_view s) {
  if (s.empty() || !startsWord(s[0]) || s == "inf" || s == "nan")
    return false;
  for (char c : s)
    if (!inWord(c))
      return false;
  return true;
}

size_t AsmCursor::place() {
  while (pos < text.size() && (text[pos] == ' ' || text[pos] == '\t' || text[pos] == '\r'))
    ++pos;
  if (pos < text.size() && text[pos] == ';')
    pos = text.size();
  return pos;
}

bool AsmCursor::atEnd() { return place() == text.size(); }
char AsmCursor::peek() { return atEnd() ? '\0' : text[pos]; }
bool AsmCursor::peekWord() { return startsWord(peek()) || peek() == '`'; }

bool AsmCursor::peekNumber() {
  const char c = peek();
  if (isDigit(c) || c == '-' || c == '+' || c == '.')
    return true;
  const size_t start = pos;
  const std::string_view w = word();
  pos = start;
  return w == "inf" || w == "nan";
}

bool AsmCursor::eat(char c) {
  if (atEnd() || text[pos] != c)
    return false;
  ++pos;
  return true;
}

bool AsmCursor::eat(std::string_view wanted) {
  place();
  if (!text.substr(pos).starts_with(wanted))
    return false;
  const size_t after = pos + wanted.size();
  if (startsWord(wanted[0]) && after < text.size() && inWord(text[after]))
    return false;
  pos = after;
  return true;
}

std::string AsmCursor::rest() {
  if (atEnd())
    return "the end of the line";
  const size_t start = pos;
  std::string_view w = word();
  pos = start;
  return "`" + printable(w.empty() ? text.substr(start, 1) : w) + "`";
}

void AsmCursor::expect(char c, const char *where) {
  if (!eat(c))
    fail("ASM-SYNTAX", std::string("expected `") + c + "` " + where + ", found " + rest());
}

void AsmCursor::expectEnd() {
  if (!atEnd())
    fail("ASM-SYNTAX", "unexpected " + rest() + " at the end of the line");
}

std::string_view AsmCursor::word() {
  place();
  const size_t start = pos;
  if (pos < text.size() && startsWord(text[pos]))
    while (pos < text.size() && inWord(text[pos]))
      ++pos;
  return text.substr(start, pos - start);
}

std::string AsmCursor::name(const char *what) {
  if (peek() == '`')
    return quotedText('`', what);
  std::string_view w = word();
  if (w.empty())
    fail("ASM-SYNTAX", std::string("expected ") + what + ", found " + rest());
  return std::string(w);
}

std::string AsmCursor::textLiteral(const char *what) { return quotedText('"', what); }

std::string AsmCursor::quotedText(char quote, const char *what) {
  const size_t start = place();
  if (!eat(quote))
    fail("ASM-SYNTAX",
         std::string("expected ") + what + " in " + (quote == '"' ? "double quotes" : "backquotes") + ", found " + rest());
  std::string out;
  while (pos < text.size() && text[pos] != quote) {
    char c = text[pos++];
    if (c == '\\') {
      const char e = pos < text.size() ? text[pos++] : '\0';
      if (e == 'n')
        c = '\n';
      else if (e == 't')
        c = '\t';
      else if (e == '\\' || e == '"' || e == '`')
        c = e;
      else if (e == 'x' && pos + 2 <= text.size() && isHexDigit(text[pos]) && isHexDigit(text[pos + 1])) {
        unsigned v = 0;
        std::from_chars(text.data() + pos, text.data() + pos + 2, v, 16);
        c = static_cast<char>(v);
        pos += 2;
      } else {
        fail("ASM-SYNTAX", "unknown escape in quoted text", "Known escapes: \\\\ \\\" \\` \\n \\t \\xNN.", pos - 1);
      }
    }
    out += c;
  }
  if (pos == text.size())
    fail("ASM-SYNTAX", std::string("the text is not closed by ") + quote, "", start);
  ++pos;
  return out;
}

// The digits of an integer, with a 0x prefix if it has one; consumes nothing else.
std::string_view AsmCursor::digits(const char *what, bool hexAllowed) {
  const size_t start = pos;
  const bool hex = hexAllowed && text.substr(pos).starts_with("0x");
  if (hex)
    pos += 2;
  const size_t first = pos;
  while (pos < text.size() && (hex ? isHexDigit(text[pos]) : isDigit(text[pos])))
    ++pos;
  if (pos == first)
    fail("ASM-SYNTAX", std::string("expected ") + what + ", found " + rest(), "", start);
  return text.substr(start, pos - start);
}

static bool parseInteger(std::string_view s, bool negative, int64_t &out) {
  const bool hex = s.starts_with("0x");
  if (hex)
    s.remove_prefix(2);
  uint64_t v = 0;
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v, hex ? 16 : 10);
  if (error != std::errc() || end != s.data() + s.size())
    return false;
  if (v > (negative ? uint64_t{1} << 63 : uint64_t{INT64_MAX}))
    return false;
  out = static_cast<int64_t>(negative ? 0 - v : v);
  return true;
}

int64_t AsmCursor::decimal(const char *what) {
  const size_t start = place();
  const bool negative = eat('-');
  if (!negative)
    eat('+');
  int64_t v = 0;
  if (!parseInteger(digits(what, false), negative, v))
    fail("ASM-OPERAND", std::string(what) + " does not fit 64 bits", "", start);
  return v;
}

int64_t AsmCursor::integer(const char *what) {
  const size_t start = place();
  const bool negative = eat('-');
  if (!negative)
    eat('+');
  int64_t v = 0;
  if (!parseInteger(digits(what, true), negative, v))
    fail("ASM-OPERAND", std::string(what) + " does not fit 64 bits", "", start);
  if (pos < text.size() && (inWord(text[pos])))
    fail("ASM-SYNTAX", std::string("expected a whole number for ") + what, "", start);
  return v;
}

int64_t AsmCursor::integerIn(const char *what, int64_t lo, int64_t hi) {
  const size_t start = place();
  const int64_t v = integer(what);
  if (v < lo || v > hi)
    fail("ASM-OPERAND", format("%s is %lld and must be %lld to %lld", what, (long long)v, (long long)lo, (long long)hi), "",
         start);
  return v;
}

float AsmCursor::number(const char *what) {
  const size_t start = place();
  const bool negative = eat('-');
  if (!negative)
    eat('+');
  place();
  float v = 0;
  if (eat("inf")) {
    v = INFINITY;
  } else if (eat("nan")) {
    uint32_t bits = 0x7FC00000u;
    if (eat('(')) {
      bits = static_cast<uint32_t>(integerIn("the bits of a NaN", 0, UINT32_MAX));
      expect(')', "after the bits of a NaN");
      if ((bits & 0x7F800000u) != 0x7F800000u || !(bits & 0x007FFFFFu))
        fail("ASM-OPERAND", format("0x%08x is not a NaN", bits), "", start);
    }
    std::memcpy(&v, &bits, 4);
  } else {
    const bool hex = text.substr(pos).starts_with("0x");
    const char *first = text.data() + pos + (hex ? 2 : 0), *last = text.data() + text.size();
    if (first == last || !(isHexDigit(*first) || *first == '.') || (!hex && !isDigit(*first) && *first != '.'))
      fail("ASM-SYNTAX", std::string("expected ") + what + ", found " + rest(), "", start);
    auto [end, error] = std::from_chars(first, last, v, hex ? std::chars_format::hex : std::chars_format::general);
    if (error == std::errc::result_out_of_range)
      fail("ASM-OPERAND", std::string(what) + " does not fit fp32", "Write inf for infinity, 0.0 for zero.", start);
    if (error != std::errc() || (end != last && inWord(*end)))
      fail("ASM-SYNTAX", std::string("expected ") + what + ", found `" + printable(text.substr(start, 20)) + "`", "", start);
    pos = static_cast<size_t>(end - text.data());
  }
  return negative ? -v : v;
}

void AsmCursor::fail(const char *code, const std::string &message, const std::string &advice, size_t at) const {
  throw Error(code, message, advice, sourcePlace(at));
}

} // namespace glia
