// What the commands share. Each command is one file with one function that adds it to the application.
#pragma once
#include "CommandLine.h"
#include "glia/Program/Program.h"
#include "glia/Support/Diagnostic.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace glia {
struct FileBytes;
}

namespace glia::tool {

struct Tool {
  bool jsonDiagnostics = false;
  std::function<int()> command; // set by the parsed command; its result is the exit status
};

void addAsm(Command app, Tool &tool);
void addDis(Command app, Tool &tool);
void addVerify(Command app, Tool &tool);
void addRun(Command app, Tool &tool);
void addDebug(Command app, Tool &tool);
void addProfile(Command app, Tool &tool);
void addDiff(Command app, Tool &tool);
void addBound(Command app, Tool &tool);
void addRules(Command app, Tool &tool);
void addExplain(Command app, Tool &tool);
void addTargets(Command app, Tool &tool);
void addTopologies(Command app, Tool &tool);
void addCache(Command app, Tool &tool);
void addDevices(Command app, Tool &tool);
void addIsa(Command app, Tool &tool);
void addCompletion(Command app, Tool &tool);
void addReduce(Command app, Tool &tool);
void addCompile(Command app, Tool &tool);   // only with the compiler
void addInterpret(Command app, Tool &tool); // likewise
void addCheck(Command app, Tool &tool);     // likewise

// A program file or an assembly text; `target` (may be empty) overrides the one in it.
Program loadProgram(const std::string &path, const std::string &target);
void print(const Tool &tool, const std::vector<Diagnostic> &diagnostics); // on stderr, as text or JSON
std::string asText(const nlohmann::ordered_json &j);
void write(std::string_view text); // to stdout; throws Error FILE-WRITE
// A folder that is not there is found before the work, not after it. Throws Error FILE-WRITE.
void checkFolder(const std::string &output);
std::string grouped(uint64_t n); // 1,234,567

// Verifies, prints what is wrong; true if the program is proved.
bool verified(const Tool &tool, const Program &p, bool requireProved = false);

// "what: 3 s" on stderr for anything over two seconds, when stderr is a terminal.
class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();
  void say(std::string what); // what is going on now

private:
  std::string what;
  std::mutex lock;
  std::condition_variable wake;
  bool stop = false;
  std::thread thread;
};

} // namespace glia::tool
