#include "Calls.h"
#include "Client.h"
#include "Failure.h"
#include "Fork.h"

#include <cstring>

namespace glia::pjrt {

void call(PluginInitializeArgs &) { watchForks(); }

// The version of StableHLO in which programs are to be sent.
void call(PluginAttributesArgs &a) {
  static const int64_t version[] = {1, 13, 0}, oldest[] = {1, 0, 0};
  const auto attribute = [](const char *name, const int64_t (&value)[3]) {
    NamedValue v{};
    v.structSize = sizeof v;
    v.name = name, v.nameSize = std::strlen(name);
    v.type = ValueType::Int64List;
    v.integers = value, v.valueSize = 3;
    return v;
  };
  static const NamedValue attributes[] = {attribute("stablehlo_current_version", version),
                                          attribute("stablehlo_minimum_version", oldest)};
  a.attributes = attributes, a.numAttributes = std::size(attributes);
}

void call(ClientCreateArgs &a) {
  watchForks();
  a.client = new Client(readSettings({a.options, a.numOptions}));
}

void call(ClientDestroyArgs &a) { delete a.client; }

void call(ClientPlatformNameArgs &a) { a.name = a.client->platform.data(), a.nameSize = a.client->platform.size(); }
void call(ClientPlatformVersionArgs &a) { a.version = a.client->version.data(), a.versionSize = a.client->version.size(); }
void call(ClientProcessIndexArgs &a) { a.processIndex = 0; }
void call(ClientDevicesArgs &a) { a.devices = a.client->devices.data(), a.numDevices = a.client->devices.size(); }
void call(ClientAddressableDevicesArgs &a) { a.devices = a.client->devices.data(), a.numDevices = a.client->devices.size(); }
void call(ClientLookupDeviceArgs &a) { a.device = &a.client->device(a.id); }
void call(ClientLookupAddressableDeviceArgs &a) { a.device = &a.client->device(a.localHardwareId); }
void call(ClientAddressableMemoriesArgs &a) {
  a.memories = a.client->memories.data(), a.numMemories = a.client->memories.size();
}

void call(ClientDefaultDeviceAssignmentArgs &a) {
  const int64_t count = int64_t{a.numReplicas} * a.numPartitions;
  if (count > static_cast<int64_t>(a.client->devices.size()) || count > static_cast<int64_t>(a.assignmentSize))
    throw failure(Code::InvalidArgument, "PJRT-DEVICE",
                  format("%lld devices are asked for and there are %zu", (long long)count, a.client->devices.size()),
                  "GLIA_DEVICES says how many there are.");
  for (int i = 0; i < count; ++i)
    a.assignment[i] = i;
}

// ---- topologies: only the one that is there -------------------------------------------------------

void call(ClientTopologyDescriptionArgs &a) { a.topology = &a.client->topology; }
void call(TopologyDestroyArgs &) {} // it is the client's
void call(TopologyPlatformNameArgs &a) { a.name = a.topology->platform.data(), a.nameSize = a.topology->platform.size(); }
void call(TopologyPlatformVersionArgs &a) {
  a.version = a.topology->version.data(), a.versionSize = a.topology->version.size();
}
void call(TopologyGetDeviceDescriptionsArgs &a) {
  a.descriptions = a.topology->devices, a.numDescriptions = a.topology->numDevices;
}
void call(TopologyAttributesArgs &a) { a.attributes = nullptr, a.numAttributes = 0; }

} // namespace glia::pjrt
