// Runs the rules on declarations, then on every instruction: may it be issued there, are its operands well formed, and
// what its own definition asks for.
#include "StaticParts.h"
#include "glia/Support/Checkpoint.h"
#include "glia/Target/WhoHas.h"

#include <algorithm>
#include <set>

namespace glia {

namespace {

// What InstrDef::check sees.
class OneInstruction final : public Check {
public:
  OneInstruction(const Program &p, const Decoded &d, const std::vector<OperandInfo> &infos, Reporter &r)
      : Check(*d.def, *p.target, d.engine, static_cast<int>(p.cores)), p(p), d(d), infos(infos), r(r) {}
  const OperandInfo &operand(int slot) const override { return infos[slot]; }
  int32_t integer(int slot) const override { return d.values[slot].integer; }
  bool isRegister(int slot) const override { return d.values[slot].kind == Value::Register; }
  float number(int slot) const override { return d.values[slot].number; }
  std::span<const uint32_t> list(int slot) const override { return d.values[slot].list; }
  std::string_view text(int slot) const override { return p.strings[d.values[slot].integer]; }
  int core() const override { return d.core; }
  void fail(std::string_view rule, int slot, std::string what, std::string value, std::string limit) override {
    r.fail(rule, d, slot, std::move(what), std::move(value), std::move(limit));
  }

private:
  const Program &p;
  const Decoded &d;
  const std::vector<OperandInfo> &infos;
  Reporter &r;
};

class Instructions {
public:
  Instructions(const Program &p, Reporter &r) : p(p), r(r), operands(p, r), syncs(p, r), sets(p.cores) {
    for (const InstrDef *def : p.opcodes) {
      Ability a;
      a.engines = def->engines;
      a.onTarget = def->feature.empty() || p.target->has(def->feature);
      for (const EngineNeed &n : def->engineNeeds)
        if (!p.target->has(n.feature))
          a.lacking |= 1u << static_cast<int>(n.engine);
      abilities.push_back(a);
      if (def->name == "act_table_load")
        setSlot = def->slot("set"), tableLoad = def;
    }
  }

  void run() {
    for (uint32_t c = 0; c < p.cores; ++c)
      for (int e = 0; e < kNumEngines && !r.full(); ++e)
        runStream(static_cast<int>(c), static_cast<Engine>(e)),
            checkLoops(p, static_cast<int>(c), static_cast<Engine>(e), r);
  }

private:
  struct Ability {
    uint8_t engines = 0, lacking = 0; // may issue; may not on this target
    bool onTarget = true;
  };
  const Program &p;
  Reporter &r;
  OperandRules operands;
  SyncRules syncs;
  std::vector<Ability> abilities; // per opcode
  std::vector<uint32_t> passed = std::vector<uint32_t>(1 << 15);
  Decoded decoded;
  std::vector<std::set<int32_t>> sets; // per core: activation sets that are loaded
  const InstrDef *tableLoad = nullptr;
  int setSlot = -1;

  // An instruction with the same words as one that passed passes too: `passed` remembers such instructions by a hash.
  void runStream(int core, Engine engine) {
    const Stream &s = p.stream(core, engine);
    const uint32_t n = static_cast<uint32_t>(s.instrs.size());
    std::fill(passed.begin(), passed.end(), UINT32_MAX);
    auto wordsOf = [&](uint32_t i) {
      const size_t end = i + 1 < n ? s.instrs[i + 1].words : s.words.size();
      return std::span(s.words.data() + s.instrs[i].words, end - s.instrs[i].words);
    };
    for (uint32_t i = 0; i < n; ++i) {
      if (r.full())
        return;
      checkpoint();
      const Instr &in = s.instrs[i];
      syncs.checkSyncs(*p.opcodes[in.opcode], {core, engine, i},
                       {s.syncs.data() + in.sync, size_t{in.numWaits} + in.numUpdates});
      const std::span<const uint32_t> words = wordsOf(i);
      uint64_t hash = in.opcode;
      for (uint32_t w : words)
        hash = (hash ^ w) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
      uint32_t &like = passed[hash % passed.size()];
      if (like != UINT32_MAX && s.instrs[like].opcode == in.opcode && std::ranges::equal(wordsOf(like), words))
        continue;
      const uint64_t before = r.broken();
      decode(p, core, engine, i, decoded);
      check(decoded, abilities[in.opcode]);
      if (r.broken() == before)
        like = i;
    }
  }

  void check(const Decoded &d, const Ability &a) {
    syncs.checkQueue(d);
    if (!mayIssue(d, a)) // the other rules would only repeat it
      return;
    const std::vector<OperandInfo> &infos = operands.place(d);
    const bool reached = operands.check(d);
    if (d.def == tableLoad)
      countSet(d);
    if (d.def->check && reached) {
      OneInstruction one(p, d, infos, r);
      d.def->check(one);
    }
  }

  bool mayIssue(const Decoded &d, const Ability &a) {
    const int e = static_cast<int>(d.engine);
    if (!a.onTarget) {
      tellFeature(d, d.def->feature, "");
      return false;
    }
    if (!(a.engines >> e & 1)) {
      std::string allowed;
      for (int i = 0; i < kNumEngines; ++i)
        if (a.engines >> i & 1)
          allowed += (allowed.empty() ? "" : ", ") + std::string(name(static_cast<Engine>(i)));
      r.fail("ENGINE", d, -1,
             format("`%s` does not run on the %s engine; it runs on %s", std::string(d.def->name).c_str(),
                    std::string(name(d.engine)).c_str(), allowed.c_str()),
             std::string(name(d.engine)), allowed);
      return false;
    }
    if (a.lacking >> e & 1) {
      for (const EngineNeed &n : d.def->engineNeeds)
        if (n.engine == d.engine)
          tellFeature(d, n.feature, " on the " + std::string(name(d.engine)) + " engine");
      return false;
    }
    return true;
  }

  void tellFeature(const Decoded &d, std::string_view feature, const std::string &where) {
    r.fail("TARGET-FEATURE", d, -1,
           format("%s does not have `%s`%s (feature %s)%s", p.target->name.c_str(), std::string(d.def->name).c_str(),
                  where.c_str(), std::string(feature).c_str(), whoHas(feature).c_str()),
           "absent", std::string(feature));
  }

  void countSet(const Decoded &d) {
    std::set<int32_t> &mine = sets[d.core];
    const size_t max = static_cast<size_t>(p.target->maxActivationSets);
    if (mine.insert(d.values[setSlot].integer).second && mine.size() > max)
      r.fail("ACT-TABLE-COUNT", d, setSlot,
             format("`%s` is activation set number %zu of core %d, a program loads at most %zu",
                    p.strings[d.values[setSlot].integer].c_str(), mine.size(), d.core, max),
             std::to_string(mine.size()), std::to_string(max));
  }
};

} // namespace

void checkStatic(const Program &p, Reporter &r) {
  checkDeclarations(p, r);
  checkInstructions(p, r);
  if (!r.broken())
    checkRanks(p, r);
}

void checkInstructions(const Program &p, Reporter &r) { Instructions(p, r).run(); }

} // namespace glia
