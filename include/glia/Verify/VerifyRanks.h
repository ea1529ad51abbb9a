// Proving a program that several ranks run.
#pragma once
#include "glia/Verify/Verify.h"

namespace glia {

// `verify`, and that the contract says of ranks and of the parts of tensors what can be. What is not certain as long as the number of the rank may be any, such as that every part of an output is written somewhere, is proved
// for each rank by itself: the machine gives rank r the number r and nothing else. Diagnostics say of which rank they are.
VerifyResult verifyRanks(const Program &p, const VerifyOptions &options = {});

} // namespace glia
