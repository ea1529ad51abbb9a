// Memory for many bytes. Large blocks that are let go of are kept for who wants as many next: fresh memory of the system costs more than what
// is copied into it.
#pragma once
#include <cstddef>

namespace glia {

enum class Fill { None, Zero };

// Of at least `bytes`, with the alignment of a cache line; throws std::bad_alloc. It is given back with the same size.
std::byte *takeBlock(size_t bytes, Fill fill);
void giveBlock(std::byte *block, size_t bytes);

inline constexpr size_t kMostKept = size_t{256} << 20; // bytes of free blocks, of the whole process
size_t keptBytes();                                    // of them, now

} // namespace glia
