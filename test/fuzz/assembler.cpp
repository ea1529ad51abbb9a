// Any text: refused with an error, or a program whose text reads back as the same program.
#include "glia/Program/Assembler.h"
#include "glia/Program/Container.h"
#include "glia/Support/Diagnostic.h"

#include <cstdlib>

using namespace glia;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const auto target = loadTarget("trn2");
  try {
    // A `target "path"` line would open files: the target is given, so it is only parsed.
    const Program p = assemble({reinterpret_cast<const char *>(data), size}, "fuzz.gasm", target);
    const std::string text = disassemble(p);
    const Program q = assemble(text, "again.gasm", target);
    if (disassemble(q) != text || toBytes(q) != toBytes(p))
      std::abort();
  } catch (const Error &e) {
    if (e.diagnostics().empty() || e.diagnostics()[0].code.starts_with("CONTAINER-"))
      std::abort(); // the assembler must have found it first
  }
  return 0;
}
