#include "Calls.h"
#include "Client.h"

namespace glia::pjrt {

void call(DescriptionIdArgs &a) { a.id = a.device->id; }
void call(DescriptionProcessIndexArgs &a) { a.processIndex = 0; }
void call(DescriptionAttributesArgs &a) { a.attributes = nullptr, a.numAttributes = 0; }
void call(DescriptionKindArgs &a) {
  const std::string &kind = a.device->client.deviceKind;
  a.kind = kind.data(), a.kindSize = kind.size();
}
void call(DescriptionDebugStringArgs &a) { a.text = a.device->text.data(), a.textSize = a.device->text.size(); }
void call(DescriptionToStringArgs &a) { a.text = a.device->text.data(), a.textSize = a.device->text.size(); }

void call(DeviceGetDescriptionArgs &a) { a.description = a.device; }
void call(DeviceIsAddressableArgs &a) { a.isAddressable = true; }
void call(DeviceLocalHardwareIdArgs &a) { a.id = a.device->id; }
void call(DeviceAddressableMemoriesArgs &a) {
  a.memories = a.device->memories, a.numMemories = std::size(a.device->memories);
}
void call(DeviceDefaultMemoryArgs &a) { a.memory = &a.device->memory; }

void call(DeviceMemoryStatsArgs &a) {
  const MemoryUse &use = *a.device->memory.use;
  a.bytesInUse = use.inUse;
  a.peakBytesInUse = {use.peak, true};
  a.numAllocs = {use.allocations, true};
  a.largestAlloc = {use.largest, true};
  a.bytesLimit = {use.limit, true};
  a.bytesReserved = a.peakBytesReserved = a.bytesReservableLimit = a.largestFreeBlock = a.poolBytes = a.peakPoolBytes = {};
}

void call(MemoryIdArgs &a) { a.id = a.memory->id; }
void call(MemoryKindArgs &a) {
  const std::string_view kind = kindName(a.memory->kind);
  a.kind = kind.data(), a.kindSize = kind.size();
}
void call(MemoryKindIdArgs &a) { a.id = static_cast<int>(a.memory->kind); }
void call(MemoryDebugStringArgs &a) { a.text = a.memory->text.data(), a.textSize = a.memory->text.size(); }
void call(MemoryToStringArgs &a) { a.text = a.memory->text.data(), a.textSize = a.memory->text.size(); }
void call(MemoryAddressableByDevicesArgs &a) { a.devices = &a.memory->device->self, a.numDevices = 1; }

} // namespace glia::pjrt
