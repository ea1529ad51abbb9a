#include "Tool.h"
#include "glia/Program/Assembler.h"
#include "glia/Support/File.h"

namespace glia::tool {

void addDis(Command app, Tool &tool) {
  struct Options {
    std::string file, output;
  };
  auto o = std::make_shared<Options>();
  Command c = app.command("dis", "Prints a program as assembly text; `glia asm` makes the same file of it again");
  c.option("file", o->file, "The program (.glia or .gasm)").required();
  c.option("-o,--output", o->output, "Write to this file instead of standard output");
  c.footer("Example: glia dis softmax.glia -o softmax.gasm");
  c.callback([o, &tool] {
    tool.command = [o] {
      const std::string text = disassemble(loadProgram(o->file, ""));
      o->output.empty() ? write(text) : writeFile(o->output, text);
      return 0;
    };
  });
}

} // namespace glia::tool
