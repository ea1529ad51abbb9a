// What a framework holds of a compiled program: by itself, and on a device.
#pragma once
#include "Client.h"
#include "Compiled.h"

#include <atomic>

namespace glia::pjrt {

class Executable {
public:
  explicit Executable(CompiledPtr c) : compiled(std::move(c)) {}
  const CompiledPtr compiled;

  std::vector<NamedValue> costs; // filled when they are asked for
  std::vector<const char *> memoryKinds;
  std::vector<size_t> memoryKindSizes;
};

class LoadedExecutable {
public:
  LoadedExecutable(CompiledPtr c, Client &client, Device *device) : compiled(std::move(c)), client(client), device(device) {}
  const CompiledPtr compiled;
  Client &client;
  Device *const device; // null: the caller names one
  std::atomic<bool> deleted = false;
};

} // namespace glia::pjrt
