// Targets as JSON, each value with where it comes from.
#include "glia/Runtime/Docs.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace glia {

using Json = nlohmann::ordered_json;

static std::string_view originName(Origin o) {
  static constexpr std::string_view kNames[] = {"documented", "derived", "assumed"};
  return kNames[static_cast<int>(o)];
}

static Json toJson(const Target &t) {
  Json values = Json::object();
  for (const auto &[key, v] : t.values) {
    Json entry;
    if (v.number == std::floor(v.number) && std::abs(v.number) < 0x1p53)
      entry["value"] = static_cast<int64_t>(v.number);
    else
      entry["value"] = v.number;
    if (!v.unit.empty())
      entry["unit"] = v.unit;
    entry["origin"] = originName(v.origin);
    entry["source"] = v.source;
    values[key] = std::move(entry);
  }
  Json sets = Json::array();
  for (const ActivationSet &s : t.activationSets)
    sets.push_back({{"name", s.name}, {"functions", s.functions}, {"origin", originName(s.origin)}, {"source", s.source}});
  return {{"name", t.name}, {"summary", t.summary}, {"values", values}, {"activation_sets", sets}};
}

std::string targetJson(const Target &t) { return toJson(t).dump(1) + "\n"; }

std::string targetsJson() {
  Json all = Json::array();
  for (const std::string &name : builtinTargets())
    all.push_back(toJson(*loadTarget(name)));
  return Json{{"targets", all}}.dump(1) + "\n";
}

} // namespace glia
