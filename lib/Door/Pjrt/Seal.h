// Seals on executables that this user's own build of the platform has proved, so that they need not be proved again when they are read
// back: a code that only who has the user's key can make (docs/jax.md, What is trusted). It covers every byte.
#pragma once
#include <string>
#include <string_view>

namespace glia::pjrt {

// Empty where the user has no key and none can be made. The caller has proved what it seals.
std::string sealOf(std::string_view bytes);

bool isSealed(std::string_view bytes, std::string_view seal); // by this user and this build

} // namespace glia::pjrt
