// What a call answers when it does not do what was asked.
#pragma once
#include "PjrtAbi.h"
#include "glia/Support/Diagnostic.h"

#include <stdexcept>
#include <string>

namespace glia::pjrt {

struct Failure : std::runtime_error { // thrown inside, handed to the framework outside
  Failure(Code code, const std::string &message) : std::runtime_error(message), code(code) {}
  Code code;
};

// A failure of this door's own, in the form that all of glia's errors have.
Failure failure(Code code, std::string name, std::string message, std::string advice = {});

// The exception that is being handled, whatever it is. To be called in a catch block.
Failure currentFailure();

} // namespace glia::pjrt
