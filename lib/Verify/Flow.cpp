// The whole-program part of the verifier.
#include "glia/Verify/Flow.h"
#include "Walk.h"

namespace glia {

using flow::Walk;
using Mode = Walk::Mode;

void checkFlow(const Program &p, const VerifyOptions &options, Reporter &reporter, VerifyResult &result,
               std::vector<std::byte> *hints) {
  VerifyOptions one = options;
  one.maxDiagnostics = 1;
  VerifyResult found;
  flow::HintWriter said;
  flow::Layouts layouts = hints ? flow::chooseLayouts(p) : flow::Layouts{};
  auto walk = [&](Mode mode, Reporter &to) {
    found = result;
    said.bytes.clear();
    said.put(static_cast<int64_t>(mode));
    writeLayouts(said, layouts);
    Walk w(p, options, to, found, mode, {hints ? &said : nullptr, nullptr, layouts});
    w.run();
    return w;
  };
  auto take = [&] {
    result = std::move(found);
    if (hints)
      *hints = std::move(said.bytes);
  };
  // Most programs are proved by a walk that takes strided reads coarsely, which is much faster where tiles are read in many ways.
  Reporter trial(p, one);
  if (const Walk coarse = walk(Mode::Coarse, trial); !trial.broken() && !coarse.lessThanExact())
    return take();
  layouts.clear(); // they are worth it where strided accesses are many, and what is reported is about bytes
  const Walk exact = walk(Mode::Exact, reporter);
  if (reporter.broken() && exact.joinedWays()) {
    VerifyResult together = std::move(found);
    Reporter apart(p, one);
    walk(Mode::WaysApart, apart);
    if (apart.broken())
      found = std::move(together);
    else
      reporter.forget();
  }
  take();
}

void checkFlowWith(const Program &p, std::span<const std::byte> hints, const VerifyOptions &options, Reporter &reporter,
                   VerifyResult &result) {
  flow::HintReader in(hints);
  const Mode mode = in.get<Mode>(0, static_cast<int64_t>(Mode::WaysApart));
  flow::Layouts layouts = readLayouts(in, p);
  Walk(p, options, reporter, result, mode, {nullptr, &in, std::move(layouts)}).run();
  if (!reporter.broken() && !in.atEnd())
    in.fail("says more than the program has loops for");
}

} // namespace glia
