// Text that several generated pages need.
#pragma once
#include <string>

namespace glia::docs {

std::string shortened(const std::string &program); // programs that only repeat a declaration are cut in the middle
std::string cell(std::string text);                // of a Markdown table

} // namespace glia::docs
