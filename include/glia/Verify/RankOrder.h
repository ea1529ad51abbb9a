// Whether ranks that run different programs come to their end together (docs/ordering.md, R2). Ranks of one program do, by the rules that every program obeys.
#pragma once
#include "glia/Program/Program.h"
#include "glia/Support/Diagnostic.h"

#include <span>
#include <vector>

namespace glia {

// `byRank`: the program of each rank, each proved by itself; equal ones are one object. Empty: proved. Otherwise RANK-COUNT, RANK-MISMATCH or RANK-DEADLOCK, with
// the instructions of the ranks that do not fit. Throws Error RANK-LENGTH for programs that exchange more often than can be followed.
std::vector<Diagnostic> verifyTogether(std::span<const Program *const> byRank);

} // namespace glia
