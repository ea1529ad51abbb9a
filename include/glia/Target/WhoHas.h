// Which built-in targets have a feature, for messages about one that lacks it.
#pragma once
#include <string>
#include <string_view>

namespace glia {

// "; trn2, trn3 have it", or nothing if no built-in target has it.
std::string whoHas(std::string_view feature);

} // namespace glia
