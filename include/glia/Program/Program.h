// A program: per-core, per-engine instruction streams over HBM tensors and on-chip allocations.
// This is the in-memory form, the container is a dump of its arrays (Container.h), the builder makes it (Builder.h).
#pragma once
#include "glia/ISA/Operand.h"
#include "glia/Program/PodArray.h"
#include "glia/Support/DType.h"
#include "glia/Target/Target.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace glia {

struct InstrDef;

// ---- objects an operand can name ------------------------------------------------------------------

struct Tensor { // in HBM
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  TensorKind kind = TensorKind::Scratch;
  bool shared = true;               // private: each core has its own copy (scratch only)
  std::vector<std::byte> data;      // constants: the bytes
  bool hasRange = false;            // inputs: a promise on the values, checked when the program runs
  int64_t rangeLo = 0, rangeHi = 0; // inclusive, integer types only
  bool uniqueRows = false;          // inputs: a promise that all values are distinct (checked likewise)
  std::string from; // outputs: the name of the input whose elements it holds when the program begins; empty: none
  // The input that the caller gives for it; empty if there is none.
  std::string_view inputName() const { return kind == TensorKind::Input ? std::string_view(name) : std::string_view(from); }
  int64_t elements() const;
  int64_t bytes() const { return elements() * sizeOf(dtype); }
};

struct Allocation { // in SBUF or PSUM of one core
  std::string name;
  Space space = Space::Sbuf;
  uint8_t core = 0;
  DType dtype = DType::F32;
  std::vector<int64_t> shape; // shape[0] = partitions, the rest is the free size
  int32_t partition = 0;      // first partition
  int64_t byteOffset = 0;     // in the partition
  // Lifetime in ticks [liveFrom, liveTo). Two allocations that overlap in memory must not overlap in ticks.
  // That the ticks are true is proved: bytes belong to the allocation that wrote them last.
  uint32_t liveFrom = 0, liveTo = UINT32_MAX;
  int64_t partitions() const { return shape.empty() ? 0 : shape[0]; }
  int64_t freeElements() const;
  int64_t bytesPerPartition() const { return freeElements() * sizeOf(dtype); }
};

struct Semaphore {
  std::string name;
  uint8_t core = 0;
  int32_t initial = 0;
};

struct Queue { // a DMA queue of one core
  std::string name;
  uint8_t core = 0;
};

// ---- instructions ---------------------------------------------------------------------------------

struct Instr {                          // 16 bytes; operand words and sync ops are in the stream's pools
  uint16_t opcode = 0;                  // index into Program::opcodes
  uint8_t numWaits = 0, numUpdates = 0; // sync ops: waits first, then updates
  uint32_t words = 0;                   // first word in Stream::words
  uint32_t sync = 0;                    // first op in Stream::syncs
  uint32_t origin = 0;                  // index into Program::origins
};
static_assert(sizeof(Instr) == 16);

struct Stream { // what one engine of one core executes, in this order
  PodArray<Instr> instrs;
  PodArray<uint32_t> words;
  PodArray<SyncOp> syncs;
};

struct InstrOrigin {                            // where an instruction came from
  uint32_t kernel = 0, operation = 0, file = 0; // indices into Program::strings
  uint32_t line = 0;
  friend bool operator==(const InstrOrigin &, const InstrOrigin &) = default;
};

// ---- for kernel objects (the linker uses these; a finished program may leave them empty) -----------

struct Symbol {
  std::string name;
  ObjectRef object;
  bool defined = true; // false: to be bound when linked
};
struct Relocation { // "this object's address is bound when linked"
  uint32_t symbol = 0;
  ObjectRef object;
};
struct ContractItem { // one promise or need, e.g. {"sbuf.bytes", "16384"}
  std::string key, value;
};

class Program {
public:
  std::shared_ptr<const Target> target;
  uint32_t cores = 1;
  std::vector<Tensor> tensors;
  std::vector<Allocation> allocations;
  std::vector<Semaphore> semaphores;
  std::vector<Queue> queues;
  std::vector<Pattern> patterns;
  std::vector<std::string> strings{""}; // interned text; index 0 is empty
  std::vector<InstrOrigin> origins{InstrOrigin{}};
  std::vector<const InstrDef *> opcodes;                // the instructions this program uses
  std::vector<std::array<Stream, kNumEngines>> streams; // [core][engine]
  std::vector<Symbol> symbols;
  std::vector<Relocation> relocations;
  std::vector<ContractItem> contract;
  std::shared_ptr<const void> mapping; // keeps a mapped container alive

  Stream &stream(int core, Engine e) { return streams[core][static_cast<int>(e)]; }
  const Stream &stream(int core, Engine e) const { return streams[core][static_cast<int>(e)]; }
  uint64_t instructionCount() const;
  Space space(ObjectRef o) const;
  const std::string &objectName(ObjectRef o) const;
  int findTensor(std::string_view name) const; // -1 if absent
  int findInput(std::string_view name) const;  // the tensor that holds that input when the program begins; -1 if absent
};

} // namespace glia
