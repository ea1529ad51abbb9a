#include "Tool.h"
#include "glia/Runtime/Docs.h"

namespace glia::tool {

void addExplain(CLI::App &app, Tool &tool) {
  auto id = std::make_shared<std::string>();
  CLI::App *c =
      app.add_subcommand("explain", "Explains a rule: its source, advice, a program that breaks it and one that does not");
  c->add_option("rule", *id, "The rule, as errors name it")->required();
  c->footer("Example: glia explain PARTITION-START");
  c->callback([id, &tool] {
    tool.command = [id] {
      const std::string text = explainRule(*id);
      write(text.ends_with('\n') ? text : text + "\n");
      return 0;
    };
  });
}

} // namespace glia::tool
