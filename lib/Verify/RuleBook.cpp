#include "glia/Verify/RuleBook.h"
#include "Support/Toml.h"
#include "glia/Support/BuiltinFiles.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>

namespace glia {

namespace {

// The files are ours: an error in one is a mistake of the build, and the tests read all of them.
[[noreturn]] void bad(std::string_view file, const std::string &what) {
  throw Error("RULE-FILE", "rules/" + std::string(file) + ".toml: " + what);
}

toml::table parse(const BuiltinFile &f) {
  try {
    return toml::parse(f.text, f.name);
  } catch (const toml::parse_error &e) {
    bad(f.name, format("line %u: %s", e.source().begin.line, std::string(e.description()).c_str()));
  }
}

std::string text(const toml::table &t, std::string_view key, std::string_view file, bool needed = true) {
  std::string v = t[key].value_or(std::string());
  if (needed && v.empty())
    bad(file, "`" + std::string(key) + "` is missing");
  return v;
}

std::vector<Rule> readRules() {
  std::vector<Rule> rules;
  for (const BuiltinFile &f : builtinRuleFiles()) {
    const toml::table t = parse(f);
    Rule r;
    r.id = text(t, "id", f.name);
    r.sentence = text(t, "sentence", f.name);
    r.targets = text(t, "targets", f.name);
    r.source = text(t, "source", f.name);
    r.advice = text(t, "advice", f.name);
    r.target = t["target"].value_or(std::string("trn2"));
    r.requireProved = t["require_proved"].value_or(false);
    r.bad = text(t, "bad", f.name);
    r.good = text(t, "good", f.name);
    rules.push_back(std::move(r));
  }
  std::sort(rules.begin(), rules.end(), [](const Rule &a, const Rule &b) { return a.id < b.id; });
  for (size_t i = 1; i < rules.size(); ++i)
    if (rules[i].id == rules[i - 1].id)
      throw Error("RULE-FILE", "two rule files have the id " + rules[i].id);
  return rules;
}

Statement readStatement(const toml::table &t, const std::string &topic, std::string_view file) {
  Statement s;
  s.topic = topic;
  s.text = text(t, "text", file);
  s.source = text(t, "source", file);
  s.reason = text(t, "reason", file, false);
  if (const toml::array *ids = t["rules"].as_array())
    for (const toml::node &id : *ids)
      s.rules.push_back(id.value_or(std::string()));
  if (s.rules.empty() && s.reason.empty())
    bad(file, "`" + s.text + "` has neither rules nor a reason");
  return s;
}

std::vector<Statement> readStatements() {
  std::vector<Statement> all;
  for (const BuiltinFile &f : builtinStatementFiles()) {
    const toml::table t = parse(f);
    const std::string topic = text(t, "topic", f.name);
    const toml::array *list = t["statement"].as_array();
    if (!list)
      bad(f.name, "it has no statements");
    for (const toml::node &n : *list) {
      if (!n.is_table())
        bad(f.name, "statements are written [[statement]]");
      all.push_back(readStatement(*n.as_table(), topic, f.name));
    }
  }
  return all;
}

} // namespace

std::span<const Rule> allRules() {
  static const std::vector<Rule> rules = readRules();
  return rules;
}

const Rule *findRule(std::string_view id) {
  const std::span<const Rule> all = allRules();
  auto it =
      std::lower_bound(all.begin(), all.end(), id, [](const Rule &r, std::string_view wanted) { return r.id < wanted; });
  return it != all.end() && it->id == id ? &*it : nullptr;
}

std::span<const Statement> allStatements() {
  static const std::vector<Statement> statements = readStatements();
  return statements;
}

} // namespace glia
