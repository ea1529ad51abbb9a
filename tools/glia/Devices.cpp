#include "Tool.h"
#include "glia/Target/Title.h"

#include <cstdlib>

namespace glia::tool {

static std::string variable(const char *name, const char *otherwise) {
  const char *text = std::getenv(name);
  return text && *text ? text : otherwise;
}

static std::string listOf(const Target &t, int count) {
  const auto memory = static_cast<uint64_t>(t.integer("memory.hbm_bytes"));
  const auto cores = static_cast<int>(t.integer("core.max_cores"));
  const std::string rule = "+--------+------------+-------+---------+\n";
  std::string out = format("instance-type: simulated (%s)\n", titleOf(t).c_str());
  out += rule + "| device | target     | cores | memory  |\n" + rule;
  for (int i = 0; i < count; ++i)
    out += format("| %-6d | %-10s | %-5d | %3.0f GiB |\n", i, titleOf(t).c_str(), cores,
                  static_cast<double>(memory) / (1u << 30));
  return out + rule;
}

static std::string jsonOf(const Target &t, int count) {
  std::string out = "[";
  for (int i = 0; i < count; ++i)
    out += format("%s\n  {\"neuron_device\": %d, \"target\": \"%s\", \"nc_count\": %d, \"memory_size\": %llu, "
                  "\"simulated\": true}",
                  i ? "," : "", i, t.name.c_str(), static_cast<int>(t.integer("core.max_cores")),
                  static_cast<unsigned long long>(t.integer("memory.hbm_bytes")));
  return out + "\n]\n";
}

void addDevices(Command app, Tool &tool) {
  struct Options {
    std::string target = variable("GLIA_TARGET", "trn2");
    int count = 1;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  Command c = app.command("devices", "Lists the devices that JAX and torch_xla find: simulated ones");
  c.option("--target", o->target, "Their target (default: GLIA_TARGET, else trn2)");
  c.option("--devices", o->count, "How many there are").variable("GLIA_DEVICES").between(1, 64);
  c.flag("--json", o->json, "As JSON");
  c.footer("Example: GLIA_DEVICES=2 glia devices --target trn1");
  c.callback([o, &tool] {
    tool.command = [o] {
      const auto t = loadTarget(o->target);
      write(o->json ? jsonOf(*t, o->count) : listOf(*t, o->count));
      return 0;
    };
  });
}

} // namespace glia::tool
