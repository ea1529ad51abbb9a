// Strict mode and the rule book speak of the same things by the same names: the bad program of a rule either runs to its end (the
// rule is about limits that a run does not meet) or faults by that rule, under every seed.
#include "SimPrograms.h"
#include "glia/Program/Assembler.h"
#include "glia/Program/TensorParts.h"
#include "glia/Runtime/Docs.h"
#include "glia/Verify/RuleBook.h"

#include <gtest/gtest.h>
#include <set>

using namespace glia;
using namespace glia::simtest;

namespace {

std::string faultOf(const Program &p, uint64_t seed) {
  TensorData inputs; // zeros, or 0, 1, 2 ... where the values are to be distinct
  for (const CallerTensor &c : callerTensors(p))
    if (const Tensor &t = c.whole; !c.isOutput()) {
      std::vector<std::byte> &data = inputs[t.name];
      data.resize(static_cast<size_t>(t.bytes()));
      for (int32_t i = 0; p.tensors[c.tensor].uniqueRows && i < t.elements(); ++i)
        std::memcpy(data.data() + i * sizeOf(t.dtype), &i, static_cast<size_t>(sizeOf(t.dtype)));
    }
  RunOptions o;
  o.strict = true;
  o.seed = seed;
  const RunResult r = run(p, inputs, o);
  return r.fault ? r.fault->code : r.trap ? "trap " + r.trap->code : "";
}

// Rules that a run cannot see broken, and why.
struct Unseen {
  const char *why;
  std::set<std::string> rules;
};
const Unseen kUnseen[] = {
    {"the simulator's memory is not packed and has no limits of its own",
     {"ALLOC-ALIGN", "ALLOC-BOUNDS", "ALLOC-OVERLAP", "HBM-CAPACITY", "QUEUE-COUNT", "SEMAPHORE-COUNT", "CORE-COUNT"}},
    {"a limit of the encoding or of an engine's address unit, not of what is computed",
     {"DMA-DIMS", "DTYPE-TARGET", "ENGINE-REACH", "FREE-SIZE", "NEGATIVE-STRIDE", "OPERAND-ALIGN", "PARTITION-START",
      "PATTERN-FIELDS"}},
    {"what cannot be proved may still go well", {"COLLECTIVE-LOOP", "DYNAMIC-UNPROVED", "INPUT-RANGE", "SYNC-RANGE"}},
    {"a form the verifier asks for; the bad program itself is ordered, or ends before it shows",
     {"LOOP-BALANCE", "LOOP-FORM", "LOOP-GROUP", "LOOP-ORDER", "SYNC-AMBIGUOUS", "SYNC-CONSUMER", "SYNC-FORM",
      "WRITE-ONCE"}},
};

bool seen(const std::string &rule) {
  for (const Unseen &u : kUnseen)
    if (u.rules.count(rule))
      return false;
  return true;
}

} // namespace

TEST(StrictRules, BadProgramsFaultByTheirRule) {
  for (const Rule &r : allRules()) {
    const Program p = assemble(r.bad, r.id + ".gasm", loadTarget(r.target));
    for (uint64_t seed = 0; seed < 5; ++seed)
      EXPECT_EQ(faultOf(p, seed), seen(r.id) ? r.id : "") << r.id << ", seed " << seed;
  }
}

TEST(StrictRules, GoodProgramsRun) {
  for (const Rule &r : allRules())
    EXPECT_EQ(faultOf(assemble(r.good, r.id + ".gasm", loadTarget(r.target)), 1), "") << r.id;
}

TEST(StrictRules, TheTableNamesRules) {
  for (const Unseen &u : kUnseen)
    for (const std::string &rule : u.rules)
      EXPECT_NE(findRule(rule), nullptr) << rule;
}

// The assembler writes no such loop, a builder can.
TEST(StrictRules, LoopWithoutItsEnd) {
  Builder open(loadTarget("trn2"));
  loopStart(open, Engine::Vector, 1, 2);
  open.emit(Engine::Vector, "nop");
  Builder crossed(loadTarget("trn2"));
  loopStart(crossed, Engine::Vector, 1, 2);
  loopStart(crossed, Engine::Vector, 2, 2);
  loopEnd(crossed, Engine::Vector, 0);
  loopEnd(crossed, Engine::Vector, 1);
  for (Builder *b : {&open, &crossed})
    EXPECT_EQ(faultOf(b->finish(), 0), "CONTROL-FORM");
}

// An instruction whose definition and semantics disagree: what it writes is declared as a source.
TEST(StrictRules, FootprintOfAWrongDefinition) {
  InstrDef wrong = *findInstruction("tensor_copy");
  wrong.slots[static_cast<size_t>(wrong.slot("dst"))].kind = SlotKind::In;
  Builder b(loadTarget("trn2"));
  const ObjectRef t = b.sbuf("t", DType::F32, {32, 4}, 0, 0), u = b.sbuf("u", DType::F32, {32, 4}, 0, 16);
  b.emit(Engine::Vector, "memset").set("dst", t).set("value", 1.0f);
  b.emit(Engine::Vector, "tensor_copy").set("dst", u).set("src", t);
  Program p = b.finish();
  EXPECT_EQ(faultOf(p, 0), "");
  for (const InstrDef *&def : p.opcodes)
    if (def->name == "tensor_copy")
      def = &wrong;
  EXPECT_EQ(faultOf(p, 0), "SIM-FOOTPRINT");
}
