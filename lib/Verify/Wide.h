// Sums and products of numbers from outside: computed wide, and stopped at a limit far above every real address.
#pragma once
#include <cstdint>

namespace glia {

using Wide = __int128;
inline constexpr int64_t kFar = int64_t{1} << 60;
inline int64_t clampFar(Wide v) { return v > kFar ? kFar : v < -kFar ? -kFar : static_cast<int64_t>(v); }

} // namespace glia
