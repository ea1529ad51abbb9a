#include "glia/Verify/VerifyRanks.h"
#include "EachRank.h"
#include "glia/Program/RankContract.h"
#include "glia/Program/TensorParts.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace glia {

static auto isRankInput(const Program &p) {
  return [name = rankInputOf(p)](const Tensor &t) { return !name.empty() && t.kind == TensorKind::Input && t.name == name; };
}

std::vector<Diagnostic> checkContract(const Program &p) {
  try {
    callerTensors(p);
    return {};
  } catch (const Error &e) {
    return e.diagnostics();
  }
}

bool asksForRank(const Program &p) { return std::any_of(p.tensors.begin(), p.tensors.end(), isRankInput(p)); }

VerifyResult proveEachRank(const Program &p, const std::function<VerifyResult(const Program &)> &prove) {
  Program one = p;
  Tensor &number = *std::find_if(one.tensors.begin(), one.tensors.end(), isRankInput(p));
  number.hasRange = true;
  VerifyResult out;
  std::map<std::tuple<int, Engine, uint32_t, int>, DynamicAccess> accesses;
  for (int r = 0; r < ranksOf(p); ++r) {
    number.rangeLo = number.rangeHi = r;
    VerifyResult v = prove(one);
    for (Diagnostic &d : v.diagnostics)
      d.notes.push_back("on rank " + std::to_string(r));
    if (!v.ok())
      return v;
    for (DynamicAccess &a :
         v.dynamicAccesses) { // the least certain of all ranks; a branch can keep some of them from an access
      const auto [it, fresh] = accesses.try_emplace({a.core, a.engine, a.index, a.slot}, std::move(a));
      if (!fresh && it->second.proof < a.proof)
        it->second = std::move(a);
    }
    out = std::move(v);
  }
  out.dynamicAccesses.clear();
  for (auto &[where, access] : accesses)
    out.dynamicAccesses.push_back(std::move(access));
  return out;
}

VerifyResult verifyRanks(const Program &p, const VerifyOptions &options) {
  VerifyResult out;
  out.diagnostics = checkContract(p);
  if (!out.ok())
    return out;
  out = verify(p, options);
  if (out.ok() || !asksForRank(p))
    return out;
  return proveEachRank(p, [&](const Program &one) { return verify(one, options); });
}

} // namespace glia
