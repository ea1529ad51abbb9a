// Runs the rules on declarations, then on every instruction: may it be issued there, are its operands well formed, and
// what its own definition asks for.
#include "StaticParts.h"

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
    Decoded d;
    for (uint32_t c = 0; c < p.cores; ++c)
      for (int e = 0; e < kNumEngines; ++e) {
        const Stream &s = p.stream(static_cast<int>(c), static_cast<Engine>(e));
        for (uint32_t i = 0; i < s.instrs.size(); ++i) {
          if (r.full())
            return;
          decode(p, static_cast<int>(c), static_cast<Engine>(e), i, d);
          check(d, abilities[s.instrs[i].opcode]);
        }
      }
  }

private:
  struct Ability {
    uint8_t engines = 0, lacking = 0;      // may issue; may not on this target
    bool onTarget = true;
  };
  const Program &p;
  Reporter &r;
  OperandRules operands;
  SyncRules syncs;
  std::vector<Ability> abilities;          // per opcode
  std::vector<std::set<int32_t>> sets;     // per core: activation sets that are loaded
  const InstrDef *tableLoad = nullptr;
  int setSlot = -1;

  void check(const Decoded &d, const Ability &a) {
    syncs.check(d);
    if (!mayIssue(d, a))                   // the other rules would only repeat it
      return;
    const std::vector<OperandInfo> &infos = operands.place(d);
    operands.check(d);
    if (d.def == tableLoad)
      countSet(d);
    if (d.def->check) {
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
      r.fail("ENGINE", d, -1, format("`%s` does not run on the %s engine; it runs on %s", std::string(d.def->name).c_str(),
                                     std::string(name(d.engine)).c_str(), allowed.c_str()), std::string(name(d.engine)), allowed);
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
    r.fail("TARGET-FEATURE", d, -1, format("%s does not have `%s`%s (feature %s)", p.target->name.c_str(), std::string(d.def->name).c_str(),
                                           where.c_str(), std::string(feature).c_str()), "absent", std::string(feature));
  }

  void countSet(const Decoded &d) {
    std::set<int32_t> &mine = sets[d.core];
    const size_t max = static_cast<size_t>(p.target->maxActivationSets);
    if (mine.insert(d.values[setSlot].integer).second && mine.size() > max)
      r.fail("ACT-TABLE-COUNT", d, setSlot, format("`%s` is activation set number %zu of core %d, a program loads at most %zu",
                                                   p.strings[d.values[setSlot].integer].c_str(), mine.size(), d.core, max),
             std::to_string(mine.size()), std::to_string(max));
  }
};

} // namespace

void checkStatic(const Program &p, Reporter &r) {
  checkDeclarations(p, r);
  Instructions(p, r).run();
}

} // namespace glia
