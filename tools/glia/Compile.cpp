#include "Tool.h"
#include "glia/CodeGen/Compile.h"
#include "glia/Program/Container.h"
#include "glia/Support/File.h"
#include "glia/Target/Target.h"

namespace glia::tool {

void addCompile(CLI::App &app, Tool &tool) {
  struct Options {
    std::string file, target, output;
    CompileOptions compile;
  };
  auto o = std::make_shared<Options>();
  CLI::App *c = app.add_subcommand("compile", "Compiles a kernel into a program file");
  c->add_option("file", o->file, "The kernel IR (.nisa)")->required();
  c->add_option("--target", o->target, "Built-in target or target file; wins over the kernel's own");
  c->add_option("-o,--output", o->output, "The program file to write (.glia)")->required();
  c->add_option("--dump", o->compile.dump, "A folder for the IR after each stage");
  c->footer("Example: glia compile kernel.nisa --target trn1 -o kernel.glia --dump=stages");
  c->callback([o, &tool] {
    tool.command = [o] {
      Progress progress("compiling");
      const FileBytes f = readFile(o->file);
      nisa::Kernel k = nisa::parseKernel(f.text(), o->file);
      if (!o->target.empty()) {
        loadTarget(o->target); // a wrong name is found before any work
        k.op().setTarget(o->target);
      }
      if (std::vector<Diagnostic> bad = checkKernel(k); !bad.empty())
        throw Error(std::move(bad));
      save(compileKernel(k, o->compile), o->output);
      return 0;
    };
  });
}

} // namespace glia::tool
