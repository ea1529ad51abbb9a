#include "glia/Target/Target.h"
#include "TargetFiles.h"
#include "Support/Toml.h"
#include "glia/Support/BuiltinFiles.h"
#include "glia/Support/Diagnostic.h"

#include <cmath>
#include <fstream>
#include <mutex>
#include <sstream>

namespace glia {

const TargetValue &Target::value(std::string_view key) const {
  auto it = values.find(key);
  if (it == values.end())
    throw Error("TARGET-KEY", "target `" + name + "` has no value for `" + std::string(key) + "`",
                "Add it to the target file; `glia targets trn2` shows one that has it.");
  return it->second;
}

double Target::number(std::string_view key) const { return value(key).number; }

bool Target::has(std::string_view feature) const {
  auto it = values.find("feature." + std::string(feature));
  return it != values.end() && it->second.number != 0;
}

int Target::activationSet(std::string_view function) const {
  for (size_t i = 0; i < activationSets.size(); ++i)
    for (const std::string &f : activationSets[i].functions)
      if (f == function)
        return static_cast<int>(i);
  return -1;
}

namespace {

[[noreturn]] void bad(const std::string &what, std::string_view file, uint32_t line) {
  throw Error("TARGET-FILE", what, "See `docs/targets.md`, or start from `glia targets trn2 --toml`.",
              {std::string(file), line, 0});
}

Origin parseOrigin(std::string_view s, std::string_view file, uint32_t line) {
  if (s == "documented")
    return Origin::Documented;
  if (s == "derived")
    return Origin::Derived;
  if (s == "assumed")
    return Origin::Assumed;
  bad("origin is `" + std::string(s) + "` and must be documented, derived or assumed", file, line);
}

// Values are kept as doubles.
double exactly(int64_t v, const std::string &key, std::string_view file, uint32_t line) {
  constexpr int64_t kMost = int64_t{1} << 53;
  if (v < -kMost || v > kMost)
    bad(format("`%s` is %lld, and whole numbers go up to 2^53 (%lld)", key.c_str(), (long long)v, (long long)kMost), file,
        line);
  return static_cast<double>(v);
}

// [section] key = { value = 128, origin = "documented", source = "...", unit = "..." }
void readSection(Target &t, std::string_view section, const toml::table &table, std::string_view file) {
  for (auto &&[key, node] : table) {
    const uint32_t line = node.source().begin.line;
    const std::string full = std::string(section) + "." + std::string(key.str());
    const toml::table *entry = node.as_table();
    if (!entry)
      bad("`" + full + "` must be a table { value, origin, source }", file, line);
    TargetValue v;
    const toml::node *number = entry->get("value");
    if (number && number->is_boolean())
      v.number = number->as_boolean()->get() ? 1 : 0;
    else if (number && number->is_integer())
      v.number = exactly(number->as_integer()->get(), full, file, number->source().begin.line);
    else if (number && number->is_floating_point())
      v.number = number->as_floating_point()->get();
    else
      bad("`" + full + "` needs a number or true/false as its value", file, line);
    if (!std::isfinite(v.number))
      bad("`" + full + "` is not a finite number", file, line);
    v.origin = parseOrigin((*entry)["origin"].value_or(std::string_view("")), file, line);
    v.source = (*entry)["source"].value_or(std::string());
    v.unit = (*entry)["unit"].value_or(std::string());
    if (v.source.empty())
      bad("`" + full + "` does not say where its value comes from", file, line);
    t.values.emplace(full, std::move(v));
  }
}

void readActivationSet(Target &t, const toml::table &entry, std::string_view file) {
  const uint32_t line = entry.source().begin.line;
  ActivationSet s;
  s.name = entry["name"].value_or(std::string());
  s.origin = parseOrigin(entry["origin"].value_or(std::string_view("")), file, line);
  s.source = entry["source"].value_or(std::string());
  const toml::array *functions = entry["functions"].as_array();
  if (s.name.empty() || !functions || functions->empty())
    bad("an activation set needs a name and functions", file, line);
  for (const toml::node &f : *functions) {
    if (!f.is_string())
      bad("functions of an activation set are text", file, line);
    if (t.activationSet(f.as_string()->get()) >= 0)
      bad("function `" + f.as_string()->get() + "` is in two activation sets", file, line);
    s.functions.push_back(f.as_string()->get());
  }
  t.activationSets.push_back(std::move(s));
}

void copyGeometry(Target &t, std::string_view file) {
  auto get = [&](std::string_view key, int64_t lo, int64_t hi) {
    const double v = t.number(key);
    if (v != std::floor(v) || v < static_cast<double>(lo) || v > static_cast<double>(hi))
      bad(format("`%s` is %g and must be a whole number from %lld to %lld", std::string(key).c_str(), v, (long long)lo,
                 (long long)hi),
          file, 0);
    return static_cast<int64_t>(v);
  };
  t.partitions = static_cast<int>(get("memory.partitions", 1, 128));
  t.sbufBytes = get("memory.sbuf_bytes", 64, 1 << 22);
  t.psumBytes = get("memory.psum_bytes", 64, 1 << 20);
  t.psumBankBytes = get("memory.psum_bank_bytes", 4, t.psumBytes);
  t.registers = static_cast<int>(get("sequencer.registers", 1, 64));
  t.semaphores = static_cast<int>(get("sequencer.semaphores", 1, 65535));
  t.semaphoreMax = get("sequencer.semaphore_max", 1, INT32_MAX);
  t.dmaEngines = static_cast<int>(get("dma.engines", 1, 64));
  t.dmaQueues = static_cast<int>(get("dma.queues", 1, 64));
  t.maxCores = static_cast<int>(get("core.max_cores", 1, 64));
  t.maxActivationSets = static_cast<int>(get("activation.max_sets", 1, 64));
}

} // namespace

std::shared_ptr<const Target> parseTarget(std::string_view text, std::string_view file) {
  // toml++ 3.3 relies on non-ASCII blanks being where they cannot be, so a target file is ASCII.
  uint32_t at = 1;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) > 126)
      bad("a target file is written in ASCII; this line has another character", file, at);
    at += c == '\n';
  }
  toml::table root;
  try {
    root = toml::parse(text, file);
  } catch (const toml::parse_error &e) {
    bad(std::string(e.description()), file, e.source().begin.line);
  } catch (const TomlAssumption &) {
    bad("the text is not TOML", file, 0);
  }
  auto t = std::make_shared<Target>();
  t->text = text;
  t->name = root["name"].value_or(std::string());
  t->summary = root["summary"].value_or(std::string());
  if (t->name.empty())
    bad("the target has no name", file, 1);
  for (auto &&[key, node] : root) {
    if (key.str() == "name" || key.str() == "summary")
      continue;
    const uint32_t line = node.source().begin.line;
    if (key.str() == "activation_set") {
      const toml::array *sets = node.as_array();
      if (!sets)
        bad("activation sets are written [[activation_set]]", file, line);
      for (const toml::node &s : *sets) {
        if (!s.is_table())
          bad("activation sets are written [[activation_set]]", file, line);
        readActivationSet(*t, *s.as_table(), file);
      }
    } else if (node.is_table()) {
      readSection(*t, key.str(), *node.as_table(), file);
    } else {
      bad("unexpected key `" + std::string(key.str()) + "`", file, line);
    }
  }
  copyGeometry(*t, file);
  return t;
}

