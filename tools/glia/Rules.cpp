#include "Tool.h"
#include "glia/Runtime/Docs.h"
#include "glia/Verify/RuleBook.h"

namespace glia::tool {

void addRules(CLI::App &app, Tool &tool) {
  auto json = std::make_shared<bool>(false);
  CLI::App *c = app.add_subcommand("rules", "Lists the rules a program must obey");
  c->add_flag("--json", *json, "The whole rule book as JSON");
  c->footer("Example: glia rules --json");
  c->callback([json, &tool] {
    tool.command = [json] {
      std::string out;
      for (const Rule &r : allRules())
        out += format("%-24s %s\n", r.id.c_str(), r.sentence.c_str());
      write(*json ? rulesJson() + "\n" : out);
      return 0;
    };
  });
}

} // namespace glia::tool
