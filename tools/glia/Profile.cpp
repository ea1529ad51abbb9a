#include "glia/Profile/Profile.h"
#include "Data.h"
#include "Source.h"
#include "Tool.h"
#include "glia/Profile/WhatIf.h"
#include "glia/Sim/Steps.h"
#include "glia/Support/File.h"

namespace glia::tool {

namespace {

struct Options {
  Source source;
  std::string trace, html, whatIf;
  std::vector<std::string> inputs;
  uint64_t maxSteps = kDefaultMaxSteps;
  bool json = false, sensitivity = false, timeline = false;
};

WhatIf whatIf(const Options &o, const Program &p, const TimingOptions &options, double total) {
  WhatIf out = {total, timeIf(p, options, parseChanges(o.whatIf)), {}};
  if (!mustBeCompiled(o.source))
    return out;
  Source changed = o.source;
  changed.changes = o.whatIf;
  out.compiled.emplace();
  try {
    out.compiled->total = simulateTime(programOf(changed), options).total;
  } catch (const Error &e) {
    out.compiled->refused = e.diagnostics();
  }
  return out;
}

int profile(const Options &o, const Tool &tool) {
  const Program p = programOf(o.source);
  const TensorData inputs = readInputs(p, o.inputs);
  if (!mustBeCompiled(o.source) && o.source.prove && !verified(tool, p))
    return 1;
  TimingOptions options;
  options.inputs = o.inputs.empty() ? nullptr : &inputs;
  options.maxSteps = stepLimit(o.maxSteps);
  Progress progress("timing " + grouped(p.instructionCount()) + " instructions");
  if (!o.whatIf.empty() || o.sensitivity) {
    const double total = simulateTime(p, options).total;
    if (o.sensitivity) {
      const std::vector<Sensitivity> all = sensitivities(p, options, total);
      write(o.json ? sensitivityJson(all, total) : sensitivityText(all, total));
    } else {
      const WhatIf x = whatIf(o, p, options, total);
      write(o.json ? whatIfJson(x, o.whatIf) : whatIfText(x));
    }
    return 0;
  }
  options.timeline = true;
  const Profile x = profileOf(p, options);
  if (!o.trace.empty())
    writeFile(o.trace, profilePerfetto(p, x));
  if (!o.html.empty())
    writeFile(o.html, profileHtml(p, x));
  write(o.json ? profileJson(p, x) : profileText(p, x) + (o.timeline ? "\n" + timelineText(p, x) : ""));
  return 0;
}

} // namespace

void addProfile(Command app, Tool &tool) {
  auto o = std::make_shared<Options>();
  Command c = app.command("profile", "Predicts how long a program takes and where the time goes");
  c.option("file", o->source.file, "A program (.glia or .gasm), or a graph or the IR of a kernel (.nisa), which is compiled")
      .required();
  c.option("--input", o->inputs, "name=file.npy or a .npz file; needed only where control flow depends on data").oneEach();
  c.option("--target", o->source.target, "Time it on this target instead of the file's own; graphs: trn2 if not given");
  addGraphFlags(c, o->source.graph);
  Option timeline = c.flag("--timeline", o->timeline, "Draw what engines and transfers do, for the terminal");
  c.option("--trace", o->trace, "Write a Perfetto trace (.pftrace)");
  c.option("--html", o->html, "Write a page with a zoomable timeline");
  Option whatIf = c.option("--what-if", o->whatIf,
                           "Time it on another machine, and compile it for that: dma.fixed_latency=0,clock.vector=2x")
                      .excludes(timeline);
  c.flag("--sensitivity", o->sensitivity, "Time it with half and with twice of each value of the target")
      .excludes(whatIf)
      .excludes(timeline);
  c.option("--max-steps", o->maxSteps, "Stop after so many instructions; 100 million if not given, 0: never");
  c.flag("--json", o->json, "As JSON").excludes(timeline);
  c.flag("--no-verify", [o] { o->source.prove = false; }, "Do not verify first");
  c.footer("Example: glia profile softmax.glia --trace softmax.pftrace --html softmax.html");
  c.callback([o, &tool] { tool.command = [o, &tool] { return profile(*o, tool); }; });
}

} // namespace glia::tool