std::vector<std::string> builtinTargets() {
  std::vector<std::string> names;
  for (const BuiltinFile &f : builtinTargetFiles())
    names.emplace_back(f.name);
  return names;
}

std::shared_ptr<const Target> loadTarget(std::string_view nameOrPath) {
  for (const BuiltinFile &f : builtinTargetFiles())
    if (f.name == nameOrPath) {
      static std::mutex lock; // built-in targets never change: each is parsed once
      static std::map<std::string_view, std::shared_ptr<const Target>> parsed;
      const std::lock_guard guard(lock);
      std::shared_ptr<const Target> &t = parsed[f.name];
      if (!t)
        t = parseTarget(f.text, std::string(nameOrPath) + ".toml");
      return t;
    }
  std::ifstream in{std::string(nameOrPath), std::ios::binary};
  const bool looksLikePath = nameOrPath.find('/') != std::string_view::npos || nameOrPath.ends_with(".toml");
  if (!in) {
    std::string known;
    for (const std::string &n : builtinTargets())
      known += (known.empty() ? "" : ", ") + n;
    throw Error("TARGET-UNKNOWN",
                (looksLikePath ? "cannot read the target file `" : "there is no target `") + std::string(nameOrPath) + "`",
                "Known targets: " + known + "; or give the path of a target file.");
  }
  std::stringstream text;
  text << in.rdbuf();
  std::shared_ptr<const Target> t = parseTarget(text.str(), nameOrPath);
  rememberFile(*t, nameOrPath);
  return t;
}

} // namespace glia
