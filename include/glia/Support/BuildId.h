// Which build of the program or library this is: what another one made is not taken for its own.
#pragma once
#include <string>

namespace glia {

std::string buildId(); // hexadecimal; changes with any byte of code. Empty: the linker made none

} // namespace glia
