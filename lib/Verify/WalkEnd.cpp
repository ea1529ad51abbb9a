// After the walk: what was not written.
#include "Walk.h"

#include <algorithm>

namespace glia::flow {

void Walk::checkOutputs() {
  settleOutputs();
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor &tensor = program.tensors[t];
    if (tensor.kind != TensorKind::Output)
      continue;
    int64_t good = 0, firstBad = -1;
    int64_t at = 0;
    state.hbm[t][0]->forEach([&](int64_t lo, int64_t hi, const Cell &c) {
      if (lo > at && firstBad < 0)
        firstBad = at;
      at = std::max(at, hi);
      if (c.defined)
        good += hi - lo;
      else if (firstBad < 0)
        firstBad = lo;
    });
    if (good == tensor.bytes())
      continue;
    if (firstBad < 0)
      firstBad = at;
    reporter.failProgram("OUTPUT-UNWRITTEN",
                         format("%lld of the %lld bytes of output `%s` are not certain to be written with defined values, "
                                "the first at byte %lld",
                                (long long)(tensor.bytes() - good), (long long)tensor.bytes(), tensor.name.c_str(),
                                (long long)firstBad),
                         std::to_string(good), std::to_string(tensor.bytes()));
  }
}

} // namespace glia::flow
