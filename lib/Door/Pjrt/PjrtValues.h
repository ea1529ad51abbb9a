// The binary interface between a framework and a PJRT plugin, version 0.75: what lies where in memory. A framework of a later version
// serves a plugin of this one. Every call takes one structure (PjrtAbi.h). Objects (Client, Buffer ...) are the plugin's own: the framework only
// holds pointers to them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace glia::pjrt {

constexpr int kMajor = 0, kMinor = 75;

class Client;
class Device;
class Memory;
class Buffer;
class Event;
class Executable;
class LoadedExecutable;
class Topology;
class TransferManager;
class ExecuteContext;
class CopyStream;
class SerializedExecutable;
class SerializedTopology;
struct Failure; // an error

struct Extension {
  size_t structSize;
  int type;
  Extension *next;
};

struct Args {
  size_t structSize;
  Extension *extensions;
};

// ---- values ---------------------------------------------------------------------------------------

enum class Code : int { // of errors
  Cancelled = 1,
  Unknown = 2,
  InvalidArgument = 3,
  NotFound = 5,
  ResourceExhausted = 8,
  FailedPrecondition = 9,
  Unimplemented = 12,
  Internal = 13,
  DataLoss = 15,
};

enum class ElementType : int {
  Invalid,
  Pred,
  S8,
  S16,
  S32,
  S64,
  U8,
  U16,
  U32,
  U64,
  F16,
  F32,
  F64,
  BF16,
  C64,
  C128,
  F8E5M2,
  F8E4M3FN,
  F8E4M3B11FNUZ,
  F8E5M2FNUZ,
  F8E4M3FNUZ,
  S4,
  U4,
  Token,
  S2,
  U2,
  F8E4M3,
  F8E3M4,
  F8E8M0FNU,
  F4E2M1FN,
};

enum class ValueType : int { String, Int64, Int64List, Float, Bool };

struct NamedValue : Args {
  const char *name;
  size_t nameSize;
  ValueType type;
  union {
    const char *string;
    int64_t integer;
    const int64_t *integers;
    float number;
    bool truth;
  };
  size_t valueSize;
};

enum class LayoutType : int { Tiled, Strides };

struct TiledLayout : Args {
  const int64_t *minorToMajor;
  size_t minorToMajorSize;
  const int64_t *tileDims;
  const size_t *tileDimSizes;
  size_t numTiles;
};

struct StridesLayout : Args {
  const int64_t *byteStrides;
  size_t numByteStrides;
};

struct MemoryLayout : Args {
  union {
    TiledLayout tiled;
    StridesLayout strides;
  };
  LayoutType type;
};

struct ModuleCode : Args { // the program as the framework gives it
  char *code;              // out for OptimizedProgram
  size_t codeSize;
  const char *format; // "mlir"
  size_t formatSize;
};

struct ShapeSpec : Args {
  const int64_t *dims;
  size_t numDims;
  ElementType type;
};

struct Chunk {
  void *data;
  size_t size;
  void (*deleter)(void *data, void *argument);
  void *deleterArgument;
};

struct ProcessInfo {
  int task;
  uint64_t incarnation;
  int state;
  int errorCode;
  const char *errorMessage;
  size_t errorMessageSize;
};

struct ExecuteOptions : Args {
  void **sendCallbacks, **receiveCallbacks;
  size_t numSends, numReceives;
  int launchId;
  const int64_t *nonDonatable;
  size_t numNonDonatable;
  ExecuteContext *context;
};

} // namespace glia::pjrt
