// Ranks that meet, and ranks that cannot: what the verifier refuses never runs, and what it proves never hangs.
#include "SimPrograms.h"
#include "glia/ISA/Collective.h"
#include "glia/Program/Assembler.h"
#include "glia/Sim/Ranks.h"
#include "glia/Support/Random.h"
#include "glia/Verify/RankOrder.h"
#include "glia/Verify/Verify.h"

#include <gtest/gtest.h>

using namespace glia;
using namespace glia::simtest;

namespace {

// Exchanges one after the other: the result of one is the source of the next. All of 4 elements.
struct Exchange {
  std::string kind = "all_reduce", op = "add", groups = "[0, 1, 2, 3]";
  int width = 4;
};

Program chain(const std::vector<Exchange> &steps, int ranks = 4) {
  std::string text = "target trn2\ninput x : f32[4]\n";
  for (size_t i = 0; i < steps.size(); ++i)
    text += (i + 1 < steps.size() ? "scratch t" + std::to_string(i) : std::string("output y")) + " : f32[4]\n";
  text += steps.empty() ? "output y : f32[4]\nqueue q\nsync dma_copy dst=y src=x queue=q\n" : "queue q\nsemaphore s\n";
  for (size_t i = 0; i < steps.size(); ++i) {
    const Exchange &e = steps[i];
    const std::string from = i ? "t" + std::to_string(i - 1) : "x",
                      to = i + 1 < steps.size() ? "t" + std::to_string(i) : "y";
    text += "gpsimd collective dst=" + to + " src=" + from + " queue=q kind=" + e.kind + " op=" + e.op +
            " ranks=" + std::to_string(ranks) + " width=" + std::to_string(e.width) + " groups=" + e.groups +
            (i ? " when s >= 16 consume" : "") + (i + 1 < steps.size() ? " then s += 16" : "") + "\n";
  }
  text += ".contract \"ranks\" \"" + std::to_string(ranks) + "\"\n";
  return assemble(text, "chain.gasm");
}

RanksResult runAll(const std::vector<const Program *> &programs, RunOptions options = {}) {
  std::vector<std::vector<std::byte>> inputs;
  std::vector<RankJob> jobs;
  for (size_t r = 0; r < programs.size(); ++r)
    inputs.push_back(bytes(ramp(4, static_cast<float>(10 * r))));
  for (size_t r = 0; r < programs.size(); ++r)
    jobs.push_back({programs[r], {{"x", inputs[r]}}, nullptr});
  options.maxSteps = 1000;
  return runRanks(jobs, options);
}

TEST(Ranks, GroupsCombineInTheirOrder) {
  const Program p = chain({{.kind = "all_reduce", .op = "add", .groups = "[0, 1, 2, 3]", .width = 2}});
  ASSERT_TRUE(verify(p).ok());
  const RanksResult r = runAll({&p, &p, &p, &p});
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(floats(r.ranks[0].outputs.at("y")), std::vector<float>({10, 12, 14, 16}));
  EXPECT_EQ(floats(r.ranks[1].outputs.at("y")), std::vector<float>({10, 12, 14, 16}));
  EXPECT_EQ(floats(r.ranks[3].outputs.at("y")), std::vector<float>({50, 52, 54, 56}));
}

TEST(Ranks, EveryRankGetsTheSameBytesInEveryOrder) {
  const Program p =
      chain({{}, {.kind = "permute", .groups = "[0, 1, 1, 2, 2, 3, 3, 0]", .width = 2}, {.kind = "all_to_all"}});
  ASSERT_TRUE(verify(p).ok());
  const RanksResult fast = runAll({&p, &p, &p, &p});
  ASSERT_TRUE(fast.ok());
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RunOptions strict;
    strict.strict = true;
    strict.seed = seed;
    const RanksResult r = runAll({&p, &p, &p, &p}, strict);
    ASSERT_TRUE(r.ok());
    for (int rank = 0; rank < 4; ++rank)
      EXPECT_EQ(r.ranks[rank].outputs, fast.ranks[rank].outputs);
  }
}

TEST(Ranks, OneRankLessIsRefusedAndEnds) {
  const Program p = chain({{}, {}}), shorter = chain({{}});
  const std::vector<const Program *> programs = {&p, &p, &shorter, &p};
  const std::vector<Diagnostic> found = verifyTogether(programs);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, "RANK-DEADLOCK");
  EXPECT_NE(found[0].notes.back().find("rank 2 has ended"), std::string::npos) << found[0].notes.back();
  const RanksResult r = runAll(programs);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.ranks[r.failed].fault->code, "RANK-DEADLOCK");
}

TEST(Ranks, AnotherOperationIsRefusedAndNamed) {
  const Program p = chain({{}}), other = chain({{.op = "max"}});
  const std::vector<const Program *> programs = {&p, &other, &p, &p};
  const std::vector<Diagnostic> found = verifyTogether(programs);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, "RANK-MISMATCH");
  EXPECT_NE(found[0].notes[1].find("max"), std::string::npos);
  EXPECT_FALSE(runAll(programs).ok());
}

