// The command line. Wrong usage ends with status 2, everything else that is wrong with status 1, on stderr.
#include "Tool.h"
#include "glia/Support/Text.h"

#include <algorithm>
#include <iostream>
#include <new>

using namespace glia;
using namespace glia::tool;

// What is wrong with the first word, if that is no command; else empty.
static std::string unknownCommand(const CLI::App &app, std::string_view given) {
  std::vector<std::string> names;
  for (const CLI::App *c : app.get_subcommands({}))
    names.push_back(c->get_name());
  if (given.starts_with("-") || std::find(names.begin(), names.end(), given) != names.end())
    return {};
  return "glia has no command `" + printable(given) + "`. " +
         didYouMean(given, {names.begin(), names.end()}, "`glia --help` lists them.");
}

int main(int argc, char **argv) {
  Tool tool;
  CLI::App app{"glia: verifies, runs and times programs for Trainium NeuronCores.", "glia"};
  app.set_version_flag("--version", "glia " GLIA_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  std::string form = "text";
  app.add_option("--diagnostics", form, "How errors are printed on stderr: text or json")
      ->check(CLI::IsMember({"text", "json"}));
  app.footer("Example: glia asm examples/softmax.gasm --target trn2 -o softmax.glia && glia verify softmax.glia");
  for (auto add : {addAsm, addDis, addVerify, addRun, addDebug, addProfile, addDiff, addBound, addRules, addExplain,
                   addTargets, addTopologies, addDevices, addCache, addIsa, addReduce, addCompletion})
    add(app, tool);
#ifdef GLIA_COMPILER
  addCompile(app, tool);
  addInterpret(app, tool);
  addCheck(app, tool);
#endif
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    if (const std::string wrong = argc > 1 ? unknownCommand(app, argv[1]) : ""; !wrong.empty()) {
      std::cerr << wrong << "\n";
      return 2;
    }
    return app.exit(e) == 0 ? 0 : 2;
  }
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
