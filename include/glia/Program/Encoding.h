// How operand words are laid out (docs/program-format.md). Shared by the decoder, the builder and the structural check.
// First all one-byte slots, four to a word; then the other slots in order.
#pragma once
#include "glia/ISA/Instruction.h"

namespace glia {

inline constexpr uint32_t kAbsentWord = 0xFFFFFFFFu;    // an optional operand that is not there
inline constexpr uint32_t kImmediateWord = 0xFFFFFFFEu; // a Scalar slot holding a number: one more word

inline bool isPackedSlot(SlotKind k) { return k == SlotKind::Enum || k == SlotKind::Flag || k == SlotKind::Small; }

} // namespace glia
