// What the environment says about the platform (docs/jax.md).
#pragma once
#include "PjrtAbi.h"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

namespace glia::pjrt {

struct Settings {
  std::string target = "trn2";   // GLIA_TARGET
  std::string platform = "glia"; // GLIA_PLATFORM: the name under which a framework knows it
  int devices = 1;               // GLIA_DEVICES
  std::string topology;          // GLIA_TOPOLOGY: what several devices lie on, for their time; empty: what is usual
  int lnc = 1;                   // GLIA_LNC: 2: both cores of a logical one share the work of a program
  std::string autoCast;          // GLIA_AUTO_CAST: bf16 or f16, to which operands of f32 products are rounded
  bool time = false;             // GLIA_TIME: say how long each call is predicted to take
  bool strict = false;           // GLIA_STRICT: run as `glia run --strict` does
  bool check = false;            // GLIA_CHECK: compare each executable with the reference when it first runs
  bool proveAgain = false;       // GLIA_PROVE_AGAIN: executables that are read back, even if they carry a seal
  std::string profile;           // GLIA_PROFILE: a folder for a page per executable
  uint64_t maxSteps = 0;         // GLIA_MAX_STEPS; 0: no limit
  std::chrono::seconds timeout;  // GLIA_TIMEOUT; 0: no limit
};

constexpr int kMostDevices = 64;

// The option `target` of the client stands in for what the environment leaves open. Throws Failure or Error.
Settings readSettings(std::span<const NamedValue> options);

} // namespace glia::pjrt
