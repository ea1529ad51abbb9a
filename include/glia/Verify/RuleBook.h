// The rule book: every hardware rule as data (rules/*.toml, compiled in), and the published statements with the rules
// they became or the reason why they are none (rules/statements/*.toml). Read on first use.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glia {

struct Rule {
  std::string id;             // "PARTITION-START"
  std::string sentence;       // what must hold
  std::string targets;        // "all", or in words which targets it binds
  std::string source;         // the public document, or "assumed: ..."
  std::string advice;         // what to do when it is broken
  std::string target;         // the target of the two programs
  bool requireProved = false; // they are verified with VerifyOptions::requireProved
  std::string bad, good;      // the smallest program that breaks it, the smallest that satisfies it (assembly)
};

// One statement of the public documents on the hardware.
struct Statement {
  std::string topic; // heading of the group
  std::string text;
  std::string source;
  std::vector<std::string> rules; // the rules that enforce it; empty: see `reason`
  std::string reason;             // why there is no rule
};

std::span<const Rule> allRules();           // sorted by id
const Rule *findRule(std::string_view id);  // null if absent
std::span<const Statement> allStatements(); // in the order of the files

} // namespace glia
