// Rules on collectives beyond one instruction: all ranks that run a program exchange the same in the same order (docs/ordering.md, R2).
#include "StaticParts.h"
#include "glia/Program/RankContract.h"
#include "glia/ISA/Control.h"

namespace glia {

namespace {

bool hasCollectives(const Program &p) {
  for (const InstrDef *def : p.opcodes)
    if (isCollective(*def))
      return true;
  return false;
}

// How often ranks come to what stands in a loop is the same for all of them only if it is written there.
bool countIsWritten(const Decoded &loop) {
  const int count = loop.def->slot("count");
  return count >= 0 && loop.values[static_cast<size_t>(count)].kind == Value::Int;
}

} // namespace

void checkRanks(const Program &p, Reporter &r) {
  if (!hasCollectives(p))
    return;
  const int ranks = ranksOf(p);
  const Stream &s = p.stream(0, Engine::GpSimd);
  std::vector<bool> loops; // open ones: whether the count is written
  Decoded d;
  for (uint32_t i = 0; i < s.instrs.size(); ++i) {
    const InstrDef &def = *p.opcodes[s.instrs[i].opcode];
    if (endsLoop(def) && !loops.empty())
      loops.pop_back();
    if (!beginsLoop(def) && !isCollective(def))
      continue;
    decode(p, 0, Engine::GpSimd, i, d);
    if (beginsLoop(def)) {
      loops.push_back(countIsWritten(d));
      continue;
    }
    if (const int said = collectiveOf(p, d).ranks; said != ranks)
      r.fail("COLLECTIVE-RANKS", d, def.slot("ranks"), format("it is for %d ranks and the program for %d", said, ranks),
             std::to_string(said), std::to_string(ranks));
    if (std::find(loops.begin(), loops.end(), false) != loops.end())
      r.fail("COLLECTIVE-LOOP", d, -1,
             "it stands in a loop whose count is not written in the program, so ranks may come here unequally often");
  }
}

} // namespace glia
