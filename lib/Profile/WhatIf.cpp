#include "glia/Profile/WhatIf.h"

#include "glia/Program/Decode.h"
#include "glia/Verify/VerifyRanks.h"

#include <algorithm>
#include <cmath>

namespace glia {

namespace {

double timed(Program &p, const TimingOptions &options, const std::shared_ptr<const Target> &on) {
  p.target = on;
  TimingOptions o = options;
  o.timeline = o.stalls = false;
  return simulateTime(p, o).total;
}

// The same with one value multiplied; 0 if a target cannot have that value.
double timedWith(Program &p, const TimingOptions &options, const Target &base, const std::string &key, double factor) {
  std::shared_ptr<const Target> changed;
  try {
    changed = changeTarget(base, {{key, factor, true}});
  } catch (const Error &) {
    return 0;
  }
  return timed(p, options, changed);
}

double largest(const Sensitivity &s, double total) {
  return std::max(s.half > 0 ? std::abs(s.half - total) : 0, s.twice > 0 ? std::abs(s.twice - total) : 0);
}

} // namespace

Elsewhere timeIf(const Program &p, const TimingOptions &options, const std::vector<TargetChange> &changes) {
  Program copy = p;
  copy.target = changeTarget(*p.target, changes);
  Elsewhere out;
  try {
    checkStructure(copy);
    out.refused = verifyRanks(copy).diagnostics;
  } catch (const Error &e) {
    out.refused = e.diagnostics();
  }
  if (out.refused.empty())
    out.total = timed(copy, options, copy.target);
  return out;
}

std::vector<Sensitivity> sensitivities(const Program &p, const TimingOptions &options, double total) {
  Program copy = p;
  std::vector<Sensitivity> out;
  for (const auto &[key, value] : p.target->values) {
    if (value.number == 0 || key.starts_with("feature."))
      continue;
    Sensitivity s = {key, value.number, value.unit, timedWith(copy, options, *p.target, key, 0.5),
                     timedWith(copy, options, *p.target, key, 2)};
    if (largest(s, total) > 1e-6 * total)
      out.push_back(std::move(s));
  }
  std::sort(out.begin(), out.end(), [&](const Sensitivity &a, const Sensitivity &b) {
    const double x = largest(a, total), y = largest(b, total);
    return x != y ? x > y : a.key < b.key;
  });
  return out;
}

} // namespace glia
