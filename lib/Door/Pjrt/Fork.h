// A child process that was forked has the memory of its parent and none of its threads: what waits for one would wait for ever.
#pragma once

namespace glia::pjrt {

void watchForks();        // from now on
bool isForked();          // this process is such a child
void requireOwnProcess(); // throws Failure PJRT-FORK in such a child

} // namespace glia::pjrt
