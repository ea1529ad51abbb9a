// What a kernel object uses and promises, in words a linker can add up.
#pragma once
#include "glia/Program/Program.h"

#include <string_view>
#include <vector>

namespace glia {

// kernel, target, cores; per core: memory, semaphores, queues, activation tables and which one it leaves resident; the features of the
// target that it needs ("needs.lnc2" -> the first instruction that does). One item per key.
std::vector<ContractItem> describeContract(const Program &p, std::string_view kernel);

// Gives the object its contract, and symbols for what is bound when it is linked.
void addContract(Program &p, std::string_view kernel);

} // namespace glia
