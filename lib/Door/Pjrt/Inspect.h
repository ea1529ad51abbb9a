// What a user may want to see of a call: the comparison with the reference, the predicted time, a page about it.
#pragma once
#include "Compiled.h"

namespace glia::pjrt {

// As the settings ask for; before the program runs. Throws Error when the comparison fails or a page cannot be written.
void inspect(const Compiled &c, const TensorViews &inputs, const Settings &settings, const std::string &device);

} // namespace glia::pjrt
