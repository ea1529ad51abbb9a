#include "Client.h"
#include "Failure.h"
#include "Fork.h"
#include "glia/Support/BuildId.h"
#include "glia/Target/Target.h"
#include "glia/Target/Title.h"

#include <limits>

namespace glia::pjrt {

void MemoryUse::take(int64_t bytes) {
  const int64_t now = inUse += bytes;
  if (now > limit) {
    inUse -= bytes;
    throw failure(Code::ResourceExhausted, "PJRT-MEMORY",
                  format("the device's memory of %lld bytes has no room for %lld more: %lld are taken", (long long)limit,
                         (long long)bytes, (long long)(now - bytes)),
                  "Delete arrays that are not needed, donate arguments, or use smaller ones.");
  }
  ++allocations;
  for (int64_t p = peak; now > p && !peak.compare_exchange_weak(p, now);) {
  }
  for (int64_t l = largest; bytes > l && !largest.compare_exchange_weak(l, bytes);) {
  }
}

std::string_view kindName(MemoryKind k) { return k == MemoryKind::Device ? "device" : "unpinned_host"; }

Memory::Memory(int id, MemoryKind kind, Device &device, int64_t limit)
    : id(id), kind(kind), device(&device), text(format("glia:%d %s", device.id, std::string(kindName(kind)).c_str())),
      use(std::make_shared<MemoryUse>(limit)) {}

Device::Device(int id, Client &client, int64_t memoryBytes)
    : id(id), client(client), text(format("glia:%d", id)), memory(2 * id, MemoryKind::Device, *this, memoryBytes),
      hostMemory(2 * id + 1, MemoryKind::Host, *this, std::numeric_limits<int64_t>::max()) {}

// With all that programs depend on: frameworks keep compiled ones by it.
static std::string versionOf(const Settings &s) {
  return "glia " GLIA_VERSION " for " + s.target + (s.lnc > 1 ? ", two cores" : "") +
         (s.autoCast.empty() ? "" : ", products of " + s.autoCast) + ", build " + buildId();
}

Client::Client(Settings s)
    : settings(std::move(s)), platform(settings.platform), version(versionOf(settings)),
      deviceKind(titleOf(*loadTarget(settings.target)) + " NeuronCore (simulated)") {
  const int64_t bytes = loadTarget(settings.target)->integer("memory.hbm_bytes");
  for (int i = 0; i < settings.devices; ++i) {
    devices.push_back(owned.emplace_back(std::make_unique<Device>(i, *this, bytes)).get());
    memories.insert(memories.end(), std::begin(devices.back()->memories), std::end(devices.back()->memories));
  }
  topology = {platform, version, devices.data(), devices.size()};
}

Client::~Client() {
  if (!isForked())
    for (Device *d : devices) // all of them first: one may wait for what another computes
      d->worker.stop();
}

Device &Client::device(int64_t id) const {
  if (id < 0 || id >= static_cast<int64_t>(devices.size()))
    throw failure(
        Code::InvalidArgument, "PJRT-DEVICE",
        format("there is no device %lld: there %s %zu", (long long)id, devices.size() == 1 ? "is" : "are", devices.size()),
        "GLIA_DEVICES says how many there are.");
  return *devices[static_cast<size_t>(id)];
}

} // namespace glia::pjrt
