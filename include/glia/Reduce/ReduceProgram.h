// Makes a failing program smaller: instructions, loops, semaphores and declarations are left out as long as it fails in the same way.
#pragma once
#include "glia/Reduce/Outcome.h"
#include "glia/Reduce/Search.h"
#include "glia/Target/Target.h"

#include <memory>

namespace glia::reduce {

// `search` begins with a program as text. `target`: instead of the text's own; may be null. With `keepOrder`, what is left keeps its order:
// an instruction that is gone hands its waits and updates on.
void reduceProgram(Search &search, const std::shared_ptr<const Target> &target, bool keepOrder = true);
Size sizeOfProgram(const std::string &text, const std::shared_ptr<const Target> &target); // instructions

// What the verifier says.
Outcome judgeProgram(const std::string &text, const std::shared_ptr<const Target> &target);

} // namespace glia::reduce
