// Instructions as values: decoding of operand words, driven by the instruction's slots. Encoding is in Builder.h.
#pragma once
#include "glia/ISA/Instruction.h"
#include "glia/Program/Program.h"

namespace glia {

struct Value {
  enum Kind : uint8_t { Absent, Tensor, Float, Int, Register, Ints, Text } kind = Absent;
  int32_t integer = 0;            // Int (also Enum, Flag, Small, Label, Queue), Register: its number, Text: string index
  float number = 0;               // Float, and the immediate of a Scalar slot
  Access access;                  // Tensor
  std::span<const uint32_t> list; // Ints
};

struct Decoded {
  const InstrDef *def = nullptr;
  int core = 0;
  Engine engine = Engine::Sync;
  uint32_t index = 0;
  uint32_t origin = 0;
  std::span<const SyncOp> waits, updates;
  std::vector<Value> values; // one per slot; reuse a Decoded to keep this storage
};

// Reads instruction `index`. The program must be structurally sound (see checkStructure).
void decode(const Program &p, int core, Engine e, uint32_t index, Decoded &out);

// Every index, count and enum of the program is in range, every word belongs to an instruction. Throws Error
// CONTAINER-* on the first thing that is not. Needed once for anything read from outside.
void checkStructure(const Program &p);

} // namespace glia
