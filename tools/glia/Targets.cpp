#include "Tool.h"
#include "glia/Runtime/Docs.h"
#include "glia/Target/OriginName.h"
#include "glia/Target/Title.h"

#include <set>

namespace glia::tool {

static std::string table(const Target &t) {
  std::string out = t.name + ": " + t.summary + "\n";
  for (const auto &[key, v] : t.values)
    out += format("  %-40s %14.10g %-8s %-10s %s\n", key.c_str(), v.number, v.unit.c_str(), originName(v.origin),
                  v.source.c_str());
  for (const ActivationSet &s : t.activationSets) {
    out += "  activation set " + s.name + " (" + originName(s.origin) + "):";
    for (const std::string &f : s.functions)
      out += " " + f;
    out += "\n";
  }
  return out;
}

static std::string difference(const Target &a, const Target &b) {
  std::set<std::string> keys;
  for (const Target *t : {&a, &b})
    for (const auto &entry : t->values)
      keys.insert(entry.first);
  auto show = [](const Target &t, const std::string &key) {
    auto it = t.values.find(key);
    return it == t.values.end() ? std::string("-") : format("%.10g", it->second.number);
  };
  std::string out = format("%-40s %14s %14s\n", "", titleOf(a).c_str(), titleOf(b).c_str());
  for (const std::string &key : keys)
    if (show(a, key) != show(b, key))
      out += format("%-40s %14s %14s\n", key.c_str(), show(a, key).c_str(), show(b, key).c_str());
  auto sets = [](const Target &t) {
    std::set<std::string> s;
    for (const ActivationSet &x : t.activationSets) {
      std::string line = x.name + ":";
      for (const std::string &f : x.functions)
        line += " " + f;
      s.insert(line);
    }
    return s;
  };
  const auto sa = sets(a), sb = sets(b);
  for (const std::string &s : sa)
    if (!sb.count(s))
      out += "activation set only in " + titleOf(a) + ": " + s + "\n";
  for (const std::string &s : sb)
    if (!sa.count(s))
      out += "activation set only in " + titleOf(b) + ": " + s + "\n";
  return out;
}

void addTargets(Command app, Tool &tool) {
  struct Options {
    std::string name;
    std::vector<std::string> diff;
    bool json = false, toml = false;
  };
  auto o = std::make_shared<Options>();
  Command c = app.command("targets", "Lists targets, or shows one with the origin of every value");
  c.option("name", o->name, "A built-in target or a target file");
  Option json = c.flag("--json", o->json, "As JSON");
  Option toml = c.flag("--toml", o->toml, "The target file itself, to start one's own from").excludes(json);
  c.option("--diff", o->diff, "What differs between two targets").values(2).excludes(json).excludes(toml);
  c.footer("Example: glia targets trn2 --json\n         glia targets --diff trn1 trn3");
  c.callback([o, &tool] {
    if (o->toml && o->name.empty())
      refuseUse("--toml", "needs the name of a target");
    tool.command = [o] {
      if (!o->diff.empty()) {
        write(difference(*loadTarget(o->diff[0]), *loadTarget(o->diff[1])));
      } else if (!o->name.empty()) {
        const auto t = loadTarget(o->name);
        write(o->toml ? t->text : o->json ? targetJson(*t) + "\n" : table(*t));
      } else if (o->json) {
        write(targetsJson() + "\n");
      } else {
        for (const std::string &n : builtinTargets())
          write(format("%-8s %s\n", n.c_str(), loadTarget(n)->summary.c_str()));
      }
      return 0;
    };
  });
}

} // namespace glia::tool
