// Programs of several ranks are proved for each of them where the number of the rank matters.
#include "glia/Verify/VerifyRanks.h"
#include "glia/Program/Assembler.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace glia;

namespace {

// Each rank writes the parts of its output that `first` and `second` name for it.
Program parts(int ranks, const std::string &first, const std::string &second, const std::string &more = "") {
  const std::string n = std::to_string(ranks);
  return assemble("target trn2\ninput x : f32[1, 4]\ninput rank : i32[1] range 0 " + std::to_string(ranks - 1) +
                      "\noutput y : f32[2, 4]\nconst a : i32[" + n + "] = [" + first + "]\nconst b : i32[" + n + "] = [" +
                      second + "]\nqueue q\nsemaphore s\n.contract \"ranks\" \"" + n + "\"\n" + more +
                      "sync reg_load dst=r0 src=rank\n"
                      "sync reg_load dst=r1 src=a{ | 0 | 1x1} + r0*4\n"
                      "sync reg_load dst=r2 src=b{ | 0 | 1x1} + r0*4\n"
                      "sync dma_copy dst=y{ | 0 | 1x4} + r1*16 src=x queue=q dge=hwdge  then s += 16\n"
                      "sync dma_copy dst=y{ | 0 | 1x4} + r2*16 src=x queue=q dge=hwdge  when s >= 16 consume\n",
                  "test.gasm");
}

const std::string kNumber = ".contract \"rank.input\" \"rank\"\n";

TEST(VerifyRanks, WhatEveryRankDoesIsProvedForEach) {
  for (const int ranks : {2, 4}) {
    const Program p = parts(ranks, ranks == 2 ? "0, 1" : "0, 1, 0, 1", ranks == 2 ? "1, 0" : "1, 0, 1, 0", kNumber);
    EXPECT_FALSE(verify(p).ok());
    const VerifyResult r = verifyRanks(p);
    EXPECT_TRUE(r.ok()) << (r.ok() ? "" : render(r.diagnostics[0]));
    EXPECT_TRUE(std::all_of(r.dynamicAccesses.begin(), r.dynamicAccesses.end(),
                            [](const DynamicAccess &a) { return a.proof == Proof::Proved; }));
  }
}

TEST(VerifyRanks, OneRankThatIsWrongIsNamed) {
  const VerifyResult r = verifyRanks(parts(4, "0, 1, 0, 1", "1, 0, 0, 0", kNumber));
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.diagnostics[0].code, "OUTPUT-UNWRITTEN");
  ASSERT_FALSE(r.diagnostics[0].notes.empty());
  EXPECT_EQ(r.diagnostics[0].notes.back(), "on rank 2");
}

// The number of the rank is what the machine gives only if the contract says which input it is.
TEST(VerifyRanks, AnInputThatAnybodyGivesMayBeAny) { EXPECT_FALSE(verifyRanks(parts(2, "0, 1", "1, 0")).ok()); }

TEST(VerifyRanks, AccessesOutOfRangeOnOneRankAreNotProved) {
  const VerifyResult r = verifyRanks(parts(2, "0, 2", "1, 0", kNumber));
  EXPECT_FALSE(r.ok() && std::all_of(r.dynamicAccesses.begin(), r.dynamicAccesses.end(),
                                     [](const DynamicAccess &a) { return a.proof == Proof::Proved; }));
}

} // namespace
