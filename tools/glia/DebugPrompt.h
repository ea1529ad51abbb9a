// Where the commands of a debugger come from, and the session that does them.
#pragma once
#include "Tool.h"
#include "glia/Support/Diagnostic.h"

#include <optional>
#include <sstream>

namespace glia::tool {

// Commands from a person, from a file, or from what is piped in; the last two are shown as if they were typed.
class Prompt {
public:
  Prompt(std::string text, const std::string &script); // throws Error FILE-READ
  const bool typed;
  // False: there are no more.
  bool read(std::string &line);

private:
  const std::string text;
  std::optional<std::istringstream> file;
  std::string last;
  bool next(std::string &line);
};

// Whether Ctrl-C was pressed since it was asked last; in a session that ends what a command does, not the tool.
bool interruptPressed();
void catchInterrupts();

// The exit status.
template <class Debugger> int session(Debugger &debugger, Prompt &prompt) {
  bool failed = false;
  catchInterrupts();
  debugger.greet();
  for (std::string line; prompt.read(line);)
    try {
      if (!debugger.command(line))
        break;
    } catch (const Error &e) {
      failed = true;
      for (const Diagnostic &d : e.diagnostics())
        write(render(d) + "\n");
    }
  return failed && !prompt.typed ? 1 : 0;
}

} // namespace glia::tool
