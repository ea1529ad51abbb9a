// The platform: its devices and their memories.
#pragma once
#include "PjrtAbi.h"
#include "Settings.h"
#include "Worker.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace glia::pjrt {

// How much of a device's memory is taken.
class MemoryUse {
public:
  explicit MemoryUse(int64_t limit) : limit(limit) {}
  void take(int64_t bytes); // throws Failure PJRT-MEMORY when there is no room
  void give(int64_t bytes) { inUse -= bytes; }
  const int64_t limit;
  std::atomic<int64_t> inUse = 0, peak = 0, allocations = 0, largest = 0;
};

enum class MemoryKind : int { Device, Host };
std::string_view kindName(MemoryKind k);

class Memory {
public:
  Memory(int id, MemoryKind kind, Device &device, int64_t limit);
  const int id;
  const MemoryKind kind;
  Device *const device;
  const std::string text;
  const std::shared_ptr<MemoryUse> use; // shared with what lies in it
};

class Device {
public:
  Device(int id, Client &client, int64_t memoryBytes);
  const int id;
  Client &client;
  const std::string text;
  Memory memory, hostMemory;
  Memory *const memories[2] = {&memory, &hostMemory}; // by MemoryKind
  Device *const self = this;                          // as a list of one
  Worker worker;
};

class Topology {
public:
  std::string_view platform, version;
  Device *const *devices = nullptr;
  size_t numDevices = 0;
};

class Client {
public:
  explicit Client(Settings s);
  ~Client();
  const Settings settings;
  const std::string platform, version, deviceKind;
  std::vector<std::unique_ptr<Device>> owned;
  std::vector<Device *> devices;
  std::vector<Memory *> memories;
  Topology topology;
  std::mutex launching;             // held while the devices of a call are told to run it
  Device &device(int64_t id) const; // throws Failure PJRT-DEVICE
};

} // namespace glia::pjrt
