// What every error that is not a broken rule means (errors/*.toml, compiled in): `glia explain`, docs/errors.md. Read on first use.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace glia {

struct ErrorEntry {
  std::string code;    // "GRAPH-MEMORY"
  std::string group;   // heading of its file
  std::string meaning; // what happened
  std::string advice;  // what to do about it
};

std::span<const ErrorEntry> allErrors();            // by file, then by code
const ErrorEntry *findError(std::string_view code); // null if absent

} // namespace glia
