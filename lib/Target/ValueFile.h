// A TOML file of values that say where they come from: what target files and topology files share.
#pragma once
#include "Support/Toml.h"
#include "glia/Target/Target.h"

#include <map>
#include <string>
#include <string_view>

namespace glia {

// What such a file is, for its errors.
struct ValueFileKind {
  std::string_view what, many; // "target", "targets"
  std::string_view code;       // "TARGET-FILE": the text is not as it must be
  std::string_view unknown;    // "TARGET-UNKNOWN": there is none
  std::string_view advice;     // where to look
};

class ValueFile {
public:
  using Values = std::map<std::string, TargetValue, std::less<>>;

  // Throws Error `kind.code` if the text is not TOML in ASCII, or has no name.
  ValueFile(std::string_view text, std::string_view file, const ValueFileKind &kind);

  toml::table root;
  std::string name, summary;

  [[noreturn]] void bad(const std::string &what, uint32_t line) const;
  Origin origin(const toml::table &entry, uint32_t line) const; // of { origin = "..." }
  // { value = 128, origin = "documented", source = "...", unit = "..." }; `key` is its full name.
  TargetValue value(const std::string &key, const toml::node &node) const;
  // [section] with such values, under "section.key".
  void readSection(Values &values, std::string_view section, const toml::table &table) const;
  // A whole number between two bounds.
  int64_t whole(const std::string &key, double number, int64_t lo, int64_t hi) const;

private:
  std::string file;
  ValueFileKind kind;
};

// The text of a file that is not built in, or Error `kind.unknown`; `known` are the names that are.
std::string readValueFile(std::string_view nameOrPath, const ValueFileKind &kind, const std::vector<std::string> &known);

} // namespace glia
