// Ctrl-C during a search ends the search, not the tool: what was found is still told.
#pragma once

namespace glia::tool {

class Interrupts { // as long as it lives
public:
  Interrupts();
  ~Interrupts();
};

bool interrupted();
int interruptedBy(); // the signal; 0: none

} // namespace glia::tool
