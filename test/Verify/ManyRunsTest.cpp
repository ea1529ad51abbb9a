// Transfers of more runs than the walk keeps one by one (4,096): what they write is written, and a hole in it is seen.
#include "glia/Program/Assembler.h"
#include "glia/Verify/Verify.h"

#include <gtest/gtest.h>

using namespace glia;

namespace {

constexpr const char *kOnes = "semaphore s\nqueue q\nvector memset dst=t value=1.0 then s += 1\n";

// The rule that is broken first; empty: the program verifies.
std::string verdict(const std::string &text) {
  const VerifyResult r = verify(assemble("target trn2\n" + text, "runs.gasm"));
  return r.ok() ? "" : r.diagnostics[0].code;
}

// An output of 128 x 80 rows of 112, in halves: the left one by images, the right one by rows, the last `rows` of which the last transfer writes.
std::string written(int rows) {
  return "output y : f32[128, 80, 112]\nsbuf t : f32[128, 80, 56] @ 0\n" + std::string(kOnes) +
         "sync dma_copy dst=y{ | 0 | 8960x64, 112x80, 1x56} src=t[0:64] queue=q when s >= 1\n"
         "sync dma_copy dst=y{ | 2293760 | 8960x64, 112x80, 1x56} src=t[64:128] queue=q\n"
         "sync dma_copy dst=y{ | 224 | 8960x128, 112x48, 1x56} src=t[0:128, 0:48] queue=q\n" +
         format("sync dma_copy dst=y{ | %d | 8960x128, 112x%d, 1x56} src=t[0:128, 0:%d] queue=q\n", 224 + 448 * (80 - rows),
                rows, rows);
}

// 56 of each 128 elements of rows [0, first) and [from, to) of 128 images; `count` rows from `at` on are read.
struct Parts {
  int image, first, from, to, at, count;
};
std::string readBack(const Parts &p) {
  const auto wrote = [&](int row, int rows) {
    return format("sync dma_copy dst=h{ | %d | %dx128, 128x%d, 1x56} src=t[0:128, 0:%d] queue=q when s >= 1 then r += 16\n",
                  512 * row, 128 * p.image, rows, rows);
  };
  return format("scratch h : f32[128, %d, 128]\noutput y : f32[128, %d, 56]\nsbuf t : f32[128, %d, 56] @ 0\nsemaphore r\n",
                p.image, p.count, p.image) +
         kOnes + wrote(0, p.first) + wrote(p.from, p.to - p.from) +
         format("sync dma_copy dst=y src=h{ | %d | %dx128, 128x%d, 1x56} queue=q when r >= 32\n", 512 * p.at, 128 * p.image,
                p.count);
}

TEST(ManyRuns, AnOutputIsWritten) { EXPECT_EQ(verdict(written(32)), ""); }
TEST(ManyRuns, AnOutputHasAHole) { EXPECT_EQ(verdict(written(31)), "OUTPUT-UNWRITTEN"); }

TEST(ManyRuns, TwoWritesDefineARead) { EXPECT_EQ(verdict(readBack({40, 32, 32, 40, 0, 36})), ""); }
TEST(ManyRuns, TwoWritesLeaveAHole) { EXPECT_EQ(verdict(readBack({40, 32, 33, 40, 0, 36})), "UNDEFINED-OUTPUT"); }

TEST(ManyRuns, APieceAndTheMapDefineARead) { EXPECT_EQ(verdict(readBack({80, 48, 48, 80, 1, 60})), ""); }
TEST(ManyRuns, APieceAndTheMapEndBefore) { EXPECT_EQ(verdict(readBack({80, 48, 48, 60, 1, 60})), "UNDEFINED-OUTPUT"); }

} // namespace
