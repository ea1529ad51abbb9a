// What the semantics of an instruction see: its operands, resolved to memory, one partition (row) at a time.
// Fast and strict mode run the same semantics; in strict mode every row access is recorded.
#pragma once
#include "glia/ISA/Instruction.h"
#include "glia/Target/Target.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace glia {

// A tensor operand with its address resolved. HBM operands have one "partition" that holds all elements.
struct Region {
  std::byte *base = nullptr; // first element
  int64_t pitch = 0;         // bytes from one partition to the next
  int32_t partitions = 1;
  DType dtype = DType::F32;
  Space space = Space::Sbuf;
  uint8_t rank = 0;
  std::array<int64_t, kMaxDims> strides{}; // bytes
  std::array<int64_t, kMaxDims> counts{};
  int64_t elements = 0; // per partition
  bool contiguous = false;
  int32_t firstPartition = 0; // absolute (on chip)
  int64_t start = 0;          // absolute byte in the partition, or in the HBM tensor
  ObjectRef object;
  int64_t objectBytes = 0; // HBM: size of the tensor, for guarded indices
  std::byte *row(int p) const { return base + p * pitch; }
};

// What a pattern alone says of a region, and the bytes it reaches from its first element: [lo, hi).
struct RegionShape {
  Region region;
  int64_t lo = 0, hi = 0;
};
RegionShape regionShape(const Pattern &p);
// An address that no memory reaches stays one, and small enough to add to.
int64_t saturate(__int128 v);

inline constexpr int kLanes = 128;

// State of one engine that outlives an instruction.
struct EngineState {
  std::array<int32_t, 64> regs{};
  std::array<float, kLanes> accumulator{}; // Scalar: activation sums; Vector: the shared accumulator
  int activationSet = -1;                  // Scalar: resident set (index in the target), -1 = none
};

// Strict mode's listener. `bytes` runs are reported as they are really touched.
class AccessRecorder {
public:
  virtual ~AccessRecorder() = default;
  virtual void touched(int slot, const Region &r, int partition, int64_t byteInRow, int64_t bytes, bool write) = 0;
};

// A guarded trap: a defined result of a program (an index out of range in error mode), not a fault.
struct Trap {
  std::string code, message;
};

class Exec {
public:
  Exec(const Target &target) : target(target) {}
  const Target &target;
  const InstrDef *def = nullptr;
  Engine engine = Engine::Sync;
  int core = 0;
  EngineState *state = nullptr;
  // Dma only: this call does part `part` of `parts`; `rows` outermost rows are dealt out in equal shares.
  int part = 0, parts = 1;
  AccessRecorder *recorder = nullptr;
  std::string *printed = nullptr; // device_print appends here

  // ---- filled by the simulator before each call -----------------------------------------------------
  struct Operand {
    bool present = false, immediate = false;
    float number = 0;
    int32_t integer = 0; // Int Enum Flag Small RegOrInt(resolved) Reg(number)
    Region region;
    std::span<const uint32_t> list;
    std::string_view text;
  };
  std::vector<Operand> operands;

  // ---- for the semantics ----------------------------------------------------------------------------
  bool has(int slot) const { return operands[slot].present; }
  const Region &region(int slot) const { return operands[slot].region; }
  int32_t integer(int slot) const { return operands[slot].integer; }
  float number(int slot) const { return operands[slot].number; }
  std::span<const uint32_t> list(int slot) const { return operands[slot].list; }
  std::string_view text(int slot) const { return operands[slot].text; }
  int32_t &reg(int slot) const { return state->regs[operands[slot].integer]; }
  float scalar(int slot, int p); // Scalar slot: the immediate, or partition p's element as fp32

  // One partition of an operand as adjacent values: the operand itself if it already has that form, else scratch.
  // A pointer stays valid until the next read of the same slot.
  const float *readF32(int slot, int p);
  const int32_t *readI32(int slot, int p);   // integer types of up to 32 bits, exact (u32: the bit pattern)
  const int32_t *readBits(int slot, int p);  // the same, narrower types extended with zeros
  const std::byte *readRaw(int slot, int p); // the elements' bytes, packed
  // A place for one partition of a result; `commit*` stores it (fp32: rounded to nearest even, integers saturate).
  float *writeF32(int slot, int p);
  void commitF32(int slot, int p);
  int32_t *writeI32(int slot, int p);
  void commitI32(int slot, int p); // integers narrower than 32 bits keep the low bits
  std::byte *writeRaw(int slot, int p);
  void commitRaw(int slot, int p);
  [[noreturn]] void trap(std::string code, std::string message);
  // For semantics that address memory themselves (DMA, gathers): tell strict mode what was touched.
  void note(int slot, int p, int64_t byteInRow, int64_t bytes, bool write) {
    if (recorder)
      recorder->touched(slot, operands[slot].region, p, byteInRow, bytes, write);
  }

private:
  std::vector<std::vector<std::byte>> scratch; // per slot
  std::byte *scratchFor(int slot, int64_t bytes);
  void noteRow(int slot, int p, bool write);
};

} // namespace glia
