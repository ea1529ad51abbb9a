// The rule book as a page and as JSON.
#include "DocsText.h"
#include "glia/Runtime/Docs.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Verify/RuleBook.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace glia {

std::string docs::shortened(const std::string &program) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < program.size();) {
    const size_t end = std::min(program.find('\n', at), program.size());
    lines.push_back(program.substr(at, end - at));
    at = end + 1;
  }
  constexpr size_t kLongest = 30, kEnds = 3;
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines.size() > kLongest && i == kEnds) {
      out += format("; ... %zu more lines like these\n", lines.size() - 2 * kEnds);
      i = lines.size() - kEnds;
    }
    out += lines[i] + "\n";
  }
  return out;
}

std::string docs::cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.replace(at, 1, "\\|");
  return text;
}

using docs::cell;
using docs::shortened;

namespace {

std::string program(const std::string &title, const std::string &text) {
  return title + "\n\n```\n" + shortened(text) + "```\n\n";
}

std::string anchor(std::string id) {
  std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return id;
}

std::string ruleSection(const Rule &r) {
  std::string out = "### " + r.id + "\n\n" + r.sentence + "\n\n";
  out += "- Targets: " + r.targets + "\n- Source: " + r.source + "\n- Advice: " + r.advice + "\n\n";
  out += program("Refused (" + r.target + (r.requireProved ? ", --require-proved" : "") + "):", r.bad) +
         program("Accepted:", r.good);
  return out;
}

std::string statementRow(const Statement &s) {
  std::string verdict;
  for (const std::string &id : s.rules)
    verdict += (verdict.empty() ? "" : ", ") + ("[" + id + "](#" + anchor(id) + ")");
  if (s.rules.empty())
    verdict = "No rule: " + cell(s.reason) + ".";
  return "| " + cell(s.text) + " | " + cell(s.source) + " | " + verdict + " |\n";
}

} // namespace

std::string rulesMarkdown() {
  std::string out = "# Rules\n\n"
                    "Made by `glia rules --markdown` from rules/*.toml and rules/statements/*.toml; do not edit.\n\n"
                    "Every rule has a smallest program that breaks it and a smallest one that satisfies it. The tests are "
                    "made from the same "
                    "files: the first is refused by exactly this rule, the second verifies.\n\n";
  out += "| rule | what must hold |\n|---|---|\n";
  for (const Rule &r : allRules())
    out += "| [" + r.id + "](#" + anchor(r.id) + ") | " + cell(r.sentence) + " |\n";
  out += "\n## The rules\n\n";
  for (const Rule &r : allRules())
    out += ruleSection(r);
  out += "## What the public documents say\n\n"
         "Every statement of the public documents on limits, features, memories, engines, transfers, types and "
         "synchronisation, with the rules "
         "that enforce it or the reason why there is none.\n";
  const std::string *topic = nullptr;
  for (const Statement &s : allStatements()) {
    if (!topic || *topic != s.topic)
      out += "\n### " + s.topic + "\n\n| statement | source | rules |\n|---|---|---|\n";
    topic = &s.topic;
    out += statementRow(s);
  }
  return out;
}

std::string rulesJson() {
  nlohmann::ordered_json rules = nlohmann::ordered_json::array(), statements = nlohmann::ordered_json::array();
  for (const Rule &r : allRules())
    rules.push_back({{"id", r.id},
                     {"sentence", r.sentence},
                     {"targets", r.targets},
                     {"source", r.source},
                     {"advice", r.advice},
                     {"target", r.target},
                     {"require_proved", r.requireProved},
                     {"bad", r.bad},
                     {"good", r.good}});
  for (const Statement &s : allStatements())
    statements.push_back(
        {{"topic", s.topic}, {"text", s.text}, {"source", s.source}, {"rules", s.rules}, {"reason", s.reason}});
  return nlohmann::ordered_json{{"rules", rules}, {"statements", statements}}.dump(1) + "\n";
}

} // namespace glia
