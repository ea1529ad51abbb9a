#include "glia/Target/Target.h"
#include "TargetOrigin.h"
#include "ValueFile.h"
#include "glia/Support/BuiltinFiles.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Target/ChangeTarget.h"

#include <filesystem>
#include <mutex>

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

constexpr ValueFileKind kKind = {"target", "targets", "TARGET-FILE", "TARGET-UNKNOWN",
                                 "See `docs/targets.md`, or start from `glia targets trn2 --toml`."};

void readActivationSet(Target &t, const toml::table &entry, const ValueFile &file) {
  const uint32_t line = entry.source().begin.line;
  ActivationSet s;
  s.name = entry["name"].value_or(std::string());
  s.origin = file.origin(entry, line);
  s.source = entry["source"].value_or(std::string());
  const toml::array *functions = entry["functions"].as_array();
  if (s.name.empty() || !functions || functions->empty())
    file.bad("an activation set needs a name and functions", line);
  for (const toml::node &f : *functions) {
    if (!f.is_string())
      file.bad("functions of an activation set are text", line);
    if (t.activationSet(f.as_string()->get()) >= 0)
      file.bad("function `" + f.as_string()->get() + "` is in two activation sets", line);
    s.functions.push_back(f.as_string()->get());
  }
  t.activationSets.push_back(std::move(s));
}

void copyGeometry(Target &t, const ValueFile &file) {
  auto get = [&](std::string_view key, int64_t lo, int64_t hi) {
    return file.whole(std::string(key), t.number(key), lo, hi);
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

std::shared_ptr<const Target> parseTarget(std::string_view text, std::string_view fileName) {
  const ValueFile file(text, fileName, kKind);
  auto t = std::make_shared<Target>();
  t->text = text;
  t->name = file.name;
  t->summary = file.summary;
  for (auto &&[key, node] : file.root) {
    if (key.str() == "name" || key.str() == "summary")
      continue;
    const uint32_t line = node.source().begin.line;
    if (key.str() == "activation_set") {
      const toml::array *sets = node.as_array();
      if (!sets)
        file.bad("activation sets are written [[activation_set]]", line);
      for (const toml::node &s : *sets) {
        if (!s.is_table())
          file.bad("activation sets are written [[activation_set]]", line);
        readActivationSet(*t, *s.as_table(), file);
      }
    } else if (node.is_table()) {
      file.readSection(t->values, key.str(), *node.as_table());
    } else {
      file.bad("unexpected key `" + std::string(key.str()) + "`", line);
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

// Where the changes begin in "trn2,dma.fixed_latency=0"; npos if there are none.
static size_t changesIn(std::string_view reference) {
  const size_t equals = reference.find('=');
  return equals == std::string_view::npos ? equals : reference.substr(0, equals).find(',');
}

std::shared_ptr<const Target> loadTarget(std::string_view reference) {
  for (const BuiltinFile &f : builtinTargetFiles())
    if (f.name == reference) {
      static std::mutex lock; // built-in targets never change: each is parsed once
      static std::map<std::string_view, std::shared_ptr<const Target>> parsed;
      const std::lock_guard guard(lock);
      std::shared_ptr<const Target> &t = parsed[f.name];
      if (!t)
        t = parseTarget(f.text, std::string(reference) + ".toml");
      return t;
    }
  if (const size_t comma = changesIn(reference); comma != std::string_view::npos && !std::filesystem::exists(reference)) {
    const std::string_view changes = reference.substr(comma + 1);
    std::shared_ptr<const Target> t = changeTarget(*loadTarget(reference.substr(0, comma)), parseChanges(changes));
    rememberOrigin(*t, "with " + std::string(changes));
    return t;
  }
  std::shared_ptr<const Target> t = parseTarget(readValueFile(reference, kKind, builtinTargets()), reference);
  rememberOrigin(*t, "from " + std::filesystem::path(reference).filename().string());
  return t;
}

} // namespace glia
