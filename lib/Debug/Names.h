// How people name engines and instructions of a program: vector, core1.vector, core0.vector#12.
#pragma once
#include "Sim/Faults.h"
#include "glia/Program/Program.h"

#include <optional>

namespace glia::debug {

std::string streamName(int stream);                     // core0.vector
std::string instrName(sim::InstrId id);                 // core0.vector#12
std::string placeOf(const Program &p, uint32_t origin); // file.py:24, or nothing
// "core0.vector#12  tensor_tensor ...  (k.py:24)"
std::string instrText(const Program &p, sim::InstrId id);
inline int streamOf(sim::InstrId id) { return id.core * kNumEngines + static_cast<int>(id.engine); }

std::optional<int> parseStream(const Program &p, std::string_view text); // without a core: core 0
std::optional<sim::InstrId> parseInstr(const Program &p, std::string_view text);
std::optional<uint64_t> parseCount(std::string_view text); // digits only
std::string_view trimmed(std::string_view text);
// The first word, which is taken away.
std::string_view word(std::string_view &text);

} // namespace glia::debug
