// From decoded instructions to operands in memory: addresses, bounds, registers. Both modes use it.
#pragma once
#include "Faults.h"
#include "Memory.h"

#include <memory>

namespace glia::sim {

// One instruction with its operands resolved. What depends on registers is filled in by `bind` each time.
struct Prepared {
  Decoded d;
  InstrId id;
  std::vector<Exec::Operand> operands;
  std::vector<uint8_t> dynamic; // slots that registers take part in
  int queue = -1;
  int indexed = -1;  // DMA: the slot whose rows an index tensor addresses; its bounds are guarded row by row
  int index = -1;    // ... and the slot of the indices
  bool skip = false; // DMA: a register address is out of range and the instruction says to skip
};

class Resolver {
public:
  Resolver(const Program &p, const Memory &m);
  // Decodes and resolves what is static. Throws Fault for what no state can make legal.
  void prepare(int core, Engine e, uint32_t index, Prepared &out) const;
  // Reads registers. Throws Fault OPERAND-BOUNDS, or Trap DGE-OOB for a DMA in error mode.
  void bind(Prepared &x, const EngineState &state) const;

private:
  const Program &program;
  const Memory &memory;
  std::vector<RegionShape> shapes; // of the patterns
  void resolve(Prepared &x, int slot, const EngineState *state) const;
  void checkTarget(const Prepared &x) const;
};

// Applies the rules of the instruction's definition that its semantics rely on (shapes, types, memories): an unverified
// program must not make them read outside their operands. Throws Fault with the rule's code.
void guardRules(const Program &p, const Prepared &x);

} // namespace glia::sim
