#include "Tool.h"
#include "glia/Runtime/Docs.h"
#include "glia/Verify/RuleBook.h"

namespace glia::tool {

void addRules(Command app, Tool &tool) {
  struct Options {
    bool json = false, markdown = false;
  };
  auto o = std::make_shared<Options>();
  Command c = app.command("rules", "Lists the rules a program must obey");
  Option json = c.flag("--json", o->json, "The whole rule book as JSON");
  c.flag("--markdown", o->markdown, "The page docs/rules.md").excludes(json);
  c.footer("Example: glia rules --json");
  c.callback([o, &tool] {
    tool.command = [o] {
      std::string out;
      for (const Rule &r : allRules())
        out += format("%-24s %s\n", r.id.c_str(), r.sentence.c_str());
      write(o->json ? rulesJson() + "\n" : o->markdown ? rulesMarkdown() : out);
      return 0;
    };
  });
}

} // namespace glia::tool
