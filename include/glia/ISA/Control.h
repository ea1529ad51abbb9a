// Which instructions begin a loop: the assembler, the verifier and the simulators pair them with end_loop.
#pragma once
#include "glia/ISA/Instruction.h"

namespace glia {

inline bool isWhile(const InstrDef &d) { return d.name == "while"; }
inline bool beginsLoop(const InstrDef &d) { return d.name == "loop" || isWhile(d); }
inline bool endsLoop(const InstrDef &d) { return d.name == "end_loop"; }

} // namespace glia
