// Targets as JSON, each value with where it comes from.
#include "ValueJson.h"
#include "glia/Runtime/Docs.h"

namespace glia {

using Json = nlohmann::ordered_json;

static Json toJson(const Target &t) {
  Json sets = Json::array();
  for (const ActivationSet &s : t.activationSets)
    sets.push_back({{"name", s.name}, {"functions", s.functions}, {"origin", originName(s.origin)}, {"source", s.source}});
  return {{"name", t.name}, {"summary", t.summary}, {"values", docs::valuesJson(t.values)}, {"activation_sets", sets}};
}

std::string targetJson(const Target &t) { return toJson(t).dump(1) + "\n"; }

std::string targetsJson() {
  Json all = Json::array();
  for (const std::string &name : builtinTargets())
    all.push_back(toJson(*loadTarget(name)));
  return Json{{"targets", all}}.dump(1) + "\n";
}

} // namespace glia
