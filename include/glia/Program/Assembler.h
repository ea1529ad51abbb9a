// Programs as text and back (docs/assembly.md). Both directions are derived from the slots of the instruction definitions.
#pragma once
#include "glia/Program/Program.h"

#include <memory>
#include <string>
#include <string_view>

namespace glia {

// `target` wins over a `target` line in the text; one of the two is needed. Throws Error with everything that is wrong
// (at most 50 entries): ASM-SYNTAX, ASM-NAME, ASM-OPERAND, ASM-TARGET, ISA-UNKNOWN, ISA-REFUSED, TARGET-*.
Program assemble(std::string_view text, std::string_view fileName, std::shared_ptr<const Target> target = nullptr);

// The text that assembles to the same program: the same container, byte for byte.
std::string disassemble(const Program &p);
// One instruction, without its origin and without labels' names ("@12" stands for instruction 12). For messages and tables.
std::string disassemble(const Program &p, int core, Engine e, uint32_t index);

} // namespace glia
