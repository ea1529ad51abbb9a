#include "Inspect.h"
#include "Worker.h"
#include "glia/Check/CheckGraph.h"
#include "glia/Graph/RoundProducts.h"
#include "glia/Profile/Profile.h"
#include "glia/Sim/Steps.h"
#include "glia/Support/File.h"
#include "glia/Target/Title.h"

#include <cstdio>
#include <filesystem>

namespace glia::pjrt {

namespace {

void checkAgainstReference(const Compiled &c, const TensorViews &inputs, const Settings &settings) {
  if (c.signature.ranks() > 1) {
    std::fprintf(stderr, "glia: %s: GLIA_CHECK compares programs of one device\n", c.signature.name.c_str());
    return;
  }
  onDeepStack([&] {
    graph::Graph g = readModule(c.module, "mlir");
    graph::roundProducts(*g.module, settings.autoCast);
    std::vector<HostTensor> arguments = randomInputs(g.main(), 1); // their types and shapes
    for (size_t i = 0; i < arguments.size(); ++i)
      if (const auto it = inputs.find(c.signature.arguments[i].tensor); it != inputs.end())
        arguments[i].bytes.assign(it->second.begin(), it->second.end());
    GraphOptions options;
    options.target = c.target;
    const GraphCheck check = checkGraph(*g.module, std::move(arguments), options);
    if (!check.ok())
      throw Error(check.wrong);
    std::fprintf(stderr, "glia: %s: %zu groups, each equals the reference\n", c.signature.name.c_str(), check.groups);
  });
}

Profile predict(const Compiled &c, const TensorViews &inputs, const Settings &settings, bool timeline) {
  TensorData data;
  for (const auto &[name, bytes] : inputs)
    data[name].assign(bytes.begin(), bytes.end());
  TimingOptions options;
  options.inputs = &data;
  options.timeline = timeline;
  options.maxSteps = stepLimit(settings.maxSteps);
  return profileOf(c.program, options);
}

void sayTime(const Compiled &c, const TensorViews &inputs, const Settings &settings, const std::string &device) {
  const TimingResult *fixed = c.timing();
  const double total = fixed ? fixed->total : predict(c, inputs, settings, false).time.total;
  std::fprintf(stderr, "glia: %s on %s: %.2f us (predicted for %s)\n", c.signature.name.c_str(), device.c_str(),
               total * 1e-3, titleOf(*c.program.target).c_str());
}

void writePage(const Compiled &c, const TensorViews &inputs, const Settings &settings) {
  std::string name = c.signature.name;
  for (char &x : name)
    if (!std::isalnum(static_cast<unsigned char>(x)) && x != '_' && x != '-')
      x = '_';
  writeFile((std::filesystem::path(settings.profile) / (name + "-" + c.fingerprint + ".html")).string(),
            profileHtml(c.program, predict(c, inputs, settings, true)));
}

} // namespace

void inspect(const Compiled &c, const TensorViews &inputs, const Settings &settings, const std::string &device) {
  if (settings.check)
    std::call_once(c.checked, [&] { checkAgainstReference(c, inputs, settings); });
  if (settings.time)
    sayTime(c, inputs, settings, device);
  if (!settings.profile.empty())
    std::call_once(c.profiled, [&] { writePage(c, inputs, settings); });
}

} // namespace glia::pjrt
