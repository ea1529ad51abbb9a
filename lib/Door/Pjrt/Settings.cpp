#include "Settings.h"
#include "Failure.h"
#include "glia/Sim/Ranks.h"
#include "glia/Sim/Steps.h"
#include "glia/Target/Topology.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>

namespace glia::pjrt {

namespace {

std::string_view variable(const char *name) {
  const char *text = std::getenv(name);
  return text ? std::string_view(text) : std::string_view();
}

[[noreturn]] void bad(const char *name, const std::string &advice) {
  throw failure(Code::InvalidArgument, "PJRT-SETTING",
                std::string("the environment variable ") + name + " is `" + std::string(variable(name)) + "`", advice);
}

bool truth(const char *name) {
  const std::string_view text = variable(name);
  if (!text.empty() && text != "0" && text != "1")
    bad(name, "Set it to 1, or to 0, or not at all.");
  return text == "1";
}

std::optional<uint64_t> number(std::string_view text) {
  uint64_t n = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (wrong != std::errc() || end != text.data() + text.size() || n > INT64_MAX)
    return std::nullopt;
  return n;
}

} // namespace

Settings readSettings(std::span<const NamedValue> options) {
  Settings s;
  for (const NamedValue &o : options) {
    const std::string_view name(o.name, o.nameSize);
    if (name == "target" && o.type == ValueType::String)
      s.target.assign(o.string, o.valueSize);
  }
  if (const std::string_view target = variable("GLIA_TARGET"); !target.empty())
    s.target = target;
  loadTarget(s.target); // a wrong name is found here
  if (const std::string_view text = variable("GLIA_DEVICES"); !text.empty()) {
    const std::optional<uint64_t> n = number(text);
    if (!n || *n < 1 || *n > kMostDevices)
      bad("GLIA_DEVICES", format("Give a number of devices from 1 to %d.", kMostDevices));
    s.devices = static_cast<int>(*n);
  }
  if (const std::string_view name = variable("GLIA_PLATFORM"); !name.empty())
    s.platform = name;
  if (const std::string_view text = variable("GLIA_LNC"); !text.empty()) {
    if (text != "1" && text != "2")
      bad("GLIA_LNC", "Give the number of cores that share a program: 1 or 2.");
    s.lnc = text == "2" ? 2 : 1;
  }
  s.autoCast = variable("GLIA_AUTO_CAST");
  if (!s.autoCast.empty() && s.autoCast != "bf16" && s.autoCast != "f16")
    bad("GLIA_AUTO_CAST", "Give the type to which operands of f32 products are rounded: bf16 or f16.");
  s.topology = variable("GLIA_TOPOLOGY");
  if (!s.topology.empty())
    loadTopology(s.topology, {.lnc = s.lnc}); // likewise
  s.time = truth("GLIA_TIME");
  s.strict = truth("GLIA_STRICT");
  s.check = truth("GLIA_CHECK");
  s.proveAgain = truth("GLIA_PROVE_AGAIN");
  s.profile = variable("GLIA_PROFILE");
  if (!s.profile.empty()) {
    std::error_code wrong;
    std::filesystem::create_directories(s.profile, wrong);
    if (!std::filesystem::is_directory(s.profile, wrong))
      bad("GLIA_PROFILE", "Name a folder that can be written to.");
  }
  s.maxSteps = kDefaultMaxSteps;
  if (const std::string_view text = variable("GLIA_MAX_STEPS"); !text.empty()) {
    const std::optional<uint64_t> n = number(text);
    if (!n)
      throw Error("RUN-STEPS", "GLIA_MAX_STEPS is not a number of instructions", "Give 1 or more, or 0 for no limit.");
    s.maxSteps = *n;
  }
  s.timeout = rankTimeout();
  return s;
}

} // namespace glia::pjrt
