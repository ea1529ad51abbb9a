#include "glia/Support/Diagnostic.h"

#include <cstdarg>
#include <cstdio>

namespace glia {

std::string format(const char *fmt, ...) {
  va_list args, again;
  va_start(args, fmt);
  va_copy(again, args);
  int n = std::vsnprintf(nullptr, 0, fmt, args);
  va_end(args);
  std::string out(n > 0 ? n : 0, '\0');
  if (n > 0)
    std::vsnprintf(out.data(), out.size() + 1, fmt, again);
  va_end(again);
  return out;
}

std::string render(const Diagnostic &d) {
  static constexpr const char *kNames[] = {"error", "warning", "note"};
  std::string out = kNames[static_cast<int>(d.severity)];
  out += "[" + d.code + "]: " + d.message;
  if (!d.place.file.empty()) {
    out += "\n  --> " + d.place.file;
    if (d.place.line)
      out += ":" + std::to_string(d.place.line);
    if (d.place.column)
      out += ":" + std::to_string(d.place.column);
  }
  if (!d.context.empty())
    out += "\n  in: " + d.context;
  for (const std::string &note : d.notes)
    out += "\n  note: " + note;
  if (!d.advice.empty())
    out += "\n  help: " + d.advice;
  return out;
}

static std::string joinAll(const std::vector<Diagnostic> &ds) {
  std::string out;
  for (const Diagnostic &d : ds)
    out += (out.empty() ? "" : "\n") + render(d);
  return out;
}

Error::Error(std::vector<Diagnostic> ds) : std::runtime_error(joinAll(ds)), list(std::move(ds)) {}

Error::Error(std::string code, std::string message, std::string advice, SourcePlace place)
    : Error(Diagnostic{
          std::move(code), std::move(message), std::move(place), {}, {}, {}, std::move(advice), {}, Severity::Error}) {}

} // namespace glia
