// Collects what the verifier's analyses find. Messages get their advice from the rule book and their place from the
// instruction's origin, so an analysis only says what is wrong.
#pragma once
#include "glia/Program/Decode.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Verify/Verify.h"

#include <string>
#include <string_view>
#include <vector>

namespace glia {

struct InstrRef { // names one instruction of a program
  int core = 0;
  Engine engine = Engine::Sync;
  uint32_t index = 0;
  InstrRef() = default;
  InstrRef(int core, Engine engine, uint32_t index) : core(core), engine(engine), index(index) {}
  InstrRef(const Decoded &d) : core(d.core), engine(d.engine), index(d.index) {}
  friend bool operator==(const InstrRef &, const InstrRef &) = default;
};

class Reporter {
public:
  Reporter(const Program &p, const VerifyOptions &o) : program(p), options(o) {}

  // `rule` is broken by an instruction. `what` is the sentence with the object's name and the number; `slot` is the
  // operand or -1. One report per rule, instruction and slot is kept.
  void fail(std::string_view rule, const InstrRef &at, int slot, std::string what, std::string value = {},
            std::string limit = {}, std::vector<std::string> notes = {});
  // ... by a declaration or by the program as a whole.
  void failProgram(std::string_view rule, std::string what, std::string value = {}, std::string limit = {},
                   std::vector<std::string> notes = {});

  // Whether a report of this rule would be kept (VerifyOptions::only): lets an analysis skip work.
  bool wants(std::string_view rule) const;
  // No further report is kept: an analysis may stop.
  bool full() const { return kept.size() >= options.maxDiagnostics; }
  // Rules broken so far, kept or not: later analyses ask it before they rely on what the rules promise.
  uint64_t broken() const { return total; }

  // "core 0 vector instruction 212: tensor_tensor"; with the kernel, operation, file and line if `place` is asked for.
  std::string describe(const InstrRef &i, bool place = true) const;
  // "`acc` (dst)" for an operand; empty for slot -1.
  std::string operand(const Decoded &d, int slot) const;

  std::vector<Diagnostic> take();
  void forget(); // everything: it was none

private:
  const Program &program;
  const VerifyOptions &options;
  std::vector<Diagnostic> kept;
  uint64_t total = 0, left = 0; // reported at all; wanted but over the limit
  std::string lastRule;         // the last kept report, to drop repetitions
  InstrRef lastAt;
  int lastSlot = -2;
  void keep(std::string_view rule, Diagnostic d);
};

} // namespace glia
