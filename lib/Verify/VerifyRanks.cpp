#include "glia/Verify/VerifyRanks.h"
#include "glia/Program/RankContract.h"
#include "glia/Program/TensorParts.h"

#include <algorithm>

namespace glia {

VerifyResult verifyRanks(const Program &p, const VerifyOptions &options) {
  VerifyResult out;
  try {
    callerTensors(p); // what the contract says of ranks and of parts of tensors
    out = verify(p, options);
  } catch (const Error &e) {
    out.diagnostics = e.diagnostics();
    return out;
  }
  const std::string input = rankInputOf(p);
  const auto named = [&](const Tensor &t) { return t.kind == TensorKind::Input && t.name == input; };
  if (out.ok() || input.empty() || std::none_of(p.tensors.begin(), p.tensors.end(), named))
    return out;
  Program one = p;
  Tensor &number = *std::find_if(one.tensors.begin(), one.tensors.end(), named);
  number.hasRange = true;
  for (int r = 0; r < ranksOf(p); ++r) {
    number.rangeLo = number.rangeHi = r;
    VerifyResult v = verify(one, options);
    for (Diagnostic &d : v.diagnostics)
      d.notes.push_back("on rank " + std::to_string(r));
    if (!v.ok())
      return v;
    if (r > 0)
      for (size_t i = 0; i < std::min(v.dynamicAccesses.size(), out.dynamicAccesses.size()); ++i)
        if (v.dynamicAccesses[i].proof < out.dynamicAccesses[i].proof) // the least certain of all ranks
          v.dynamicAccesses[i] = out.dynamicAccesses[i];
    out = std::move(v);
  }
  return out;
}

} // namespace glia
