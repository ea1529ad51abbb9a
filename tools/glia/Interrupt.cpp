#include "Interrupt.h"

#include <csignal>

namespace glia::tool {

static volatile std::sig_atomic_t caught = 0;
static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
static struct sigaction before[3];

Interrupts::Interrupts() {
  struct sigaction action{};
  action.sa_handler = [](int signal) { caught = signal; };
  for (int i = 0; i < 3; ++i)
    sigaction(kSignals[i], &action, &before[i]);
}

Interrupts::~Interrupts() {
  for (int i = 0; i < 3; ++i)
    sigaction(kSignals[i], &before[i], nullptr);
}

bool interrupted() { return caught != 0; }
int interruptedBy() { return caught; }

} // namespace glia::tool
