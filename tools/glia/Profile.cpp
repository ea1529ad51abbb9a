#include "glia/Runtime/Profile.h"
#include "Data.h"
#include "Tool.h"
#include "glia/Sim/Steps.h"
#include "glia/Sim/Timing.h"
#include "glia/Support/File.h"

namespace glia::tool {

void addProfile(CLI::App &app, Tool &tool) {
  struct Options {
    std::string file, target, trace, html;
    std::vector<std::string> inputs;
    uint64_t maxSteps = kDefaultMaxSteps;
    bool json = false, noVerify = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App *c = app.add_subcommand("profile", "Predicts how long a program takes and where the time goes");
  c->add_option("file", o->file, "The program (.glia or .gasm)")->required();
  c->add_option("--input", o->inputs, "name=file.npy or a .npz file; needed only where control flow depends on data")
      ->allow_extra_args(false);
  c->add_option("--target", o->target, "Time it on this target instead of the program's own");
  c->add_option("--trace", o->trace, "Write a Perfetto trace (.pftrace)");
  c->add_option("--html", o->html, "Write a page with a zoomable timeline");
  c->add_option("--max-steps", o->maxSteps, "Stop after so many instructions; 100 million if not given, 0: never");
  c->add_flag("--json", o->json, "The summary as JSON");
  c->add_flag("--no-verify", o->noVerify, "Do not verify first");
  c->footer("Example: glia profile softmax.glia --trace softmax.pftrace --html softmax.html");
  c->callback([o, &tool] {
    tool.command = [o, &tool] {
      const Program p = loadProgram(o->file, o->target);
      const TensorData inputs = readInputs(p, o->inputs);
      if (!o->noVerify && !verified(tool, p))
        return 1;
      TimingResult r;
      {
        Progress progress("timing " + grouped(p.instructionCount()) + " instructions");
        TimingOptions options;
        options.inputs = o->inputs.empty() ? nullptr : &inputs;
        options.maxSteps = stepLimit(o->maxSteps);
        options.timeline = !o->trace.empty() || !o->html.empty();
        r = simulateTime(p, options);
      }
      if (!o->trace.empty())
        writeFile(o->trace, profilePerfetto(p, r));
      if (!o->html.empty())
        writeFile(o->html, profileHtml(p, r));
      write(o->json ? profileJson(p, r) + "\n" : profileText(p, r));
      return 0;
    };
  });
}

} // namespace glia::tool
