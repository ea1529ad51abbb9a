// A compiled program under a debugger: strict mode step by step, in an order that the seed or a schedule chooses, with breakpoints,
// values, and the way back. docs/debug.md says what each command does.
#pragma once
#include "glia/Sim/Simulator.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace glia {

class Debugger {
public:
  using Write = std::function<void(std::string_view)>;
  // `p` and what `options` point to outlive it. Throws Error RUN-INPUT as `run` does, and RANK-COUNT for a program of several ranks.
  // `options.stop` is asked while commands run: true brings back the prompt.
  Debugger(const Program &p, TensorData inputs, const RunOptions &options, Write write);
  ~Debugger();
  // Does a command. False: it was `quit`. Throws Error DEBUG-COMMAND, DEBUG-PLACE or DEBUG-VALUE.
  bool command(std::string_view text);
  void greet(); // where it stands

private:
  class State;
  std::unique_ptr<State> state;
};

} // namespace glia
