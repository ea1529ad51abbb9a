// Faults that depend on the machine's state and not on who is ordered after whom: strict mode and every-order mode share them.
#pragma once
#include "Definedness.h"
#include "Machine.h"

namespace glia::sim {

// Registers that addresses, trip counts and branches depend on hold something. A loop defines the register it counts in.
void requireRegisters(const Program &p, const StreamState &s, const Prepared &x, EngineDefined &defined);
// The activation set of the instruction's function is resident.
void requireTable(const Program &p, const StreamState &s, const Prepared &x);
// A destination is a source itself or disjoint from it (O3).
void requireApart(const Program &p, const Memory &memory, const Prepared &x);
// What one core sends and what it receives do not share bytes.
void requireApartExchange(const Program &p, const Memory &memory, const Prepared &x);
// An output ends with this element undefined. `writer`: the instruction that wrote it last, where that is known.
[[noreturn]] void undefinedOutput(const Program &p, const Tensor &t, int64_t element, bool written, const InstrId *writer);
inline bool byTensorEngine(const Prepared &x) { return x.d.engine == Engine::Tensor && x.d.def->unit == Unit::Compute; }

} // namespace glia::sim
