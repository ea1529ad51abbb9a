// The command line. Wrong usage ends with status 2, everything else that is wrong with status 1, on stderr.
#include "Tool.h"

#include <new>

using namespace glia;
using namespace glia::tool;

int main(int argc, char **argv) {
  Tool tool;
  CommandLine line("glia: verifies, runs and times programs for Trainium NeuronCores.", "glia", "glia " GLIA_VERSION);
  Command app = line.all();
  std::string form = "text";
  app.option("--diagnostics", form, "How errors are printed on stderr: text or json").oneOf({"text", "json"});
  app.footer("Example: glia asm examples/softmax.gasm --target trn2 -o softmax.glia && glia verify softmax.glia");
  for (auto add : {addAsm, addDis, addVerify, addRun, addDebug, addProfile, addDiff, addBound, addRules, addExplain,
                   addTargets, addTopologies, addDevices, addCache, addIsa, addReduce, addCompletion})
    add(app, tool);
#ifdef GLIA_COMPILER
  addCompile(app, tool);
  addInterpret(app, tool);
  addCheck(app, tool);
#endif
  if (const std::optional<int> status = line.read(argc, argv))
    return *status;
  tool.jsonDiagnostics = form == "json";
  try {
    return tool.command();
  } catch (const Error &e) {
    print(tool, e.diagnostics());
  } catch (const std::bad_alloc &) {
    print(tool, Error("MEMORY", "there is not enough memory for this program").diagnostics());
  } catch (const std::exception &e) {
    print(tool, Error("INTERNAL", e.what(), "This is a bug in glia; please report it with the command and its files.")
                    .diagnostics());
  }
  return 1;
}
