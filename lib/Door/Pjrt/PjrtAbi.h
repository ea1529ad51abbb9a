// The structures of the calls: each begins with its size and a list of extensions (PjrtValues.h). `out` marks what the plugin fills in.
#pragma once
#include "PjrtValues.h"

namespace glia::pjrt {

// ---- errors, the plugin, events -------------------------------------------------------------------

struct ErrorDestroyArgs : Args {
  Failure *error;
};
struct ErrorMessageArgs : Args {
  const Failure *error;
  const char *message; // out
  size_t messageSize;  // out
};
struct ErrorGetCodeArgs : Args {
  const Failure *error;
  Code code; // out
};

struct PluginInitializeArgs : Args {};
struct PluginAttributesArgs : Args {
  const NamedValue *attributes; // out
  size_t numAttributes;         // out
};

struct EventArgs : Args {
  Event *event;
};
struct EventDestroyArgs : EventArgs {};
struct EventIsReadyArgs : EventArgs {
  bool isReady; // out
};
struct EventErrorArgs : EventArgs {};
struct EventAwaitArgs : EventArgs {};
struct EventOnReadyArgs : EventArgs {
  void (*callback)(Failure *error, void *argument); // owns the error
  void *argument;
};

// ---- the client -----------------------------------------------------------------------------------

struct ClientCreateArgs : Args {
  const NamedValue *options;
  size_t numOptions;
  void *keyValueGet, *keyValueGetArgument, *keyValuePut, *keyValuePutArgument;
  Client *client; // out
  void *keyValueTryGet, *keyValueTryGetArgument;
};
struct ClientArgs : Args {
  Client *client;
};
struct ClientDestroyArgs : ClientArgs {};
struct ClientPlatformNameArgs : ClientArgs {
  const char *name; // out
  size_t nameSize;  // out
};
struct ClientProcessIndexArgs : ClientArgs {
  int processIndex; // out
};
struct ClientPlatformVersionArgs : ClientArgs {
  const char *version; // out
  size_t versionSize;  // out
};
struct ClientTopologyDescriptionArgs : ClientArgs {
  Topology *topology; // out, stays the client's
};
struct ClientDevicesArgs : ClientArgs {
  Device *const *devices; // out
  size_t numDevices;      // out
};
struct ClientAddressableDevicesArgs : ClientArgs {
  Device *const *devices; // out
  size_t numDevices;      // out
};
struct ClientLookupDeviceArgs : ClientArgs {
  int id;
  Device *device; // out
};
struct ClientLookupAddressableDeviceArgs : ClientArgs {
  int localHardwareId;
  Device *device; // out
};
struct ClientUpdateGlobalProcessInfoArgs : ClientArgs {
  ProcessInfo *infos;
  size_t numInfos;
};
struct ClientAddressableMemoriesArgs : ClientArgs {
  Memory *const *memories; // out
  size_t numMemories;      // out
};
struct ClientCompileArgs : ClientArgs {
  const ModuleCode *program;
  const char *options; // CompileOptionsProto
  size_t optionsSize;
  LoadedExecutable *executable; // out
};
struct ClientDefaultDeviceAssignmentArgs : ClientArgs {
  int numReplicas, numPartitions;
  size_t assignmentSize;
  int *assignment; // out, [replica][partition]
};
struct ClientDmaMapArgs : ClientArgs {
  void *data;
  size_t size;
};
struct ClientDmaUnmapArgs : ClientArgs {
  void *data;
};
struct ClientCreateUninitializedBufferArgs : ClientArgs {
  const int64_t *dims;
  size_t numDims;
  ElementType type;
  MemoryLayout *layout;
  Device *device;
  Memory *memory; // wins over the device
  Buffer *buffer; // out
};
struct ClientBufferFromHostBufferArgs : ClientArgs {
  const void *data;
  ElementType type;
  const int64_t *dims;
  size_t numDims;
  const int64_t *byteStrides; // none: row-major
  size_t numByteStrides;
  int semantics; // how long the data stays as it is
  Device *device;
  Memory *memory; // wins over the device
  MemoryLayout *deviceLayout;
  Event *doneWithHostBuffer; // out
  Buffer *buffer;            // out
};
struct ClientCreateViewOfDeviceBufferArgs : ClientArgs {
  void *data;
  const int64_t *dims;
  size_t numDims;
  ElementType type;
  MemoryLayout *layout;
  Device *device;
  void (*onDelete)(void *data, void *argument);
  void *onDeleteArgument;
  intptr_t stream;
  Buffer *buffer; // out
  Memory *memory; // wins over the device
};
struct ClientCreateBuffersForAsyncHostToDeviceArgs : ClientArgs {
  ShapeSpec *shapes;
  size_t numShapes;
  MemoryLayout **layouts;
  size_t numLayouts;
  Memory *memory;
  TransferManager *manager; // out
};

// ---- buffers that are filled piece by piece -------------------------------------------------------

struct TransferManagerArgs : Args {
  TransferManager *manager;
};
struct TransferManagerDestroyArgs : TransferManagerArgs {};
struct TransferManagerTransferDataArgs : TransferManagerArgs {
  int index;
  const void *data;
  int64_t offset, size;
  bool isLast;
  Event *done; // out
};
struct TransferManagerRetrieveBufferArgs : TransferManagerArgs {
  int index;
  Buffer *buffer; // out
};
struct TransferManagerDeviceArgs : TransferManagerArgs {
  Device *device; // out
};
struct TransferManagerBufferCountArgs : TransferManagerArgs {
  size_t count; // out
};
struct TransferManagerBufferSizeArgs : TransferManagerArgs {
  int index;
  size_t size; // out
};
struct TransferManagerSetBufferErrorArgs : TransferManagerArgs {
  int index;
  Code code;
  const char *message;
  size_t messageSize;
};
struct TransferManagerAddMetadataArgs : TransferManagerArgs {
  const NamedValue *metadata;
  size_t numMetadata;
};

// ---- devices and memories -------------------------------------------------------------------------

// A description is the device itself: this plugin has no devices that are described and not there.
struct DeviceArgs : Args {
  Device *device;
};
struct DescriptionIdArgs : DeviceArgs {
  int id; // out
};
struct DescriptionProcessIndexArgs : DeviceArgs {
  int processIndex; // out
};
struct DescriptionAttributesArgs : DeviceArgs {
  size_t numAttributes;         // out
  const NamedValue *attributes; // out
};
struct DescriptionKindArgs : DeviceArgs {
  const char *kind; // out
  size_t kindSize;  // out
};
struct DescriptionDebugStringArgs : DeviceArgs {
  const char *text; // out
  size_t textSize;  // out
};
struct DescriptionToStringArgs : DeviceArgs {
  const char *text; // out
  size_t textSize;  // out
};
struct DeviceGetDescriptionArgs : DeviceArgs {
  Device *description; // out
};
struct DeviceIsAddressableArgs : DeviceArgs {
  bool isAddressable; // out
};
struct DeviceLocalHardwareIdArgs : DeviceArgs {
  int id; // out
};
struct DeviceAddressableMemoriesArgs : DeviceArgs {
  Memory *const *memories; // out
  size_t numMemories;      // out
};
struct DeviceDefaultMemoryArgs : DeviceArgs {
  Memory *memory; // out
};
struct MemoryNumber {
  int64_t value;
  bool isSet;
};
struct DeviceMemoryStatsArgs : DeviceArgs { // all out
  int64_t bytesInUse;
  MemoryNumber peakBytesInUse, numAllocs, largestAlloc, bytesLimit, bytesReserved, peakBytesReserved, bytesReservableLimit,
      largestFreeBlock, poolBytes, peakPoolBytes;
};

struct MemoryArgs : Args {
  Memory *memory;
};
struct MemoryIdArgs : MemoryArgs {
  int id; // out
};
struct MemoryKindArgs : MemoryArgs {
  const char *kind; // out
  size_t kindSize;  // out
};
struct MemoryKindIdArgs : MemoryArgs {
  int id; // out
};
struct MemoryDebugStringArgs : MemoryArgs {
  const char *text; // out
  size_t textSize;  // out
};
struct MemoryToStringArgs : MemoryArgs {
  const char *text; // out
  size_t textSize;  // out
};
struct MemoryAddressableByDevicesArgs : MemoryArgs {
  Device *const *devices; // out
  size_t numDevices;      // out
};

// ---- executables ----------------------------------------------------------------------------------

struct ExecuteContextCreateArgs : Args {
  ExecuteContext *context; // out
};
struct ExecuteContextDestroyArgs : Args {
  ExecuteContext *context;
};

struct ExecutableArgs : Args {
  Executable *executable;
};
struct ExecutableDestroyArgs : ExecutableArgs {};
struct ExecutableNameArgs : ExecutableArgs {
  const char *name; // out
  size_t nameSize;  // out
};
struct ExecutableNumReplicasArgs : ExecutableArgs {
  size_t number; // out
};
struct ExecutableNumPartitionsArgs : ExecutableArgs {
  size_t number; // out
};
struct ExecutableNumOutputsArgs : ExecutableArgs {
  size_t number; // out
};
struct ExecutableSizeOfGeneratedCodeInBytesArgs : ExecutableArgs {
  int64_t size; // out
};
struct ExecutableOptimizedProgramArgs : ExecutableArgs {
  ModuleCode *program; // first without memory, to ask for the size
};
struct ExecutableFingerprintArgs : ExecutableArgs {
  const char *fingerprint; // out
  size_t fingerprintSize;  // out
};
struct ExecutableGetCostAnalysisArgs : ExecutableArgs {
  size_t numProperties;         // out
  const NamedValue *properties; // out
};
struct ExecutableGetCompiledMemoryStatsArgs : ExecutableArgs { // all out
  int64_t generatedCode, arguments, outputs, aliased, temporary;
  int64_t hostGeneratedCode, hostArguments, hostOutputs, hostAliased, hostTemporary;
  int64_t peak;
};
struct ExecutableOutputElementTypesArgs : ExecutableArgs {
  const ElementType *types; // out
  size_t numTypes;          // out
};
struct ExecutableOutputDimensionsArgs : ExecutableArgs {
  size_t numOutputs;
  const int64_t *dims; // out, of all outputs
  const size_t *ranks; // out
};
struct ExecutableOutputMemoryKindsArgs : ExecutableArgs {
  size_t numOutputs;
  const char *const *kinds; // out
  const size_t *kindSizes;  // out
};
struct ExecutableSerializeArgs : Args {
  const Executable *executable;
  const char *bytes;                       // out
  size_t bytesSize;                        // out
  SerializedExecutable *owner;             // out
  void (*deleter)(SerializedExecutable *); // out
};
struct ExecutableDeserializeAndLoadArgs : ClientArgs {
  const char *bytes;
  size_t bytesSize;
  LoadedExecutable *executable; // out
  const char *options;          // CompileOptionsProto, instead of those it was compiled with; may be null
  size_t optionsSize;
};

struct LoadedExecutableArgs : Args {
  LoadedExecutable *loaded;
};
struct LoadedExecutableDestroyArgs : LoadedExecutableArgs {};
struct LoadedExecutableGetExecutableArgs : LoadedExecutableArgs {
  Executable *executable; // out
};
struct LoadedExecutableAddressableDevicesArgs : LoadedExecutableArgs {
  Device *const *devices; // out
  size_t numDevices;      // out
};
struct LoadedExecutableDeleteArgs : LoadedExecutableArgs {};
struct LoadedExecutableIsDeletedArgs : LoadedExecutableArgs {
  bool isDeleted; // out
};
struct LoadedExecutableExecuteArgs : LoadedExecutableArgs {
  ExecuteOptions *options;
  Buffer *const *const *arguments; // [device][argument]
  size_t numDevices, numArguments;
  Buffer **const *outputs; // [device][output], filled in
  Event **completions;     // [device], filled in; may be null
  Device *device;          // may be null
};
struct LoadedExecutableFingerprintArgs : LoadedExecutableArgs {
  const char *fingerprint; // out
  size_t fingerprintSize;  // out
};

// ---- buffers --------------------------------------------------------------------------------------

struct BufferArgs : Args {
  Buffer *buffer;
};
struct BufferDestroyArgs : BufferArgs {};
struct BufferElementTypeArgs : BufferArgs {
  ElementType type; // out
};
struct BufferDimensionsArgs : BufferArgs {
  const int64_t *dims; // out
  size_t numDims;      // out
};
struct BufferUnpaddedDimensionsArgs : BufferArgs {
  const int64_t *dims; // out
  size_t numDims;      // out
};
struct BufferDynamicDimensionIndicesArgs : BufferArgs {
  const size_t *indices; // out
  size_t numIndices;     // out
};
struct BufferGetMemoryLayoutArgs : BufferArgs {
  MemoryLayout layout; // out
};
struct BufferToHostBufferArgs : BufferArgs {
  MemoryLayout *layout; // null: the buffer's own
  void *data;           // null: only the size is asked for
  size_t size;          // out, if so
  Event *event;         // out
};
struct BufferOnDeviceSizeInBytesArgs : BufferArgs {
  size_t size; // out
};
struct BufferDeleteArgs : BufferArgs {};
struct BufferIsDeletedArgs : BufferArgs {
  bool isDeleted; // out
};
struct BufferCopyRawToHostArgs : BufferArgs {
  void *data;
  int64_t offset, size;
  Event *event; // out
};
struct BufferCopyToDeviceArgs : BufferArgs {
  Device *device;
  Buffer *copy; // out
};
struct BufferCopyToMemoryArgs : BufferArgs {
  Memory *memory;
  Buffer *copy; // out
};
struct BufferIsOnCpuArgs : BufferArgs {
  bool isOnCpu; // out
};
struct BufferDeviceArgs : BufferArgs {
  Device *device; // out
};
struct BufferMemoryArgs : BufferArgs {
  Memory *memory; // out
};
struct BufferReadyEventArgs : BufferArgs {
  Event *event; // out
};
struct BufferUnsafePointerArgs : BufferArgs {
  uintptr_t pointer; // out
};
struct BufferIncreaseExternalReferenceCountArgs : BufferArgs {};
struct BufferDecreaseExternalReferenceCountArgs : BufferArgs {};
struct BufferOpaqueDeviceMemoryDataPointerArgs : BufferArgs {
  void *pointer; // out
};

struct CopyStreamArgs : Args {
  CopyStream *stream;
};
struct CopyStreamDestroyArgs : CopyStreamArgs {};
struct CopyStreamAddChunkArgs : CopyStreamArgs {
  Chunk *chunk;
  Event *done; // out
};
struct CopyStreamTotalBytesArgs : CopyStreamArgs {
  int64_t bytes; // out
};
struct CopyStreamGranuleSizeArgs : CopyStreamArgs {
  int64_t bytes; // out
};
struct CopyStreamCurrentBytesArgs : CopyStreamArgs {
  int64_t bytes; // out
};

// ---- topologies -----------------------------------------------------------------------------------

struct TopologyCreateArgs : Args {
  const char *name;
  size_t nameSize;
  const NamedValue *options;
  size_t numOptions;
  Topology *topology; // out
};
struct TopologyArgs : Args {
  Topology *topology;
};
struct TopologyDestroyArgs : TopologyArgs {};
struct TopologyPlatformNameArgs : TopologyArgs {
  const char *name; // out
  size_t nameSize;  // out
};
struct TopologyPlatformVersionArgs : TopologyArgs {
  const char *version; // out
  size_t versionSize;  // out
};
struct TopologyGetDeviceDescriptionsArgs : TopologyArgs {
  Device *const *descriptions; // out
  size_t numDescriptions;      // out
};
struct TopologySerializeArgs : TopologyArgs {
  const char *bytes;                     // out
  size_t bytesSize;                      // out
  SerializedTopology *owner;             // out
  void (*deleter)(SerializedTopology *); // out
};
struct TopologyDeserializeArgs : Args {
  const char *bytes;
  size_t bytesSize;
  Topology *topology; // out
};
struct TopologyAttributesArgs : TopologyArgs {
  const NamedValue *attributes; // out
  size_t numAttributes;         // out
};
struct CompileArgs : Args {
  const Topology *topology;
  const ModuleCode *program;
  const char *options;
  size_t optionsSize;
  Client *client;
  Executable *executable; // out
};

} // namespace glia::pjrt
