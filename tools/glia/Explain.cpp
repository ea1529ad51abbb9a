#include "Tool.h"
#include "glia/Runtime/Docs.h"

namespace glia::tool {

void addExplain(Command app, Tool &tool) {
  struct Options {
    std::string code;
    bool markdown = false;
  };
  auto o = std::make_shared<Options>();
  Command c = app.command("explain", "Explains an error: what it means and what to do; of a rule, its source, a program "
                                     "that breaks it and one that does not");
  Option code = c.option("code", o->code, "The code, as errors show it; without it all are listed");
  c.flag("--markdown", o->markdown, "The page docs/errors.md").excludes(code);
  c.footer("Example: glia explain PARTITION-START");
  c.callback([o, &tool] {
    tool.command = [o] {
      const std::string text = o->markdown ? errorsMarkdown() : o->code.empty() ? explainable() : explain(o->code);
      write(text.ends_with('\n') ? text : text + "\n");
      return 0;
    };
  });
}

} // namespace glia::tool
