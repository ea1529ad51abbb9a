// The verifier: proves a whole program against every rule, or says what is wrong.
#pragma once
#include "glia/Program/Program.h"
#include "glia/Support/Diagnostic.h"

#include <string>
#include <vector>

namespace glia {

struct VerifyOptions {
  bool requireProved = false; // refuse dynamic accesses that may trap
  size_t maxDiagnostics = 100;
  // Only these rules are reported (empty = all). For tests of single rules.
  std::vector<std::string> only;
};

enum class Proof : uint8_t { Proved, Skips, MayTrap };

struct DynamicAccess { // the verdict on one register- or index-addressed operand
  int core = 0;
  Engine engine = Engine::Sync;
  uint32_t index = 0;
  int slot = 0;
  Proof proof = Proof::MayTrap;
  std::string why;
};

struct VerifyResult {
  std::vector<Diagnostic> diagnostics; // empty: the program is proved
  std::vector<DynamicAccess> dynamicAccesses;
  uint64_t instructions = 0;
  uint64_t loopsWalked = 0,
           loopsByInvariant = 0; // how the loops of a proved program were proved: iteration by iteration, or all at once
  bool ok() const { return diagnostics.empty(); }
};

VerifyResult verify(const Program &p, const VerifyOptions &options = {});

} // namespace glia
