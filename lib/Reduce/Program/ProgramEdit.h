// Single changes that make a program smaller. Each says whether there was anything to change.
#pragma once
#include "glia/Program/Parts.h"

namespace glia::reduce {

// Instructions `from` to `to` do nothing any more, but wait and signal as before. Those that control the flow stay.
bool silence(ProgramParts &p, size_t from, size_t to);

// Without an instruction that does nothing, and only waits or only signals: the one behind it waits, or the one before it signals.
bool dropNop(ProgramParts &p, size_t at);

// Without the updates of an instruction that does nothing, where others are enough for every wait.
bool dropUpdates(ProgramParts &p, size_t at);

bool dropLoop(ProgramParts &p, size_t at);   // its body once; of loops that run in step, all
bool repeatOnce(ProgramParts &p, size_t at); // likewise, as a loop of one iteration

// Updates that nothing waits for, and waits that always hold.
bool dropIdleSemaphores(ProgramParts &p);

// All waits for and updates of semaphores `from` to `to`: order is lost.
bool dropSemaphores(ProgramParts &p, size_t from, size_t to);

} // namespace glia::reduce
