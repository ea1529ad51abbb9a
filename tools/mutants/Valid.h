// glia-mutants --valid N: generated programs must verify, run the same in every order, and survive being written down.
#pragma once
#include <cstdint>

namespace glia::mutants {

// Prints what is wrong with each program that fails and a summary; returns the exit status.
int checkValid(int programs, uint64_t seed);

} // namespace glia::mutants
