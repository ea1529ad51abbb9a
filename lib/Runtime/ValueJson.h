// Values with their origins as JSON, for targets and topologies.
#pragma once
#include "glia/Target/OriginName.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace glia::docs {

inline nlohmann::ordered_json valuesJson(const std::map<std::string, TargetValue, std::less<>> &values) {
  auto all = nlohmann::ordered_json::object();
  for (const auto &[key, v] : values) {
    nlohmann::ordered_json entry;
    if (v.number == std::floor(v.number) && std::abs(v.number) < 0x1p53)
      entry["value"] = static_cast<int64_t>(v.number);
    else
      entry["value"] = v.number;
    if (!v.unit.empty())
      entry["unit"] = v.unit;
    entry["origin"] = originName(v.origin);
    entry["source"] = v.source;
    all[key] = std::move(entry);
  }
  return all;
}

} // namespace glia::docs
