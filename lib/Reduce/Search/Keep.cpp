#include "glia/Reduce/Outcome.h"
#include "glia/Runtime/ErrorBook.h"
#include "glia/Support/Text.h"
#include "glia/Verify/RuleBook.h"

#include <algorithm>

namespace glia::reduce {

namespace {

constexpr std::string_view kWords[] = {"mismatch", "crash"};

bool isCode(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-'; });
}

std::vector<std::string_view> knownCodes() {
  std::vector<std::string_view> out(std::begin(kWords), std::end(kWords));
  for (const ErrorEntry &e : allErrors())
    out.push_back(e.code);
  for (const Rule &r : allRules())
    out.push_back(r.id);
  return out;
}

} // namespace

Outcome outcomeOf(const std::vector<Diagnostic> &diagnostics) {
  Outcome out;
  for (const Diagnostic &d : diagnostics) {
    if (d.severity != Severity::Error)
      continue;
    out.push_back({d.code == "GRAPH-DIFFERS" ? kMismatch : d.code, render(d)});
    if (d.code.ends_with("INTERNAL") && !d.notes.empty())
      if (const size_t colon = d.notes[0].find(": "); colon != std::string::npos && isCode(d.notes[0].substr(0, colon)))
        out.push_back({d.notes[0].substr(0, colon), render(d)});
  }
  return out;
}

bool Keep::in(const Outcome &outcome) const {
  return std::any_of(outcome.begin(), outcome.end(),
                     [&](const Finding &f) { return f.code == code && f.text.find(containing) != std::string::npos; });
}

Keep parseKeep(std::string_view text) {
  if (text.find("{}") != std::string_view::npos)
    return {.command = std::string(text)};
  const size_t colon = text.find(':');
  const std::string_view code = text.substr(0, colon);
  const std::vector<std::string_view> known = knownCodes();
  if (std::find(known.begin(), known.end(), code) != known.end()) {
    const bool differs = code == "GRAPH-DIFFERS";
    return {.code = differs ? kMismatch : std::string(code),
            .containing = colon == std::string_view::npos ? "" : std::string(text.substr(colon + 1))};
  }
  if (isCode(code))
    throw Error("REDUCE-KEEP", "there is no error `" + printable(code) + "` to be kept",
                didYouMean(code, known, "`glia explain` lists them; a command has {} where the file is to be."));
  throw Error("REDUCE-KEEP", "`" + printable(text) + "` is neither an error's code nor a command with {}",
              didYouMean(code, known, "In a command, {} stands for the file: --keep 'python repro.py {}'."));
}

} // namespace glia::reduce
