// An object in a slot, ready to be copied: everything is the program's but what differs from call to call.
#pragma once
#include "Layout.h"

namespace glia::link {

struct Patch { // a word that each call fills in
  enum Kind : uint8_t { Tensor, LoopLabel, BranchLabel, Barrier } kind;
  uint32_t word;
  uint32_t value; // the object's tensor, instruction or text
};

struct Part { // what one engine does
  std::vector<Instr>
      instrs; // `words` and `sync` count from the start of the part; the opcode is the program's, the origin the object's
  std::vector<uint32_t> words;
  std::vector<SyncOp> syncs;
  std::vector<Patch> patches; // ascending
};

struct Template {
  std::vector<std::array<Part, kNumEngines>> parts; // [core]
};

class TemplateMaker {
public:
  TemplateMaker(const Composition &c, Layout &layout, Builder &b) : c(c), layout(layout), b(b) {}
  Template make(uint32_t object, int slot);
  uint16_t opcode(const InstrDef *d);

private:
  const Composition &c;
  Layout &layout;
  Builder &b;
  std::map<const InstrDef *, uint16_t> opcodes;

  void fill(Part &out, const Object &o, uint32_t object, int slot, int core, Engine e);
};

} // namespace glia::link
