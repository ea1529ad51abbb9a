// A target is data: geometry, clocks, limits, features and costs, each value with its origin.
// Code asks a target for a property; it never asks which generation it is.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace glia {

enum class Origin : uint8_t { Documented, Derived, Assumed };

struct TargetValue {
  double number = 0; // booleans are 0 or 1
  Origin origin = Origin::Assumed;
  std::string source; // where it comes from, in words
  std::string unit;   // "bytes", "GHz", "ns", "cycles", "" ...
};

// A group of activation functions that one table load makes resident.
struct ActivationSet {
  std::string name;
  std::vector<std::string> functions;
  Origin origin = Origin::Assumed;
  std::string source;
};

class Target {
public:
  std::string name; // "trn2"
  std::string summary;
  std::string text;                                       // the TOML it was read from; travels with a program
  std::map<std::string, TargetValue, std::less<>> values; // "sbuf.usable_bytes", "clock.vector", "feature.lnc2" ...
  std::vector<ActivationSet> activationSets;

  // The number behind a key; throws Error TARGET-KEY for a key the file does not have.
  double number(std::string_view key) const;
  int64_t integer(std::string_view key) const { return static_cast<int64_t>(number(key)); }
  bool has(std::string_view feature) const; // "lnc2" looks up "feature.lnc2"; absent = false
  const TargetValue &value(std::string_view key) const;
  // The index in activationSets of the set that holds `function`, or -1 if the target has none (no table needed).
  int activationSet(std::string_view function) const;

  // Hot geometry, copied out of `values` once the file is read.
  int partitions = 0;    // SBUF and PSUM partitions
  int64_t sbufBytes = 0; // usable bytes per partition
  int64_t psumBytes = 0; // bytes per partition
  int64_t psumBankBytes = 0;
  int registers = 0;  // per engine
  int semaphores = 0; // per core
  int64_t semaphoreMax = 0;
  int dmaEngines = 0; // increments per DMA completion
  int dmaQueues = 0;  // per core
  int maxCores = 1;
  int maxActivationSets = 0;
};

// `reference`: a built-in name ("trn2") or a path to a TOML file, and behind it, with commas, what is to be changed of it
// ("trn2,dma.fixed_latency=0,clock.vector=2x"). Throws Error TARGET-UNKNOWN, TARGET-FILE, TARGET-CHANGE, TARGET-KEY.
std::shared_ptr<const Target> loadTarget(std::string_view reference);
std::shared_ptr<const Target> parseTarget(std::string_view tomlText, std::string_view fileName);
std::vector<std::string> builtinTargets();

} // namespace glia