TEST(Ranks, ACircleIsShownAsOne) {
  const Exchange rows{.groups = "[0, 1, 2, 3]", .width = 2}, columns{.groups = "[0, 2, 1, 3]", .width = 2};
  const Program a = chain({rows, columns}), b = chain({columns, rows});
  const std::vector<const Program *> programs = {&a, &b, &b, &a};
  const std::vector<Diagnostic> found = verifyTogether(programs);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, "RANK-DEADLOCK");
  EXPECT_NE(found[0].message.find("circle"), std::string::npos);
  EXPECT_EQ(found[0].notes.size(), 4u);
  EXPECT_FALSE(runAll(programs).ok());
}

TEST(Ranks, DifferentProgramsThatFitAreProved) { // groups of their own in between
  const Exchange pairs{.groups = "[0, 1, 2, 3]", .width = 2};
  const Program a = chain({{}, pairs, pairs, {}}), b = chain({{}, {}});
  const std::vector<const Program *> programs = {&a, &a, &b, &b};
  EXPECT_TRUE(verifyTogether(programs).empty());
  EXPECT_TRUE(runAll(programs).ok());
}

TEST(Ranks, AFailureOfOneStopsTheOthers) {
  const Program p = chain({{}, {}});
  std::vector<std::vector<std::byte>> inputs(4, bytes(ramp(4, 0)));
  std::vector<RankJob> jobs;
  for (int r = 0; r < 4; ++r)
    jobs.push_back({&p, {{"x", inputs[r]}}, nullptr});
  jobs[2].inputs["x"] = std::span(inputs[2]).first(8);
  try {
    runRanks(jobs);
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.diagnostics()[0].code, "RUN-INPUT");
  }
}

TEST(Ranks, AProgramForAnotherNumberIsNotRun) {
  const Program p = chain({{}});
  try {
    runAll({&p, &p});
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.diagnostics()[0].code, "RANK-COUNT");
  }
}

// A rank with one exchange less or more, in another order, with another group or operation: nothing that is proved hangs or differs,
// and everything that ends well in a run was proved or could have gone otherwise.
TEST(Ranks, MutantsThatAreProvedEndWell) {
  const Exchange kinds[] = {{},
                            {.groups = "[0, 1, 2, 3]", .width = 2},
                            {.groups = "[0, 2, 1, 3]", .width = 2},
                            {.op = "max"},
                            {.kind = "permute", .groups = "[0, 1, 1, 0]", .width = 2},
                            {.kind = "broadcast", .groups = "[3, 2, 1, 0]"}};
  Random random(7);
  int proved = 0, refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<Exchange> steps;
    for (size_t n = 1 + random.below(4); n-- > 0;)
      steps.push_back(kinds[random.below(std::size(kinds))]);
    std::vector<Exchange> changed = steps;
    switch (random.below(5)) {
    case 0: changed.pop_back(); break;
    case 1: changed.push_back(kinds[random.below(std::size(kinds))]); break;
    case 2: std::reverse(changed.begin(), changed.end()); break;
    case 3: changed[random.below(changed.size())] = kinds[random.below(std::size(kinds))]; break;
    default: break;
    }
    const Program a = chain(steps), b = chain(changed);
    std::vector<const Program *> programs(4, &a);
    programs[random.below(4)] = &b;
    const bool fine = verifyTogether(programs).empty();
    RunOptions options;
    options.threads = 1 + i % 4; // ranks that run at once
    const RanksResult r = runAll(programs, options);
    EXPECT_EQ(fine, r.ok()) << i; // they block at each exchange, as the proof assumes
    ++(fine ? proved : refused);
  }
  EXPECT_GT(proved, 50);
  EXPECT_GT(refused, 50);
}

TEST(Ranks, HowLongRanksWait) {
  using std::chrono::seconds;
  unsetenv("GLIA_TIMEOUT");
  EXPECT_EQ(rankTimeout(), seconds(60));
  EXPECT_EQ(rankTimeout(5), seconds(5));
  setenv("GLIA_TIMEOUT", "3600", 1);
  EXPECT_EQ(rankTimeout(), seconds(3600));
  EXPECT_EQ(rankTimeout(0), seconds(0)); // what a run says goes before
  setenv("GLIA_TIMEOUT", "0", 1);
  EXPECT_EQ(rankTimeout(), seconds(0));
  for (const char *bad : {"-1", "1.5", "60s", "long", "99999999999"}) {
    setenv("GLIA_TIMEOUT", bad, 1);
    try {
      runAll({2, nullptr});
      ADD_FAILURE() << bad;
    } catch (const Error &e) {
      EXPECT_EQ(e.diagnostics()[0].code, "RUN-TIMEOUT") << bad;
    }
  }
  unsetenv("GLIA_TIMEOUT");
}

TEST(Ranks, FloatsAreCombinedWideAndRoundedOnce) {
  Collective c;
  c.dtype = DType::BF16;
  c.elements = 1;
  c.ranks = c.width = 3;
  c.groups = {0, 1, 2};
  const auto bf16 = [](float f) {
    uint32_t u;
    std::memcpy(&u, &f, 4);
    const uint16_t h = static_cast<uint16_t>(u >> 16);
    return bytes(std::vector<uint16_t>{h});
  };
  const std::vector<std::byte> a = bf16(256), b = bf16(1), d = bf16(1); // 257 is no bf16: rounding each time would lose both
  const std::span<const std::byte> sources[] = {a, b, d};
  std::vector<std::byte> out(2);
  combine(c, 1, sources, out);
  EXPECT_EQ(out, bf16(258));
}

} // namespace
