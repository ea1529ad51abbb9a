// What a program says of the ranks that run it.
#pragma once
#include "glia/ISA/Collective.h"
#include "glia/Program/Decode.h"

namespace glia {

// Keys of the contract; where the parts of tensors lie is in TensorParts.h.
inline constexpr std::string_view kRanksKey = "ranks", kRankInputKey = "rank.input", kTopologyKey = "topology";

// The number of ranks that a program is for; without a contract as many as its collectives say. Throws Error RANK-COUNT.
int ranksOf(const Program &p);
// The name of the input that holds the number of the rank; empty if the program does not ask for it.
std::string rankInputOf(const Program &p);

Collective collectiveOf(const Program &p, const Decoded &d);

} // namespace glia
