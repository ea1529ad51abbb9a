// A graph under a debugger: its sequential meaning, which is that of the interpreter, operation by operation, with breakpoints, values, and
// the way back. docs/debug.md says what each command does.
#pragma once
#include "glia/Interpret/Interpret.h"
#include "glia/Sim/Simulator.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace glia {

class GraphDebugger {
public:
  using Write = std::function<void(std::string_view)>;
  // The module outlives it. `stop` is asked while commands run: true brings back the prompt. Throws Error GRAPH-FUNCTION or
  // GRAPH-ARGUMENT.
  GraphDebugger(mlir::ModuleOp module, std::string function, std::vector<HostTensor> arguments,
                decltype(InterpretOptions::onCustomCall) onCustomCall, StopQuestion stop, Write write);
  ~GraphDebugger();
  // Does a command. False: it was `quit`. Throws Error DEBUG-COMMAND, DEBUG-PLACE or DEBUG-VALUE.
  bool command(std::string_view text);
  void greet(); // where it stands

private:
  class State;
  std::unique_ptr<State> state;
};

} // namespace glia
