// Assembles instruction lines: operands by slot, waits and updates, labels and loops.
#pragma once
#include "AsmCursor.h"
#include "AsmNames.h"
#include "glia/Program/Builder.h"

namespace glia {

class AsmInstruction {
public:
  AsmInstruction(Builder &b, AsmNames &names) : b(b), names(names) {}

  // From behind the engine to the end of the line. A line that places a label at the end of a stream is one too.
  void parse(AsmCursor &c, int core, Engine e);
  void pendingLabel(std::string name, SourcePlace place); // for the engine of the next instruction
  // After the last line: binds labels and loops. Problems are added to `errors`.
  void finish(std::vector<Diagnostic> &errors);

private:
  struct StreamState {
    std::map<std::string, uint32_t, std::less<>> labels;
    struct OpenLoop {
      uint32_t index;
      bool explicitEnd;
      SourcePlace place;
    };
    std::vector<OpenLoop> loops;
  };
  struct Use {
    int core;
    Engine engine;
    uint32_t index;
    std::string label;
    SourcePlace place;
  };

  Builder &b;
  AsmNames &names;
  std::map<std::pair<int, Engine>, StreamState> streams;
  std::vector<Use> uses, usesOfLine;                        // those of a line count once it is complete
  std::vector<std::pair<std::string, SourcePlace>> waiting; // labels that stand before the next instruction

  void bindLabel(const AsmCursor &c, int core, Engine e, const std::string &name, SourcePlace place);
  Value parseValue(AsmCursor &c, int core, Engine e, const InstrDef &def, const Slot &slot, std::vector<uint32_t> &list);
  Access parseAccess(AsmCursor &c, int core);
  View parseBraces(AsmCursor &c, bool onChip);
  int parseRegister(AsmCursor &c);
  int parseChoice(AsmCursor &c, const InstrDef &def, const Slot &slot);
  void parseWaits(AsmCursor &c, int core, Emit &e);
  void parseUpdates(AsmCursor &c, int core, Emit &e);
};

} // namespace glia
