#include "glia/Profile/Profile.h"
#include "glia/Profile/WhatIf.h"
#include "glia/Support/Text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace glia {

static std::string against(double before, const Elsewhere &x, const std::string &never) {
  if (!x.refused.empty())
    return never + x.refused[0].message + " (" + x.refused[0].code + ")\n";
  if (x.total == before)
    return timeText(before) + " as before\n";
  const double least = 1e-3; // ns
  return format("%s instead of %s, %.2fx %s\n", timeText(x.total).c_str(), timeText(before).c_str(),
                x.total < before ? before / std::max(x.total, least) : x.total / std::max(before, least),
                x.total < before ? "faster" : "slower");
}

std::string whatIfText(const WhatIf &x) {
  return "as it is         " + against(x.before, x.same, "cannot run there: ") + "compiled for it  " +
         (x.compiled ? against(x.before, *x.compiled, "cannot be: ")
                     : "not known: a program is not compiled again; profile its graph or kernel to see\n");
}

std::string whatIfJson(const WhatIf &x, const std::string &changes) {
  nlohmann::ordered_json j = {{"what_if", changes}, {"total_ns", x.before}};
  const auto put = [&](const std::string &key, const Elsewhere &e) {
    if (e.refused.empty())
      j[key + "_ns"] = e.total;
    else
      j[key + "_refused"] = e.refused[0].code;
  };
  put("then", x.same);
  if (x.compiled)
    put("compiled", *x.compiled);
  return j.dump(2) + "\n";
}

std::string sensitivityText(const std::vector<Sensitivity> &all, double total) {
  auto cell = [&](double ns) { return ns > 0 ? format("%+.1f %%", 100 * (ns - total) / total) : std::string("-"); };
  std::string out = timeText(total) + "; how much longer it takes with half and with twice of\n";
  out += format("  %-34s %14s %10s %10s\n", "", "", "half", "twice");
  for (const Sensitivity &s : all)
    out += format("  %-34s %14s %10s %10s\n", s.key.c_str(), format("%g %s", s.value, s.unit.c_str()).c_str(),
                  cell(s.half).c_str(), cell(s.twice).c_str());
  return out;
}

std::string sensitivityJson(const std::vector<Sensitivity> &all, double total) {
  nlohmann::ordered_json j = {{"total_ns", total}, {"sensitivities", nlohmann::ordered_json::array()}};
  for (const Sensitivity &s : all)
    j["sensitivities"].push_back(
        {{"key", s.key}, {"value", s.value}, {"unit", s.unit}, {"half_ns", s.half}, {"twice_ns", s.twice}});
  return j.dump(2) + "\n";
}

} // namespace glia
