// More ranks than run at once: what a rank lets go of while it waits, and what it shares, is never missed.
#include "../../lib/Sim/Lifetimes.h"
#include "SimPrograms.h"
#include "glia/Program/Assembler.h"
#include "glia/Sim/Ranks.h"
#include "glia/Verify/Verify.h"

#include <gtest/gtest.h>

using namespace glia;
using namespace glia::simtest;

namespace {

std::string all(int ranks) {
  std::string out;
  for (int r = 0; r < ranks; ++r)
    out += (r ? ", " : "[") + std::to_string(r);
  return out + "]";
}

// Two sums of all ranks, x kept on chip meanwhile: y = x + v, z = sum(v), where v = 2 sum(x). `again`: where the first sum was, each rank
// writes its own x, and v is that.
Program sums(int ranks, bool again = false) {
  const std::string together =
      " kind=all_reduce op=add ranks=" + std::to_string(ranks) + " width=" + std::to_string(ranks) + " groups=" + all(ranks);
  return assemble(
      "target trn2\ninput x : f32[32, 512]\noutput y : f32[32, 512]\noutput z : f32[32, 512]\n"
      "scratch a : f32[32, 512]\nscratch b : f32[32, 512]\nscratch c : f32[32, 512]\n"
      "sbuf t : f32[32, 512] @ 0\nsbuf u : f32[32, 512] @ 2048\nsbuf v : f32[32, 512] @ 4096\n"
      "semaphore s\nsemaphore m\nsemaphore e\nsemaphore e2\nsemaphore d\nsemaphore f\nsemaphore h\nqueue q\nqueue g\n"
      "sync dma_copy dst=t src=x queue=q then s += 16\n"
      "sync dma_copy dst=a src=x queue=q then m += 16\n"
      "gpsimd collective dst=b src=a queue=g" +
          together +
          " when m >= 16 consume then e += 16\n"
          "sync dma_copy dst=u src=b queue=q when e >= 16 consume then s += 16\n"
          "vector tensor_tensor dst=v a=u b=u op=add when s >= 32 consume then d += 1\n" +
          (again ? "sync dma_copy dst=b src=x queue=q when d >= 1 consume then h += 16\n"
                   "sync dma_copy dst=v src=b queue=q when h >= 16 consume then h += 16\n"
                   "sync dma_copy dst=c src=v queue=q when h >= 16 consume then m += 16\n"
                 : "sync dma_copy dst=c src=v queue=q when d >= 1 consume then m += 16\n") +
          "gpsimd collective dst=z src=c queue=g" + together +
          " when m >= 16 consume then e2 += 16\n"
          "vector tensor_tensor dst=t a=t b=v op=add when e2 >= 16 consume then f += 1\n"
          "sync dma_copy dst=y src=t queue=q when f >= 1\n"
          ".contract \"ranks\" \"" +
          std::to_string(ranks) + "\"\n",
      "sums.gasm");
}

std::string said(const Program &p) { // by the verifier
  const VerifyResult r = verify(p);
  return r.ok() ? "" : render(r.diagnostics.front());
}

RanksResult runAll(const Program &p, int ranks, int threads, const TensorBuffers *outputs = nullptr) {
  std::vector<std::vector<std::byte>> inputs;
  std::vector<RankJob> jobs;
  for (int r = 0; r < ranks; ++r)
    inputs.push_back(bytes(ramp(32 * 512, static_cast<float>(r))));
  for (const std::vector<std::byte> &x : inputs)
    jobs.push_back({&p, {{"x", x}}, outputs});
  RunOptions options;
  options.threads = threads;
  return runRanks(jobs, options);
}

constexpr int kMany = 40; // on chip they have more together than is left alone

TEST(RankMemory, RanksThatTakeTurnsGetTheSameBytes) {
  const Program p = sums(kMany);
  ASSERT_EQ(said(p), "");
  const RanksResult together = runAll(p, kMany, kMany), turns = runAll(p, kMany, 1);
  ASSERT_TRUE(together.ok() && turns.ok());
  const float sum = kMany * (kMany - 1) / 2.0f; // of the ranks' numbers
  for (int r = 0; r < kMany; ++r) {
    EXPECT_EQ(turns.ranks[r].outputs, together.ranks[r].outputs) << r;
    const std::vector<float> y = floats(turns.ranks[r].outputs.at("y")), z = floats(turns.ranks[r].outputs.at("z"));
    for (const size_t i : {size_t{0}, size_t{777}, y.size() - 1}) {
      const float all = sum + kMany * static_cast<float>(i);
      EXPECT_EQ(y[i], static_cast<float>(r) + static_cast<float>(i) + 2 * all);
      EXPECT_EQ(z[i], kMany * 2 * all);
    }
  }
}

TEST(RankMemory, WhatIsWrittenAgainIsNotShared) {
  const Program p = sums(kMany, true);
  ASSERT_EQ(said(p), "");
  const RanksResult together = runAll(p, kMany, kMany), turns = runAll(p, kMany, 1);
  ASSERT_TRUE(together.ok() && turns.ok());
  for (int r = 0; r < kMany; ++r) {
    EXPECT_EQ(turns.ranks[r].outputs, together.ranks[r].outputs) << r;
    EXPECT_EQ(floats(turns.ranks[r].outputs.at("y"))[5], 2 * static_cast<float>(r + 5));
  }
}

TEST(RankMemory, OutputsMayBeUnwanted) {
  const Program p = sums(4);
  const RanksResult whole = runAll(p, 4, 1);
  std::vector<std::byte> z(32 * 512 * 4);
  std::vector<std::byte> x = bytes(ramp(32 * 512, 0));
  const TensorBuffers none{{"y", {}}, {"z", {}}}, one{{"y", {}}, {"z", z}};
  std::vector<RankJob> jobs(4, {&p, {{"x", x}}, &none});
  jobs[2].outputs = &one;
  const RanksResult r = runRanks(jobs, {.threads = 1});
  ASSERT_TRUE(whole.ok() && r.ok());
  EXPECT_EQ(floats(z)[3], 4 * 2 * 4 * 3);
}

TEST(RankMemory, AFailureEndsThoseThatWaitForTheirTurn) {
  const Program p = sums(kMany);
  std::vector<std::byte> x = bytes(ramp(32 * 512, 0));
  std::vector<RankJob> jobs(kMany, {&p, {{"x", x}}, nullptr});
  jobs[kMany - 1].inputs.clear();
  try {
    runRanks(jobs, {.threads = 1});
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.diagnostics()[0].code, "RUN-INPUT");
  }
}

