#include "glia/Reduce/ReduceProgram.h"

#include <gtest/gtest.h>

using namespace glia;
using namespace glia::reduce;

namespace {

// Two engines write and read t without an order, between others that have one.
constexpr const char *kRacy = R"(target trn2
input x : f32[128, 512]
output y : f32[128, 512]
sbuf t : f32[128, 512] @ 0
sbuf u : f32[128, 512] @ 2048
semaphore loaded
semaphore scaled
semaphore idle
queue q
sync dma_copy dst=t src=x queue=q then loaded += 16
vector tensor_scalar dst=t data=t op0=multiply operand0=2.0 when loaded >= 16 then scaled += 1
gpsimd tensor_tensor dst=u a=t b=t op=add when loaded >= 16 then idle += 1
vector nop when scaled >= 1 and idle >= 1
vector tensor_scalar dst=u data=u op0=add operand0=1.0 then scaled += 1
sync dma_copy dst=y src=u queue=q when scaled >= 2
)";

std::string smallest(const std::string &text, const Keep &keep) {
  Search search(
      text, [&](const std::string &t) { return keep.in(judgeProgram(t, nullptr)); },
      [](const std::string &t) { return sizeOfProgram(t, nullptr); }, {.seconds = 60});
  EXPECT_TRUE(keep.in(judgeProgram(text, nullptr)));
  reduceProgram(search, nullptr);
  EXPECT_TRUE(keep.in(judgeProgram(search.smallest(), nullptr)));
  return search.smallest();
}

size_t instructions(const std::string &text) { return sizeOfProgram(text, nullptr).parts; }

TEST(ReduceProgram, KeepsTheTwoOfARace) {
  const std::string small = smallest(kRacy, {.code = "RACE", .containing = "`t`"});
  EXPECT_EQ(instructions(small), 2u) << small;
  EXPECT_NE(small.find("vector tensor_scalar dst=t"), std::string::npos) << small;
  EXPECT_NE(small.find("gpsimd tensor_tensor dst=u a=t"), std::string::npos) << small;
  EXPECT_EQ(small.find("queue"), std::string::npos) << small;
  EXPECT_EQ(small.find("semaphore"), std::string::npos) << small;
}

// The cause of a deadlock is a wait, which stays.
TEST(ReduceProgram, KeepsTheWaitOfADeadlock) {
  std::string text = kRacy;
  text.replace(text.find("when scaled >= 2"), 16, "when scaled >= 7");
  const std::string small = smallest(text, {.code = "SYNC-DEADLOCK"});
  EXPECT_LE(instructions(small), 2u) << small;
  EXPECT_NE(small.find(">= 7"), std::string::npos) << small;
}

TEST(ReduceProgram, TakesLoopsApart) {
  const std::string small = smallest(R"(target trn2
output y : f32[8, 16]
sbuf t : f32[8, 16] @ 0
sbuf u : f32[100, 16] @ 64
semaphore s
queue q
vector memset dst=t value=1.0
vector loop iv=r1 count=5
vector loop iv=r2 count=3
vector memset dst=u[3:20] value=0.0
vector tensor_scalar dst=t data=t op0=add operand0=1.0
vector end_loop
vector end_loop
vector nop then s += 1
sync dma_copy dst=y src=t queue=q when s >= 1
)",
                                     {.code = "PARTITION-START"});
  EXPECT_EQ(instructions(small), 1u) << small;
  EXPECT_NE(small.find("vector memset dst=u"), std::string::npos) << small;
}

// A loop without an end is a program that can be judged.
TEST(ReduceProgram, LeavesALoopWithoutAnEndAlone) {
  const std::string small =
      smallest("target trn2\nsbuf t : f32[8, 16] @ 0\nvector loop iv=r1 count=5 end=here\nhere:\nvector memset "
               "dst=t value=1.0\nvector memset dst=t value=2.0\n",
               {.code = "CONTROL-FORM"});
  EXPECT_NE(small.find("vector loop"), std::string::npos) << small;
}

} // namespace
