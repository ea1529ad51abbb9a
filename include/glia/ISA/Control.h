// Which instructions begin a loop (the assembler, the verifier and the simulators pair them with end_loop), and when a branch is taken.
#pragma once
#include "glia/ISA/Instruction.h"

namespace glia {

inline bool isWhile(const InstrDef &d) { return d.name == "while"; }
inline bool beginsLoop(const InstrDef &d) { return d.name == "loop" || isWhile(d); }
// Whether a branch with this condition is taken.
inline bool branches(std::string_view cond, int32_t a, int32_t b) {
  return cond == "always" || (cond == "lt" && a < b) || (cond == "le" && a <= b) || (cond == "eq" && a == b) ||
         (cond == "ne" && a != b) || (cond == "ge" && a >= b) || (cond == "gt" && a > b);
}

inline bool endsLoop(const InstrDef &d) { return d.name == "end_loop"; }

} // namespace glia
