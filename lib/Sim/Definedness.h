// Which bytes hold a value: one bit per byte, following each instruction's flow from sources to destinations.
#pragma once
#include "Rects.h"
#include "Resolve.h"
#include "Shadow.h"

namespace glia::sim {

class DefinedBits {
public:
  DefinedBits(const MemoryInfo &info);
  bool all(int row, int64_t lo, int64_t hi) const;
  void set(int row, int64_t lo, int64_t hi, bool defined);
  int64_t firstUndefined(int row) const;                                     // -1: none
  size_t memory() const { return high > low ? (high - low) * rows * 8 : 0; } // of the columns that were ever set

private:
  bool always; // inputs and constants
  int rows;
  int64_t bytes, words;              // words per row
  int64_t low = INT64_MAX, high = 0; // words that were ever set
  Pages pages;
  // A word of all rows, then the next: tiles are narrow and use all rows, so they need few pages.
  uint64_t &word(int row, int64_t i) const { return reinterpret_cast<uint64_t *>(pages.data())[i * rows + row]; }
};

// Definedness of one engine's registers.
struct EngineDefined {
  uint64_t regs = 0;                      // a register is undefined until it is written
  std::array<bool, kLanes> accumulator{}; // undefined until a reset or a load
};

class Definedness {
public:
  explicit Definedness(const Memory &m);

  // Sends definedness through one instruction. `foreign[slot]` are bytes that belong to another allocation.
  void apply(const Prepared &x, const std::vector<Exec::Operand> &operands,
             const std::vector<std::vector<ByteRect>> &foreign, EngineDefined &engine);
  // One direction of an exchange: slot `src` is the other core's source.
  void exchange(const Prepared &x, int src, int srcCore, const std::vector<ByteRect> &foreign);
  bool defined(const Region &r, int core, const std::vector<ByteRect> &foreign) const;
  // One flag per element of a stretch of bytes (indexed transfers say what they touch as they go).
  void elements(int memory, int row, int64_t lo, int64_t bytes, int size, std::vector<uint8_t> &undefined) const;
  void store(int memory, int row, int64_t lo, int size, const uint8_t *undefined, int64_t count);
  int64_t firstUndefined(int memory) const { return bits[memory].firstUndefined(0); }
  size_t memory() const;
  int memoryOf(const Region &r, int core) const { return memories.place(r.object, core).memory; }

private:
  const Memory &memories;
  std::vector<DefinedBits> bits;

  using Flags = std::vector<uint8_t>; // one per element, 1 = undefined; partitions outermost
  Flags flagsOf(const Region &r, int core, const std::vector<ByteRect> &foreign) const;
  void setAll(const Region &r, int core, bool defined);
  void setFlags(const Region &r, int core, const Flags &undefined);
};

// The undefined elements of a result, given those of the sources: the meaning of Flow. Slots that are absent or whole have
// empty flags.
struct FlowSource {
  const Region *region;
  const std::vector<uint8_t> *undefined;
  int slot;
};
std::vector<uint8_t> flowInto(const Prepared &x, const Region &out, std::span<const FlowSource> sources);

bool isRead(const Prepared &x, int slot); // a tensor operand whose old contents take part

} // namespace glia::sim
