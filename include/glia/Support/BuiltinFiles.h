// Data files of the repository that are compiled into the library (targets/*.toml, topologies/*.toml, rules/*.toml,
// rules/statements/*.toml, errors/*.toml).
#pragma once
#include <span>
#include <string_view>

namespace glia {

struct BuiltinFile {
  std::string_view name; // without folder and ending
  std::string_view text;
};
std::span<const BuiltinFile> builtinTargetFiles();
std::span<const BuiltinFile> builtinTopologyFiles();
std::span<const BuiltinFile> builtinRuleFiles();
std::span<const BuiltinFile> builtinStatementFiles();
std::span<const BuiltinFile> builtinErrorFiles(); // errors/*.toml
std::span<const BuiltinFile> builtinPageFiles();  // lib/Profile/page/*

} // namespace glia
