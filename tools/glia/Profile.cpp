#include "glia/Profile/Profile.h"
#include "Data.h"
#include "Tool.h"
#include "glia/Profile/WhatIf.h"
#include "glia/Sim/Steps.h"
#include "glia/Support/File.h"

#include <nlohmann/json.hpp>

namespace glia::tool {

namespace {

struct Options {
  std::string file, target, trace, html, whatIf;
  std::vector<std::string> inputs;
  uint64_t maxSteps = kDefaultMaxSteps;
  bool json = false, noVerify = false, sensitivity = false;
};

std::string ifText(double before, double after, const std::string &changes, bool json) {
  if (json)
    return nlohmann::ordered_json{{"what_if", changes}, {"total_ns", before}, {"then_ns", after}}.dump(2) + "\n";
  if (before == after)
    return timeText(before) + " as before: a compiled program takes no notice of that. What the compiler looks at needs a "
                              "target file of its own "
                              "(`glia targets trn2 --toml`) and `--target` when the program is compiled.\n";
  return format("%s instead of %s, %.2fx %s\n", timeText(after).c_str(), timeText(before).c_str(),
                after < before ? before / std::max(after, 1e-3) : after / std::max(before, 1e-3),
                after < before ? "faster" : "slower");
}

std::string sensitivityText(const std::vector<Sensitivity> &all, double total, bool json) {
  if (json) {
    nlohmann::ordered_json j = {{"total_ns", total}, {"sensitivities", nlohmann::ordered_json::array()}};
    for (const Sensitivity &s : all)
      j["sensitivities"].push_back(
          {{"key", s.key}, {"value", s.value}, {"unit", s.unit}, {"half_ns", s.half}, {"twice_ns", s.twice}});
    return j.dump(2) + "\n";
  }
  auto cell = [&](double ns) { return ns > 0 ? format("%+.1f %%", 100 * (ns - total) / total) : std::string("-"); };
  std::string out = timeText(total) + "; how much longer it takes with half and with twice of\n";
  out += format("  %-34s %14s %10s %10s\n", "", "", "half", "twice");
  for (const Sensitivity &s : all)
    out += format("  %-34s %14s %10s %10s\n", s.key.c_str(), format("%g %s", s.value, s.unit.c_str()).c_str(),
                  cell(s.half).c_str(), cell(s.twice).c_str());
  return out;
}

int profile(const Options &o, const Tool &tool) {
  const Program p = loadProgram(o.file, o.target);
  const TensorData inputs = readInputs(p, o.inputs);
  if (!o.noVerify && !verified(tool, p))
    return 1;
  TimingOptions options;
  options.inputs = o.inputs.empty() ? nullptr : &inputs;
  options.maxSteps = stepLimit(o.maxSteps);
  Progress progress("timing " + grouped(p.instructionCount()) + " instructions");
  if (!o.whatIf.empty() || o.sensitivity) {
    const double total = simulateTime(p, options).total;
    write(o.sensitivity ? sensitivityText(sensitivities(p, options, total), total, o.json)
                        : ifText(total, timeIf(p, options, parseChanges(o.whatIf)), o.whatIf, o.json));
    return 0;
  }
  options.timeline = true;
  const Profile x = profileOf(p, options);
  if (!o.trace.empty())
    writeFile(o.trace, profilePerfetto(p, x));
  if (!o.html.empty())
    writeFile(o.html, profileHtml(p, x));
  write(o.json ? profileJson(p, x) : profileText(p, x));
  return 0;
}

} // namespace

void addProfile(CLI::App &app, Tool &tool) {
  auto o = std::make_shared<Options>();
  CLI::App *c = app.add_subcommand("profile", "Predicts how long a program takes and where the time goes");
  c->add_option("file", o->file, "The program (.glia or .gasm)")->required();
  c->add_option("--input", o->inputs, "name=file.npy or a .npz file; needed only where control flow depends on data")
      ->allow_extra_args(false);
  c->add_option("--target", o->target, "Time it on this target instead of the program's own");
  c->add_option("--trace", o->trace, "Write a Perfetto trace (.pftrace)");
  c->add_option("--html", o->html, "Write a page with a zoomable timeline");
  CLI::Option *whatIf =
      c->add_option("--what-if", o->whatIf, "Time it on another machine: dma.fixed_latency=0,clock.vector=2x");
  c->add_flag("--sensitivity", o->sensitivity, "Time it with half and with twice of each value of the target")
      ->excludes(whatIf);
  c->add_option("--max-steps", o->maxSteps, "Stop after so many instructions; 100 million if not given, 0: never");
  c->add_flag("--json", o->json, "As JSON");
  c->add_flag("--no-verify", o->noVerify, "Do not verify first");
  c->footer("Example: glia profile softmax.glia --trace softmax.pftrace --html softmax.html");
  c->callback([o, &tool] { tool.command = [o, &tool] { return profile(*o, tool); }; });
}

} // namespace glia::tool
