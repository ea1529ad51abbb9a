// Which build of the plugin this is: executables that another one made are not taken for its own.
#pragma once
#include <string>

namespace glia::pjrt {

std::string buildId(); // hexadecimal; changes with any byte of code

} // namespace glia::pjrt
