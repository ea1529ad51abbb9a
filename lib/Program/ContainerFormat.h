// The layout of the program file, shared by its writer and its reader. docs/program-format.md says it in words.
#pragma once
#include <cstddef>
#include <cstdint>

namespace glia {

inline constexpr unsigned char kMagic[8] = {0x89, 'G', 'L', 'I', 'A', '\r', '\n', 0x1A};

struct ContainerHeader {
  unsigned char magic[8];
  uint32_t version;
  uint32_t sections;
  uint64_t fileBytes;
  uint64_t checksum; // of the 24 bytes before it and everything behind it
};
static_assert(sizeof(ContainerHeader) == 32);

// In the file, a fifth kind of tensor: an output whose record ends in the name of the input that it begins as.
inline constexpr uint8_t kOutputFromInput = 4;

// In this order in the table and in the file. All are present; many may be empty.
enum class Section : uint32_t {
  Target = 1,
  Opcodes,
  Tensors,
  Constants,
  Allocations,
  Semaphores,
  Queues,
  Patterns,
  Strings,
  Origins,
  Streams,
  Instructions,
  Words,
  Syncs,
  Symbols,
  Relocations,
  Contract,
};
inline constexpr uint32_t kNumSections = 17;

struct SectionEntry {
  uint32_t id;
  uint32_t reserved;
  uint64_t offset; // a multiple of 8; sections follow each other with less than 8 zero bytes between them
  uint64_t bytes;
};
static_assert(sizeof(SectionEntry) == 24);

inline uint64_t alignUp(uint64_t n) { return (n + 7) & ~uint64_t{7}; }

} // namespace glia
