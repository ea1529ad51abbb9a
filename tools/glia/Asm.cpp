#include "Tool.h"
#include "glia/Program/Assembler.h"
#include "glia/Program/Container.h"
#include "glia/Support/File.h"

namespace glia::tool {

void addAsm(Command app, Tool &tool) {
  struct Options {
    std::string file, target, output;
  };
  auto o = std::make_shared<Options>();
  Command c = app.command("asm", "Assembles a text into a program file");
  c.option("file", o->file, "The assembly text (.gasm)").required();
  c.option("--target", o->target, "Built-in target or target file; wins over the text's own");
  c.option("-o,--output", o->output, "The program file to write (.glia)").required();
  c.footer("Example: glia asm examples/softmax.gasm --target trn2 -o softmax.glia");
  c.callback([o, &tool] {
    tool.command = [o] {
      Progress progress("assembling");
      const FileBytes f = readFile(o->file);
      save(assemble(f.text(), o->file, o->target.empty() ? nullptr : loadTarget(o->target)), o->output);
      return 0;
    };
  });
}

} // namespace glia::tool
