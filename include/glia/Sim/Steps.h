// How long a run may be if nobody says otherwise. Nothing proves that a `while` ends (docs/ordering.md, L8).
#pragma once
#include <cstdint>
#include <string_view>

namespace glia {

constexpr uint64_t kDefaultMaxSteps = 100'000'000;                                  // of the command and of Python
constexpr uint64_t stepLimit(uint64_t given) { return given ? given : UINT64_MAX; } // 0: none
constexpr std::string_view kStepsAdvice =
    "Look for a loop that runs longer than it should, or raise the limit: --max-steps N (0: none), in Python max_steps= or "
    "GLIA_MAX_STEPS.";

} // namespace glia