TEST(RankMemory, TheCallerIsAskedUntilTheLastRankHasEnded) {
  const Program quick = assemble("target trn2\noutput y : f32[4]\nqueue q\ninput x : f32[4]\n"
                                 "sync dma_copy dst=y src=x queue=q\n.contract \"ranks\" \"2\"\n",
                                 "quick.gasm"),
                endless = assemble("target trn2\noutput y : f32[4]\ninput x : f32[4]\n"
                                   "vector reg_move dst=r0 src=1\nvector while cond=r0\nvector nop\nvector end_loop\n"
                                   ".contract \"ranks\" \"2\"\n",
                                   "endless.gasm");
  const std::vector<std::byte> x = bytes(ramp(4, 0));
  const RankJob jobs[] = {{&quick, {{"x", x}}, nullptr}, {&endless, {{"x", x}}, nullptr}};
  const auto begin = std::chrono::steady_clock::now();
  RunOptions options;
  options.stop = [&] { return std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(300); };
  EXPECT_THROW(runRanks(jobs, options), Interrupted); // rank 0 has long ended
}

TEST(RankMemory, LifetimesGoFromTheFirstToTheLastUseInEveryStream) {
  const Program p = assemble("target trn2\ninput x : f32[32, 4]\noutput y : f32[32, 4]\nscratch h : f32[32, 4]\n"
                             "sbuf a : f32[32, 4] @ 0\nsbuf b : f32[32, 4] @ 16\nsemaphore s\nqueue q\n"
                             "vector memset dst=a value=1.0 then s += 1\n"     // vector 0
                             "vector loop iv=r0 count=3\n"                     // 1
                             "vector memset dst=b value=2.0\n"                 // 2
                             "vector tensor_tensor dst=b a=b b=a op=add\n"     // 3
                             "vector end_loop\n"                               // 4
                             "vector nop\n"                                    // 5
                             "sync dma_copy dst=h src=a queue=q when s >= 1\n" // sync 0
                             "sync dma_copy dst=y src=h queue=q\n",            // sync 1
                             "uses.gasm");
  const sim::Lifetimes lifetimes(p);
  const auto vector = static_cast<uint32_t>(Engine::Vector), sync = static_cast<uint32_t>(Engine::Sync);
  uint32_t atVector = 0, atSync = 0;
  const auto at = [&](uint32_t stream) { return stream == vector ? atVector : stream == sync ? atSync : 0; };
  const auto is = [&](const char *name, uint32_t v, uint32_t s) {
    atVector = v, atSync = s;
    ObjectRef o{ObjectKind::Tensor, 0};
    for (uint32_t i = 0; i < p.allocations.size(); ++i)
      if (p.allocations[i].name == name)
        o = {ObjectKind::Allocation, i};
    if (o.kind == ObjectKind::Tensor)
      o.index = static_cast<uint32_t>(p.findTensor(name));
    return std::pair(lifetimes.hasBegun(o, at), lifetimes.isOver(o, at));
  };
  const std::pair untouched(false, false), live(true, false), over(true, true);
  EXPECT_EQ(is("a", 0, 0), untouched);
  EXPECT_EQ(is("a", 1, 0), live);
  EXPECT_EQ(is("a", 4, 1), live); // the loop may go round again
  EXPECT_EQ(is("a", 5, 0), live); // the other stream
  EXPECT_EQ(is("a", 5, 1), over);
  EXPECT_EQ(is("b", 1, 0), untouched);
  EXPECT_EQ(is("b", 2, 0), live);
  EXPECT_EQ(is("b", 5, 0), over);
  EXPECT_EQ(is("h", 0, 1), live);
  EXPECT_EQ(is("h", 0, 2), over);
  EXPECT_TRUE(lifetimes.isWrittenOnce(static_cast<uint32_t>(p.findTensor("h"))));
}

} // namespace
