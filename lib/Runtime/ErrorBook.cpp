#include "glia/Runtime/ErrorBook.h"
#include "Support/Toml.h"
#include "glia/Support/BuiltinFiles.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <vector>

namespace glia {

namespace {

// The files are ours: an error in one is a mistake of the build, and the tests read all of them.
[[noreturn]] void bad(const BuiltinFile &f, const std::string &what) {
  throw Error("RULE-FILE", "errors/" + std::string(f.name) + ".toml: " + what);
}

std::vector<ErrorEntry> readErrors() {
  std::vector<ErrorEntry> all;
  for (const BuiltinFile &f : builtinErrorFiles()) {
    toml::table file;
    try {
      file = toml::parse(f.text, f.name);
    } catch (const toml::parse_error &e) {
      bad(f, format("line %u: %s", e.source().begin.line, std::string(e.description()).c_str()));
    }
    const std::string group = file["title"].value_or(std::string());
    for (const auto &[code, node] : file) {
      const toml::table *t = node.as_table();
      if (!t)
        continue;
      ErrorEntry e{std::string(code.str()), group, (*t)["meaning"].value_or(std::string()),
                   (*t)["advice"].value_or(std::string())};
      if (e.group.empty() || e.meaning.empty() || e.advice.empty())
        bad(f, "title, meaning or advice of " + e.code + " is missing");
      all.push_back(std::move(e));
    }
  }
  return all;
}

} // namespace

std::span<const ErrorEntry> allErrors() {
  static const std::vector<ErrorEntry> errors = readErrors();
  return errors;
}

const ErrorEntry *findError(std::string_view code) {
  const std::span<const ErrorEntry> all = allErrors();
  const auto it = std::find_if(all.begin(), all.end(), [&](const ErrorEntry &e) { return e.code == code; });
  return it == all.end() ? nullptr : &*it;
}

} // namespace glia
