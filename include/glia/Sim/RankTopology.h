// Which topology the ranks of a program lie on, for its time.
#pragma once
#include "glia/Program/Decode.h"
#include "glia/Program/Program.h"
#include "glia/Target/CollectiveCost.h"
#include "glia/Target/Topology.h"

namespace glia {

// What the program's contract says ("topology": the text of a file, or a name), else one that carries its target's cores, with as many instances as its ranks need.
// Throws Error TOPOLOGY-OPTION if the ranks do not fit.
std::shared_ptr<const Topology> topologyOf(const Program &p);

// How long a collective of the program takes there that moves `bytes`, when nothing else happens.
CollectiveTime exchangeTime(const Program &p, const Decoded &d, int64_t bytes);

} // namespace glia
