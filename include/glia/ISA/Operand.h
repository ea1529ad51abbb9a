// What instructions are made of: engines, memories, tensor operands, semaphore operations.
#pragma once
#include "glia/Support/DType.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace glia {

enum class Engine : uint8_t { Tensor, Vector, Scalar, GpSimd, Sync };
inline constexpr int kNumEngines = 5;
std::string_view name(Engine e); // "tensor" "vector" "scalar" "gpsimd" "sync"

enum class Space : uint8_t { Sbuf, Psum, Hbm };
std::string_view name(Space s);

enum class TensorKind : uint8_t { Input, Output, Constant, Scratch };

enum class ObjectKind : uint8_t { Tensor, Allocation };
struct ObjectRef {
  ObjectKind kind = ObjectKind::Tensor;
  uint32_t index = 0;
  friend bool operator==(const ObjectRef &, const ObjectRef &) = default;
};

// ---- operands -------------------------------------------------------------------------------------

struct Dim {
  int32_t stride = 1; // elements (of the pattern's dtype)
  uint32_t count = 1;
  friend bool operator==(const Dim &, const Dim &) = default;
};

// A register added to an address: `scale` bytes (or partitions) per unit of the register's value.
struct DynamicTerm {
  uint8_t reg = 0;
  bool partition = false;
  int64_t scale = 0;
  friend bool operator==(const DynamicTerm &, const DynamicTerm &) = default;
};

inline constexpr int kMaxDims = 5;
inline constexpr int kMaxDynamicTerms = 2;

// Everything about a tensor operand except where it starts. Interned: equal patterns share one index.
// On chip: `partitions` lanes, each with the same free pattern `dims` (slowest first, at most 4).
// In HBM: partitions == 0 and `dims` (at most 5) enumerate all elements.
struct Pattern {
  DType dtype = DType::F32;
  uint8_t rank = 0;
  uint8_t numDynamic = 0;
  uint16_t partitions = 0;
  std::array<Dim, kMaxDims> dims{};
  std::array<DynamicTerm, kMaxDynamicTerms> dynamic{};
  int64_t elementsPerPartition() const; // product of dims
  int64_t elements() const { return elementsPerPartition() * (partitions ? partitions : 1); }
  bool contiguous() const; // dims enumerate one run of adjacent elements
  friend bool operator==(const Pattern &, const Pattern &) = default;
};

// A tensor operand: object + start + pattern. Starts are relative to the object.
struct Access {
  uint32_t pattern = 0; // index into the program's patterns
  ObjectRef object;
  int64_t byteOffset = 0; // HBM: in the tensor; on chip: in the partition, from the allocation's start
  int32_t partition = 0;  // on chip: from the allocation's first partition
  friend bool operator==(const Access &, const Access &) = default;
};

enum class SyncKind : uint8_t {
  WaitGe,        // wait until the semaphore is >= value
  WaitGeConsume, // the same, and then subtract value from it, in one step
  Add,           // when the instruction (for DMA: each of its 16 parts) completes. DMA: value must be 16, one per part
  Sub,
  Write,
};

struct SyncOp {           // 8 bytes
  uint16_t semaphore = 0; // index into Program::semaphores
  SyncKind kind = SyncKind::WaitGe;
  uint8_t reserved = 0;
  int32_t value = 0;
};
static_assert(sizeof(SyncOp) == 8);

} // namespace glia
