#include "glia/Support/Checkpoint.h"
#include "glia/Sim/Simulator.h"

namespace glia {

static thread_local const std::function<bool()> *question = nullptr;

Watched::Watched(std::function<bool()> stop) : stop(std::move(stop)), before(question) { question = &this->stop; }

Watched::~Watched() { question = before; }

void checkpoint() {
  if (question && (*question)())
    throw Interrupted();
}

} // namespace glia
