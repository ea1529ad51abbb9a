// Any bytes as a program file. The checksum is made right first, otherwise nothing behind it would ever be reached.
#include "glia/Program/Container.h"
#include "glia/Program/Assembler.h"
#include "glia/Support/Checksum.h"
#include "glia/Support/Diagnostic.h"

#include <cstdlib>
#include <cstring>

using namespace glia;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<std::byte> file(size);
  if (size)
    std::memcpy(file.data(), data, size);
  if (size >= 32) {
    const uint64_t bytes = size;
    std::memcpy(file.data() + 16, &bytes, 8);
    const std::span<const std::byte> all(file);
    const uint64_t sum = checksum64(all.subspan(32), checksum64(all.first(24)));
    std::memcpy(file.data() + 24, &sum, 8);
  }
  Program p;
  try {
    p = loadBytes(file);
  } catch (const Error &) {
    return 0;
  }
  // What is accepted must print and assemble to the same program.
  const std::string text = disassemble(p);
  const Program q = assemble(text, "again.gasm", p.target);
  if (disassemble(q) != text || toBytes(q) != toBytes(p))
    std::abort();
  return 0;
}
