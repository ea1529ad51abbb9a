// A fast 64-bit checksum against damage (not against forgery). docs/program-format.md describes it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace glia {

uint64_t checksum64(std::span<const std::byte> bytes, uint64_t seed = 0);

} // namespace glia
