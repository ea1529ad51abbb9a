#include "ValueFile.h"
#include "glia/Support/Diagnostic.h"

#include <cmath>
#include <fstream>
#include <sstream>

namespace glia {

ValueFile::ValueFile(std::string_view text, std::string_view file, const ValueFileKind &kind) : file(file), kind(kind) {
  // toml++ 3.3 relies on non-ASCII blanks being where they cannot be, so these files are ASCII.
  uint32_t at = 1;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) > 126)
      bad("a " + std::string(kind.what) + " file is written in ASCII; this line has another character", at);
    at += c == '\n';
  }
  try {
    root = toml::parse(text, file);
  } catch (const toml::parse_error &e) {
    bad(std::string(e.description()), e.source().begin.line);
  } catch (const TomlAssumption &) {
    bad("the text is not TOML", 0);
  }
  name = root["name"].value_or(std::string());
  summary = root["summary"].value_or(std::string());
  if (name.empty())
    bad("the " + std::string(kind.what) + " has no name", 1);
}

void ValueFile::bad(const std::string &what, uint32_t line) const {
  throw Error(std::string(kind.code), what, std::string(kind.advice), {file, line, 0});
}

Origin ValueFile::origin(const toml::table &entry, uint32_t line) const {
  const auto s = entry["origin"].value_or(std::string_view(""));
  if (s == "documented")
    return Origin::Documented;
  if (s == "derived")
    return Origin::Derived;
  if (s == "assumed")
    return Origin::Assumed;
  bad("origin is `" + std::string(s) + "` and must be documented, derived or assumed", line);
}

TargetValue ValueFile::value(const std::string &key, const toml::node &node) const {
  const uint32_t line = node.source().begin.line;
  const toml::table *entry = node.as_table();
  if (!entry)
    bad("`" + key + "` must be a table { value, origin, source }", line);
  TargetValue v;
  const toml::node *number = entry->get("value");
  if (number && number->is_boolean()) {
    v.number = number->as_boolean()->get() ? 1 : 0;
  } else if (number && number->is_integer()) {
    constexpr int64_t kMost = int64_t{1} << 53; // values are kept as doubles
    const int64_t n = number->as_integer()->get();
    if (n < -kMost || n > kMost)
      bad(format("`%s` is %lld, and whole numbers go up to 2^53 (%lld)", key.c_str(), (long long)n, (long long)kMost),
          number->source().begin.line);
    v.number = static_cast<double>(n);
  } else if (number && number->is_floating_point()) {
    v.number = number->as_floating_point()->get();
  } else {
    bad("`" + key + "` needs a number or true/false as its value", line);
  }
  if (!std::isfinite(v.number))
    bad("`" + key + "` is not a finite number", line);
  v.origin = origin(*entry, line);
  v.source = (*entry)["source"].value_or(std::string());
  v.unit = (*entry)["unit"].value_or(std::string());
  if (v.source.empty())
    bad("`" + key + "` does not say where its value comes from", line);
  return v;
}

void ValueFile::readSection(Values &values, std::string_view section, const toml::table &table) const {
  for (auto &&[key, node] : table) {
    const std::string full = std::string(section) + "." + std::string(key.str());
    values.emplace(full, value(full, node));
  }
}

int64_t ValueFile::whole(const std::string &key, double v, int64_t lo, int64_t hi) const {
  if (v < static_cast<double>(lo) || v > static_cast<double>(hi) || v != std::floor(v))
    bad(format("`%s` is %g and must be a whole number from %lld to %lld", key.c_str(), v, (long long)lo, (long long)hi), 0);
  return static_cast<int64_t>(v);
}

std::string readValueFile(std::string_view nameOrPath, const ValueFileKind &kind, const std::vector<std::string> &known) {
  std::ifstream in{std::string(nameOrPath), std::ios::binary};
  const bool looksLikePath = nameOrPath.find('/') != std::string_view::npos || nameOrPath.ends_with(".toml");
  if (!in) {
    const std::string what(kind.what);
    std::string names;
    for (const std::string &n : known)
      names += (names.empty() ? "" : ", ") + n;
    throw Error(std::string(kind.unknown),
                (looksLikePath ? "cannot read the " + what + " file `" : "there is no " + what + " `") +
                    std::string(nameOrPath) + "`",
                "Known " + std::string(kind.many) + ": " + names + "; or give the path of a " + what + " file.");
  }
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

} // namespace glia
