#include "DebugPrompt.h"
#include "glia/Support/File.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <unistd.h>

namespace glia::tool {

static std::atomic<bool> pressed = false; // Ctrl-C

bool interruptPressed() { return pressed.exchange(false); }

void catchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int) { pressed = true; }; // no SA_RESTART: reading a command ends, too
  ::sigaction(SIGINT, &action, nullptr);
}

Prompt::Prompt(std::string text, const std::string &script) : typed(script.empty() && ::isatty(0)), text(std::move(text)) {
  if (script.empty())
    return;
  const FileBytes f = readFile(script);
  file.emplace(std::string(f.text()));
}

bool Prompt::read(std::string &line) {
  for (;;) {
    if (typed)
      write(text);
    if (!next(line))
      return false;
    line.erase(line.find_last_not_of(" \t\r\n") + 1);
    line.erase(0, line.find_first_not_of(" \t"));
    if (typed && line.empty())
      line = last; // Enter: the same again
    if (line.empty() || line[0] == '#')
      continue;
    last = line;
    if (!typed)
      write(text + line + "\n");
    return true;
  }
}

bool Prompt::next(std::string &line) {
  if (file)
    return static_cast<bool>(std::getline(*file, line));
  line.clear();
  for (;;) {
    const int c = std::getchar();
    if (c == '\n')
      return true;
    if (c != EOF) {
      line += static_cast<char>(c);
      continue;
    }
    if (pressed.exchange(false)) { // Ctrl-C at the prompt: a new line
      std::clearerr(stdin);
      write("\n" + text);
      line.clear();
      continue;
    }
    if (typed)
      write("\n");
    return !line.empty();
  }
}

} // namespace glia::tool
