// The table that a framework asks a plugin for.
#pragma once
#include "PjrtAbi.h"

namespace glia::pjrt {

// The calls in the order of the table, behind those that destroy an error and read its message: our name, the interface's.
#define GLIA_PJRT_CALLS(X)                                                                                                  \
  X(ErrorGetCode, "Error_GetCode")                                                                                          \
  X(PluginInitialize, "Plugin_Initialize")                                                                                  \
  X(PluginAttributes, "Plugin_Attributes")                                                                                  \
  X(EventDestroy, "Event_Destroy")                                                                                          \
  X(EventIsReady, "Event_IsReady")                                                                                          \
  X(EventError, "Event_Error")                                                                                              \
  X(EventAwait, "Event_Await")                                                                                              \
  X(EventOnReady, "Event_OnReady")                                                                                          \
  X(ClientCreate, "Client_Create")                                                                                          \
  X(ClientDestroy, "Client_Destroy")                                                                                        \
  X(ClientPlatformName, "Client_PlatformName")                                                                              \
  X(ClientProcessIndex, "Client_ProcessIndex")                                                                              \
  X(ClientPlatformVersion, "Client_PlatformVersion")                                                                        \
  X(ClientDevices, "Client_Devices")                                                                                        \
  X(ClientAddressableDevices, "Client_AddressableDevices")                                                                  \
  X(ClientLookupDevice, "Client_LookupDevice")                                                                              \
  X(ClientLookupAddressableDevice, "Client_LookupAddressableDevice")                                                        \
  X(ClientAddressableMemories, "Client_AddressableMemories")                                                                \
  X(ClientCompile, "Client_Compile")                                                                                        \
  X(ClientDefaultDeviceAssignment, "Client_DefaultDeviceAssignment")                                                        \
  X(ClientBufferFromHostBuffer, "Client_BufferFromHostBuffer")                                                              \
  X(DescriptionId, "DeviceDescription_Id")                                                                                  \
  X(DescriptionProcessIndex, "DeviceDescription_ProcessIndex")                                                              \
  X(DescriptionAttributes, "DeviceDescription_Attributes")                                                                  \
  X(DescriptionKind, "DeviceDescription_Kind")                                                                              \
  X(DescriptionDebugString, "DeviceDescription_DebugString")                                                                \
  X(DescriptionToString, "DeviceDescription_ToString")                                                                      \
  X(DeviceGetDescription, "Device_GetDescription")                                                                          \
  X(DeviceIsAddressable, "Device_IsAddressable")                                                                            \
  X(DeviceLocalHardwareId, "Device_LocalHardwareId")                                                                        \
  X(DeviceAddressableMemories, "Device_AddressableMemories")                                                                \
  X(DeviceDefaultMemory, "Device_DefaultMemory")                                                                            \
  X(DeviceMemoryStats, "Device_MemoryStats")                                                                                \
  X(MemoryId, "Memory_Id")                                                                                                  \
  X(MemoryKind, "Memory_Kind")                                                                                              \
  X(MemoryDebugString, "Memory_DebugString")                                                                                \
  X(MemoryToString, "Memory_ToString")                                                                                      \
  X(MemoryAddressableByDevices, "Memory_AddressableByDevices")                                                              \
  X(ExecutableDestroy, "Executable_Destroy")                                                                                \
  X(ExecutableName, "Executable_Name")                                                                                      \
  X(ExecutableNumReplicas, "Executable_NumReplicas")                                                                        \
  X(ExecutableNumPartitions, "Executable_NumPartitions")                                                                    \
  X(ExecutableNumOutputs, "Executable_NumOutputs")                                                                          \
  X(ExecutableSizeOfGeneratedCodeInBytes, "Executable_SizeOfGeneratedCodeInBytes")                                          \
  X(ExecutableGetCostAnalysis, "Executable_GetCostAnalysis")                                                                \
  X(ExecutableOutputMemoryKinds, "Executable_OutputMemoryKinds")                                                            \
  X(ExecutableOptimizedProgram, "Executable_OptimizedProgram")                                                              \
  X(ExecutableSerialize, "Executable_Serialize")                                                                            \
  X(LoadedExecutableDestroy, "LoadedExecutable_Destroy")                                                                    \
  X(LoadedExecutableGetExecutable, "LoadedExecutable_GetExecutable")                                                        \
  X(LoadedExecutableAddressableDevices, "LoadedExecutable_AddressableDevices")                                              \
  X(LoadedExecutableDelete, "LoadedExecutable_Delete")                                                                      \
  X(LoadedExecutableIsDeleted, "LoadedExecutable_IsDeleted")                                                                \
  X(LoadedExecutableExecute, "LoadedExecutable_Execute")                                                                    \
  X(ExecutableDeserializeAndLoad, "Executable_DeserializeAndLoad")                                                          \
  X(LoadedExecutableFingerprint, "LoadedExecutable_Fingerprint")                                                            \
  X(BufferDestroy, "Buffer_Destroy")                                                                                        \
  X(BufferElementType, "Buffer_ElementType")                                                                                \
  X(BufferDimensions, "Buffer_Dimensions")                                                                                  \
  X(BufferUnpaddedDimensions, "Buffer_UnpaddedDimensions")                                                                  \
  X(BufferDynamicDimensionIndices, "Buffer_DynamicDimensionIndices")                                                        \
  X(BufferGetMemoryLayout, "Buffer_GetMemoryLayout")                                                                        \
  X(BufferOnDeviceSizeInBytes, "Buffer_OnDeviceSizeInBytes")                                                                \
  X(BufferDevice, "Buffer_Device")                                                                                          \
  X(BufferMemory, "Buffer_Memory")                                                                                          \
  X(BufferDelete, "Buffer_Delete")                                                                                          \
  X(BufferIsDeleted, "Buffer_IsDeleted")                                                                                    \
  X(BufferCopyToDevice, "Buffer_CopyToDevice")                                                                              \
  X(BufferToHostBuffer, "Buffer_ToHostBuffer")                                                                              \
  X(BufferIsOnCpu, "Buffer_IsOnCpu")                                                                                        \
  X(BufferReadyEvent, "Buffer_ReadyEvent")                                                                                  \
  X(BufferUnsafePointer, "Buffer_UnsafePointer")                                                                            \
  X(BufferIncreaseExternalReferenceCount, "Buffer_IncreaseExternalReferenceCount")                                          \
  X(BufferDecreaseExternalReferenceCount, "Buffer_DecreaseExternalReferenceCount")                                          \
  X(BufferOpaqueDeviceMemoryDataPointer, "Buffer_OpaqueDeviceMemoryDataPointer")                                            \
  X(CopyStreamDestroy, "CopyToDeviceStream_Destroy")                                                                        \
  X(CopyStreamAddChunk, "CopyToDeviceStream_AddChunk")                                                                      \
  X(CopyStreamTotalBytes, "CopyToDeviceStream_TotalBytes")                                                                  \
  X(CopyStreamGranuleSize, "CopyToDeviceStream_GranuleSize")                                                                \
  X(CopyStreamCurrentBytes, "CopyToDeviceStream_CurrentBytes")                                                              \
  X(TopologyCreate, "TopologyDescription_Create")                                                                           \
  X(TopologyDestroy, "TopologyDescription_Destroy")                                                                         \
  X(TopologyPlatformName, "TopologyDescription_PlatformName")                                                               \
  X(TopologyPlatformVersion, "TopologyDescription_PlatformVersion")                                                         \
  X(TopologyGetDeviceDescriptions, "TopologyDescription_GetDeviceDescriptions")                                             \
  X(TopologySerialize, "TopologyDescription_Serialize")                                                                     \
  X(TopologyAttributes, "TopologyDescription_Attributes")                                                                   \
  X(Compile, "Compile")                                                                                                     \
  X(ExecutableOutputElementTypes, "Executable_OutputElementTypes")                                                          \
  X(ExecutableOutputDimensions, "Executable_OutputDimensions")                                                              \
  X(BufferCopyToMemory, "Buffer_CopyToMemory")                                                                              \
  X(ClientCreateViewOfDeviceBuffer, "Client_CreateViewOfDeviceBuffer")                                                      \
  X(ExecutableFingerprint, "Executable_Fingerprint")                                                                        \
  X(ClientTopologyDescription, "Client_TopologyDescription")                                                                \
  X(ExecutableGetCompiledMemoryStats, "Executable_GetCompiledMemoryStats")                                                  \
  X(MemoryKindId, "Memory_Kind_Id")                                                                                         \
  X(ExecuteContextCreate, "ExecuteContext_Create")                                                                          \
  X(ExecuteContextDestroy, "ExecuteContext_Destroy")                                                                        \
  X(BufferCopyRawToHost, "Buffer_CopyRawToHost")                                                                            \
  X(TransferManagerDestroy, "AsyncHostToDeviceTransferManager_Destroy")                                                     \
  X(TransferManagerTransferData, "AsyncHostToDeviceTransferManager_TransferData")                                           \
  X(ClientCreateBuffersForAsyncHostToDevice, "Client_CreateBuffersForAsyncHostToDevice")                                    \
  X(TransferManagerRetrieveBuffer, "AsyncHostToDeviceTransferManager_RetrieveBuffer")                                       \
  X(TransferManagerDevice, "AsyncHostToDeviceTransferManager_Device")                                                       \
  X(TransferManagerBufferCount, "AsyncHostToDeviceTransferManager_BufferCount")                                             \
  X(TransferManagerBufferSize, "AsyncHostToDeviceTransferManager_BufferSize")                                               \
  X(TransferManagerSetBufferError, "AsyncHostToDeviceTransferManager_SetBufferError")                                       \
  X(TransferManagerAddMetadata, "AsyncHostToDeviceTransferManager_AddMetadata")                                             \
  X(ClientDmaMap, "Client_DmaMap")                                                                                          \
  X(ClientDmaUnmap, "Client_DmaUnmap")                                                                                      \
  X(ClientCreateUninitializedBuffer, "Client_CreateUninitializedBuffer")                                                    \
  X(ClientUpdateGlobalProcessInfo, "Client_UpdateGlobalProcessInfo")                                                        \
  X(TopologyDeserialize, "TopologyDescription_Deserialize")

struct ApiVersion : Args {
  int major, minor;
};

struct Api : Args {
  ApiVersion version;
  void (*ErrorDestroy)(ErrorDestroyArgs *);
  void (*ErrorMessage)(ErrorMessageArgs *);
#define GLIA_PJRT_FIELD(name, text) Failure *(*name)(name##Args *);
  GLIA_PJRT_CALLS(GLIA_PJRT_FIELD)
#undef GLIA_PJRT_FIELD
};

} // namespace glia::pjrt
