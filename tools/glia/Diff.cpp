// glia diff: the predicted times of two versions of a program, by line.
#include "Data.h"
#include "Tool.h"
#include "glia/Profile/ProfileDiff.h"
#include "glia/Sim/Steps.h"

namespace glia::tool {

void addDiff(Command app, Tool &tool) {
  struct Options {
    std::string before, after, target;
    std::vector<std::string> inputs;
    uint64_t maxSteps = kDefaultMaxSteps;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  Command c = app.command("diff", "Compares the predicted times of two versions of a program, by line");
  c.option("before", o->before, "A program (.glia or .gasm)").required();
  c.option("after", o->after, "Another one").required();
  c.option("--input", o->inputs, "name=file.npy or a .npz file, for both; needed only where control flow depends on data")
      .oneEach();
  c.option("--target", o->target, "Time both on this target instead of their own");
  c.option("--max-steps", o->maxSteps, "Stop after so many instructions; 100 million if not given, 0: never");
  c.flag("--json", o->json, "As JSON");
  c.footer("Example: glia diff softmax.glia faster.glia");
  c.callback([o, &tool] {
    tool.command = [o, &tool] {
      const Program before = loadProgram(o->before, o->target), after = loadProgram(o->after, o->target);
      if (!verified(tool, before) || !verified(tool, after))
        return 1;
      auto timed = [&](const Program &p) {
        const TensorData inputs = readInputs(p, o->inputs);
        TimingOptions options;
        options.inputs = o->inputs.empty() ? nullptr : &inputs;
        options.maxSteps = stepLimit(o->maxSteps);
        options.timeline = true;
        return profileOf(p, options);
      };
      const Profile a = timed(before), b = timed(after);
      const Version x = {o->before, before, a}, y = {o->after, after, b};
      write(o->json ? diffJson(x, y) : diffText(x, y));
      return 0;
    };
  });
}

} // namespace glia::tool
