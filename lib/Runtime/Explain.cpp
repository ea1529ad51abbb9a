// `glia explain`: one rule or error as text, all of them as a list, and the page of errors.
#include "DocsText.h"
#include "glia/Runtime/Docs.h"
#include "glia/Runtime/ErrorBook.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Support/Text.h"
#include "glia/Verify/RuleBook.h"

#include <algorithm>

namespace glia {

static std::string explainRule(const Rule &r) {
  auto indented = [](const std::string &text) {
    std::string out = "    ";
    for (char c : docs::shortened(text))
      out += c == '\n' ? std::string("\n    ") : std::string(1, c);
    return out.substr(0, out.find_last_not_of(' ') + 1);
  };
  return r.id + ": " + r.sentence + "\n\ntargets: " + r.targets + "\nsource:  " + r.source + "\nadvice:  " + r.advice +
         "\n\nrefused (" + r.target + (r.requireProved ? ", --require-proved" : "") + "):\n" + indented(r.bad) +
         "\naccepted:\n" + indented(r.good);
}

std::string explain(std::string_view code) {
  std::string wanted(code);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (const Rule *r = findRule(wanted))
    return explainRule(*r);
  if (const ErrorEntry *e = findError(wanted))
    return e->code + " (" + e->group + "): " + e->meaning + "\n\nadvice:  " + e->advice + "\n";
  for (const char *module : {"nki.", "nl.", "nisa."})
    if (code.starts_with(module))
      throw Error("RULE-UNKNOWN", "`" + printable(code) + "` would be a call of NKI, no rule and no error",
                  "`python -m glia explain " + printable(code) + "` says what calls do, with an example.");
  std::vector<std::string_view> known;
  for (const Rule &r : allRules())
    known.push_back(r.id);
  for (const ErrorEntry &e : allErrors())
    known.push_back(e.code);
  throw Error("RULE-UNKNOWN", "there is no rule and no error `" + printable(code) + "`",
              didYouMean(wanted, known, "`glia explain` lists all of them."));
}

std::string explainable() {
  std::string out = "Rules of the hardware\n";
  for (const Rule &r : allRules())
    out += format("  %-22s %s\n", r.id.c_str(), r.sentence.c_str());
  std::string_view group;
  for (const ErrorEntry &e : allErrors()) {
    if (group != e.group)
      out += "\n" + e.group + "\n";
    group = e.group;
    out += format("  %-22s %s\n", e.code.c_str(), e.meaning.c_str());
  }
  return out;
}

std::string errorsMarkdown() {
  std::string out =
      "# Errors\n\n"
      "Made by `glia explain --markdown` from errors/*.toml; do not edit.\n\n"
      "An error has a code, a place, what was found and what is allowed, and advice. Codes of what the hardware forbids "
      "are rules ([docs/rules.md](rules.md)); these are the others. `glia explain CODE` knows both. Faults that the "
      "simulators find have the name of the rule that forbids them.\n";
  std::string_view group;
  for (const ErrorEntry &e : allErrors()) {
    if (group != e.group)
      out += "\n## " + e.group + "\n\n| code | what happened | what to do |\n|---|---|---|\n";
    group = e.group;
    out += "| " + e.code + " | " + docs::cell(e.meaning) + " | " + docs::cell(e.advice) + " |\n";
  }
  return out;
}

} // namespace glia
