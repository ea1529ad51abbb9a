// What the proofs of a program that several ranks run have in common, with a certificate and without.
#pragma once
#include "glia/Verify/Verify.h"

#include <functional>

namespace glia {

// What is wrong with what the contract says of ranks and of parts of tensors; empty: nothing.
std::vector<Diagnostic> checkContract(const Program &p);

// Whether the program asks for the number of its rank, which then is not any number.
bool asksForRank(const Program &p);

// Proves the program for each rank by itself: `prove` gets the program with that number as the only one its input can hold. Ends with
// the first rank of which something is wrong.
VerifyResult proveEachRank(const Program &p, const std::function<VerifyResult(const Program &)> &prove);

} // namespace glia
