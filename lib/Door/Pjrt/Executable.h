// What a framework holds of a compiled program: by itself, and on a device.
#pragma once
#include "Client.h"
#include "Compiled.h"

#include <atomic>

namespace glia::pjrt {

class Executable {
public:
  Executable(CompiledPtr c, std::vector<int64_t> devices) : compiled(std::move(c)), devices(std::move(devices)) {}
  const CompiledPtr compiled;
  const std::vector<int64_t> devices; // that it was loaded on, by rank

  std::vector<NamedValue> costs; // filled when they are asked for
  std::vector<const char *> memoryKinds;
  std::vector<size_t> memoryKindSizes;
};

class LoadedExecutable {
public:
  LoadedExecutable(CompiledPtr c, Client &client, std::vector<Device *> devices)
      : compiled(std::move(c)), client(client), devices(std::move(devices)) {}
  const CompiledPtr compiled;
  Client &client;
  const std::vector<Device *> devices; // by rank; empty: the caller names one
  std::atomic<bool> deleted = false;
};

} // namespace glia::pjrt
