#include "glia/Program/RankContract.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>

namespace glia {

static const std::string *contractOf(const Program &p, std::string_view key) {
  for (const ContractItem &c : p.contract)
    if (c.key == key)
      return &c.value;
  return nullptr;
}

// What the first collective says.
static int ranksSaid(const Program &p) {
  if (p.streams.empty() ||
      std::none_of(p.opcodes.begin(), p.opcodes.end(), [](const InstrDef *d) { return isCollective(*d); }))
    return 1;
  const Stream &s = p.stream(0, Engine::GpSimd);
  Decoded d;
  for (uint32_t i = 0; i < s.instrs.size(); ++i)
    if (isCollective(*p.opcodes[s.instrs[i].opcode])) {
      decode(p, 0, Engine::GpSimd, i, d);
      return std::clamp(collectiveOf(p, d).ranks, 1, kMostRanks);
    }
  return 1;
}

int ranksOf(const Program &p) {
  const std::string *text = contractOf(p, kRanksKey);
  if (!text)
    return ranksSaid(p);
  const int n = text->size() <= 9 && text->find_first_not_of("0123456789") == std::string::npos && !text->empty()
                    ? std::stoi(*text)
                    : 0;
  if (n < 1 || n > kMostRanks)
    throw Error("RANK-COUNT", "the program says that it is for `" + *text + "` ranks",
                format("A program is for 1 to %d ranks.", kMostRanks));
  return n;
}

std::string rankInputOf(const Program &p) {
  const std::string *text = contractOf(p, kRankInputKey);
  return text ? *text : std::string();
}

Collective collectiveOf(const Program &p, const Decoded &d) {
  const auto at = [&](std::string_view slot) -> const Value & { return d.values[static_cast<size_t>(d.def->slot(slot))]; };
  Collective c;
  c.kind = static_cast<CollectiveKind>(at("kind").integer);
  c.op = static_cast<CollectiveOp>(at("op").integer);
  const Pattern &src = p.patterns[at("src").access.pattern];
  c.dtype = src.dtype;
  c.elements = src.elements();
  c.ranks = at("ranks").integer;
  c.width = at("width").integer;
  for (const uint32_t r : at("groups").list)
    c.groups.push_back(static_cast<int32_t>(r));
  return c;
}

} // namespace glia
