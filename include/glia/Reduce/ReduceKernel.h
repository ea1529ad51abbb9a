// Makes a failing kernel smaller: instructions, loops, iterations and tensors are left out as long as it fails in the same way.
#pragma once
#include "glia/Reduce/Outcome.h"
#include "glia/Reduce/Search.h"

#include <cstdint>

namespace glia::reduce {

// `search` begins with a kernel as text.
void reduceKernel(Search &search);
Size sizeOfKernel(const std::string &text); // instructions and loops

// What is wrong with a kernel: compiled and verified, as by `glia compile`; or compared with its instructions one after the other, on random
// inputs. A kernel that reads what nothing wrote cannot be compared. `target`: instead of its own, if not empty.
Outcome judgeCompiledKernel(const std::string &text, const std::string &target);
Outcome judgeComparedKernel(const std::string &text, const std::string &target, uint64_t seed);

} // namespace glia::reduce
