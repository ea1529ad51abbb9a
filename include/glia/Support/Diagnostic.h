// What glia says when something is wrong: a stable code, a place, a number with its limit, advice.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace glia {

struct SourcePlace {
  std::string file;
  uint32_t line = 0;   // 1-based, 0 = unknown
  uint32_t column = 0; // 1-based, 0 = unknown
};

enum class Severity : uint8_t { Error, Warning, Note };

struct Diagnostic {
  std::string code;               // a rule id ("PARTITION-START") or an input error ("ASM-SYNTAX")
  std::string message;            // one sentence, with the number and its limit where there is one
  SourcePlace place;              // in the user's own file
  std::string context;            // "kernel rms_norm, core 0 vector instruction 212: tensor_tensor ..."; may be empty
  std::string value, limit;       // what was found and what is allowed, as text; may be empty
  std::string advice;             // what to do
  std::vector<std::string> notes; // further lines: the other instruction of a race, the order of events
  Severity severity = Severity::Error;
};

// The human form, several lines, no trailing newline. `--diagnostics=json` is in the tool.
std::string render(const Diagnostic &d);

// Bad input. Everything a user can cause ends in one of these, never in a crash.
class Error : public std::runtime_error {
public:
  explicit Error(Diagnostic d) : Error(std::vector<Diagnostic>{std::move(d)}) {}
  explicit Error(std::vector<Diagnostic> ds);
  Error(std::string code, std::string message, std::string advice = {}, SourcePlace place = {});
  const std::vector<Diagnostic> &diagnostics() const { return list; }

private:
  std::vector<Diagnostic> list;
};

// printf-like formatting into a std::string.
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
std::string format(const char *fmt, ...);

} // namespace glia
