// Reads words, numbers and quoted text from one line of assembly. Every failure is an Error with its place.
#pragma once
#include "glia/Support/Diagnostic.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace glia {

class AsmCursor {
public:
  AsmCursor(std::string_view file, uint32_t line, std::string_view text) : file(file), text(text), lineNumber(line) {}

  // All of these skip blanks first.
  bool atEnd();    // nothing but blanks and a comment is left
  char peek();     // '\0' at the end
  bool peekWord(); // a name comes next
  bool eat(char c);
  bool eat(std::string_view word); // a whole word, or an operator such as ">="
  void expect(char c, const char *where);
  std::string name(const char *what);        // a word, or any text in backquotes
  std::string_view word();                   // letters, digits, _ . $; may be empty
  std::string textLiteral(const char *what); // "..." with escapes
  int64_t integer(const char *what);         // decimal or 0x..., with sign
  int64_t decimal(const char *what);         // digits only, with sign: in `0x4` this reads the 0
  int64_t integerIn(const char *what, int64_t lo, int64_t hi);
  float number(const char *what); // any float, exactly rounded; inf, nan, nan(0x7fc00001)
  bool peekNumber();              // a digit, a sign, inf or nan comes next
  void expectEnd();

  size_t place(); // after blanks: to point at in `fail`
  void moveTo(size_t at) { pos = at; }
  [[noreturn]] void fail(const char *code, const std::string &message, const std::string &advice, size_t at) const;
  [[noreturn]] void fail(const char *code, const std::string &message, const std::string &advice = {}) const {
    fail(code, message, advice, pos);
  }
  SourcePlace sourcePlace(size_t at) const { return {std::string(file), lineNumber, static_cast<uint32_t>(at + 1)}; }
  uint32_t line() const { return lineNumber; }
  std::string rest(); // for messages: what comes next

private:
  std::string_view file, text;
  uint32_t lineNumber;
  size_t pos = 0;

  std::string quotedText(char quote, const char *what);
  std::string_view digits(const char *what, bool hexAllowed);
};

bool isPlainName(std::string_view s); // needs no backquotes

} // namespace glia
